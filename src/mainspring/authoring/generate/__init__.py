"""Generating a definition with a model, and reviewing one with a second call.

Model output is data. A submission is validated, normalized by fixed rules and becomes part of a
proposal, which cannot do anything before a person saves it. The model sees requests, schemas and
names; never rows, page texts or secret values.

``conversation`` runs the dialogue, ``looking`` answers lookups, ``submission`` validates what the
model submits, ``schedule_reconciliation`` compares its schedules with the rule-based parser,
``name_checks`` finds invented names, ``model_review`` asks for a second opinion. ``prompts`` and
``outline`` build the prompt.
"""
