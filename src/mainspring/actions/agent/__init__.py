"""Agents: a model that works with tools until it has an answer.

The loop is our own and knows contracts alone. It asks for turns and calls tools through what
the gate hands it, where grants, drafts, money and records are seen to.
"""
