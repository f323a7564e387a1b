"""Proposals: what was made of somebody's words, and everything that may become of it.

A proposal is a definition that nobody has saved, the questions that only a person can answer,
and a review. It is made by a model or by rules (``making``), brought forward by answers, edits
and further words (``refining``), reviewed anew after every change, and becomes an automation
only when a person saves it (``saving``). Until then it is kept for some days and can do nothing.
"""
