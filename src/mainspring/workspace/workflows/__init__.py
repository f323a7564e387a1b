"""Workflows: KPIs, dates, people, a board and automations grouped together.

A workflow references resources stored elsewhere. Its roles apply to its board, and a status change
activates or pauses all of its automations.
"""
