"""JSON Schema, draft 2020-12: the one language in which shapes are written.

``compile_schema`` makes a validator that says everything that is wrong with a value,
each with a pointer and a sentence. ``check_schema`` judges schemas that people or other
systems wrote, before they are compiled. Nothing is ever fetched: a reference leads to
a place inside the same schema or nowhere. Patterns run in linear time, and both the
schemas that are accepted and the explanations that are given are bounded in work.
"""

from __future__ import annotations

from mainspring.definition.json_schema.check import check_schema
from mainspring.definition.json_schema.validator import Validator, compile_schema

__all__ = ["Validator", "check_schema", "compile_schema"]
