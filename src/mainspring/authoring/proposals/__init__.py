"""Proposals: drafted automations that a person reviews and saves.

A proposal is an unsaved definition with open questions and a review. It is made by a model or by
rules (``builder``), changed by answers, edits and further instructions (``refining``), reviewed
again after every change, and becomes an automation only when a person saves it (``saving``). Until
then it expires after some days and cannot run.
"""
