"""Phrases: what people say about time, read as schedules.

A request such as "every weekday at 9 Berlin time post the digest" holds a phrase that says when.
It is found and read by rules, without a model, so the same words always mean the same. The text
is made plain (``words``) and cut into pieces such as a list of days or a time (``pieces`` by the
rules of ``aside_rules``, ``day_rules`` and ``rhythm_rules``; ``clock``, ``zones``; what is to be
left out by ``negations``); the pieces are put together to wishes (``wishes``), and a wish becomes
a plan (``exceptions``, ``steps``, ``special``, ``calendar_days``, ``weeks``): cron expressions, a
question, or a sentence on why no schedule can say it. Whatever was not said and had to be supposed
is told with it.
"""
