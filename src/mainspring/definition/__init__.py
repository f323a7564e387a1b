"""The language: what a definition may say, and what it means. Pure: no I/O anywhere.

A document is read (``json_text``), brought to today's format (``upgrade``), judged
(``validate``) and made ready to run (``program``). On the way it is one strict ``model``,
whose JSON Schema is published by ``schema``.

The smaller languages inside it each have their own place: ``templates`` for text that is
filled in, ``filters`` for events, ``cron`` for schedules, ``paths`` for JSONPath,
``json_schema`` for shapes, ``inputs`` for what a run is given. ``grants`` decides what a
call may do, ``hosts`` where a URL leads.
"""
