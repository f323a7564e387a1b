"""Authoring: turning a request into a definition that a person has reviewed.

A request becomes a proposal, which is validated by the same validator that checks saves and runs,
explained in plain sentences, and shown for approval. A proposal is not an automation: it has no
version and cannot run.

Text written by a model is treated as data. It becomes part of an automation only after a person has
reviewed it, and every change that widens permissions asks again.

Single-script automations are authored by following a playbook, which is data too: a client asks one
question at a time and calls the capabilities of this package.
"""
