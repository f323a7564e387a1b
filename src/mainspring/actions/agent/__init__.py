"""Agents: a model that works with tools until it has an answer.

The loop is our own and only depends on contracts. It requests turns and calls tools through the
gate, which handles grants, drafts, budgets and records.
"""
