"""JSON Schema, draft 2020-12: compilation, checks and error messages.

``compile_schema`` makes a validator that reports every problem of a value, each with a pointer and
a sentence. ``check_schema`` checks schemas from users or other systems before they are compiled.
Nothing is ever fetched: a reference resolves inside the same schema or not at all. Patterns run in
linear time, and both the accepted schemas and the explanations are bounded in work.
"""

from __future__ import annotations

from mainspring.definition.json_schema.validator import Validator, check_schema, compile_schema

__all__ = ["Validator", "check_schema", "compile_schema"]
