"""Parsing natural-language time expressions into schedules.

A request such as "every weekday at 9 Berlin time post the digest" contains a time expression. It is
parsed by rules, without a model, so the result is deterministic. ``normalization`` canonicalizes
the text, ``time_phrases`` splits it into phrases (with ``day_rules``, ``clock``, ``zones`` and
``negations``), ``schedule_requests`` groups the phrases into one request per schedule, and
``schedule_planning`` (with ``special``, ``weeks`` and ``crons``) turns each request into cron
expressions, a clarifying question, or a reason why no schedule can express it. Assumptions are
reported with the result.
"""
