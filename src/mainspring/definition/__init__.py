"""The definition language: its format, validation and compilation. Pure: no I/O.

A document is parsed (``strict_json``), upgraded to the current format (``upgrade``), validated
(``validate``) and compiled (``program``). ``model`` is the strict pydantic model, and ``schema``
publishes its JSON Schema.

Each embedded language has its own module: ``templates`` for text with expressions, ``filters`` for
events, ``cron`` for schedules, ``jsonpath`` for payload mappings, ``json_schema`` for value
schemas, ``inputs`` for run inputs, ``script`` for TypeScript. ``grants`` decides whether a call is
allowed, ``hosts`` parses the host of a URL, and ``authority`` compares what two versions may do.
"""
