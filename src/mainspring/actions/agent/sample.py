"""Sample answers for simulated agents: a value that matches the requested schema.

A schema of a few lines can require more values than fit into memory, so a sample is limited in
size, and a schema that exceeds the limit has no sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.errors import Problem, TooLarge
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.strict_json import encode_canonical

_REASON: Final = "No model is connected, so the agent was only pretended."
_NO_SAMPLE: Final = f"{_REASON} No sample answer could be generated for this schema."
_PLAIN: Final[dict[str, Any]] = {
    "string": "…",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
    "null": None,
}
_DEEPEST: Final = 8
# The maximum number of values in a sample; a long text counts as several.
_MOST_VALUES: Final = 5_000
_BYTES_OF_A_VALUE: Final = 100


def build_sample_answer(arguments: Mapping[str, Any], limits: Limits) -> dict[str, Any]:
    """An answer that matches, or ``NothingToDo`` when none can be generated."""
    schema = arguments.get("output_schema")
    output, made = (
        _find_fitting_sample(schema, limits) if isinstance(schema, Mapping) else (None, True)
    )
    return {
        "output": output,
        "text": _REASON if made else _NO_SAMPLE,
        "kind": "done" if made else "nothing",
        "turns": 0,
        "usage": {"input_tokens": 0, "output_tokens": 0, "cost_usd": 0},
        "model": "",
        "transcript": None,
    }


def _find_fitting_sample(schema: Mapping[str, Any], limits: Limits) -> tuple[Any, bool]:
    """A sample, and whether there is one."""
    if check_schema(schema, limits):
        return None, False
    try:
        sample = build_sample(schema)
        fits = compile_schema(schema, limits).is_valid(sample)
    except Problem:
        return None, False
    return (sample, True) if fits else (None, False)


def build_sample(schema: Any) -> Any:
    """The simplest matching value, for a valid schema."""
    return _SampleGenerator(_MOST_VALUES).of(schema, 0)


@dataclass(slots=True)
class _SampleGenerator:
    """Generates one sample."""

    left: int

    def of(self, schema: Any, depth: int) -> Any:
        self._take()
        if not isinstance(schema, Mapping) or depth > _DEEPEST:
            return None
        for value in _iterate_schema_values(schema):
            self._take(value)
            return value
        kind = schema.get("type")
        kind = kind[0] if isinstance(kind, list) and kind else kind
        if kind == "object" or "properties" in schema:
            known, names = schema.get("properties") or {}, schema.get("required", [])
            self._take(names)
            return {name: self.of(known.get(name), depth + 1) for name in names}
        if kind == "array":
            # One item is enough for later steps.
            count = min(max(schema.get("minItems", 1), 1), schema.get("maxItems", 20), 20)
            return [self.of(schema.get("items"), depth + 1) for _ in range(int(count))]
        if kind in ("integer", "number"):
            return schema.get("minimum", 0)
        return _PLAIN.get(str(kind))

    def _take(self, value: Any = None) -> None:
        """Reserve one more value, or one of this length."""
        self.left -= 1 + len(encode_canonical(value)) // _BYTES_OF_A_VALUE
        if self.left < 0:
            raise TooLarge("No sample of this shape has room.", code="sample_too_large")


def _iterate_schema_values(schema: Mapping[str, Any]) -> Iterator[Any]:
    """The values that a schema names itself, the best first."""
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            yield schema[key][0]
    for key in ("const", "default"):
        if key in schema:
            yield schema[key]
