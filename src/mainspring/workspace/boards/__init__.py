"""Boards: what people and automations keep in rows, with columns, skills, forms and a dashboard.

A board holds datasets, a dataset holds rows, and a row is a plain JSON object with an id that
never changes. Everything is written in the transaction that also records the call and tells
of the change, so each of these happens once and none without the others.
"""
