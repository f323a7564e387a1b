"""Workflows: a piece of work with its numbers, its dates, its people, a board and automations.

A workflow holds together what is kept elsewhere. Its roles become roles on its board, and one
change of its status sets all of its automations going or at rest.
"""
