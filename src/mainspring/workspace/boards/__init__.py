"""Boards: rows that people and automations keep, with columns, skills, forms and a dashboard.

A board has datasets, a dataset has rows, and a row is a JSON object with a stable id. The change,
its call record and its event are written in one transaction.
"""
