"""A model turns a wish into a definition, and another ask reviews one.

Everything a model writes here is data. What it hands in is judged by the one validator, tidied by
fixed rules and becomes part of a proposal, which can do nothing before a person saves it. The
model sees words, schemas and names; never a row, a page's text or the value of a secret.

``generating`` leads the conversation, ``looking`` answers its questions, ``handing`` judges what
it hands in, ``timing`` compares its schedules with what the rules read, ``reviewing`` asks for a
second opinion. ``prompts`` and ``outline`` say what it is told, ``shots`` shows it how.
"""
