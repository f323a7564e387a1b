"""Reports every problem of a filter with its pointer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters.operators import (
    OPERATORS,
    InvalidFieldPath,
    is_scalar,
    parse_field_path,
)
from mainspring.definition.patterns import InvalidPattern, compile_pattern
from mainspring.definition.strict_json import check_value, join_pointer
from mainspring.definition.suggestions import suggest_nearest

# The grammar of filters as a published JSON Schema, with examples that run as tests.

ALL, ANY, NOT = "$and", "$or", "$not"
GROUPS = (ALL, ANY, NOT)

# The operators of other systems; accepted when a filter is imported.
ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: operator.name for operator in OPERATORS.values() for alias in operator.aliases}
)

EXAMPLES: tuple[Mapping[str, Any], ...] = (
    {},
    {"kind": "invoice"},
    {"file.name": {"ends_with": ".pdf"}, "file.size": {"gt": 0, "lte": 10_000_000}},
    {"status": {"in": ["open", "reopened"]}, "assignee": {"exists": False}},
    {"$or": [{"priority": {"gte": 3}}, {"labels": {"contains": "urgent"}}]},
    {"$not": {"sender": {"regex": "@example\\.(com|org)$"}}},
    {"$and": [{"a": {"not_equals": None}}, {"$or": [{"b": True}, {"c.0.d": 1.5}]}]},
    {"headers.content\\.type": {"starts_with": "text/"}},
    {"state": {"not_in": ["draft", "archived"]}},
    {"owner": {"equals": {"kind": "team", "id": 7}}},
)

ANTI_EXAMPLES: tuple[tuple[Any, str], ...] = (
    ([], "a filter is an object, not a list"),
    ("kind == 'x'", "a filter is not an expression"),
    ({"kind": {}}, "a field needs at least one operator"),
    ({"kind": ["a", "b"]}, "a list of choices is written with in"),
    ({"kind": {"equal": "x"}}, "there is no operator equal"),
    ({"kind": {"$eq": "x"}}, "$eq is an alias, accepted on import only"),
    ({"size": {"gt": "3"}}, "gt compares numbers"),
    ({"size": {"gt": True}}, "true is not a number"),
    ({"name": {"starts_with": 3}}, "starts_with takes text"),
    ({"name": {"contains": ["a"]}}, "contains takes one value"),
    ({"kind": {"in": "ab"}}, "in takes a list"),
    ({"kind": {"in": []}}, "in an empty list is nothing, so the filter could never hold"),
    ({"kind": {"exists": "yes"}}, "exists takes true or false"),
    ({"$or": []}, "an alternative needs at least one filter"),
    ({"$or": {"a": 1}}, "$or takes a list of filters"),
    ({"$and": [1]}, "$and takes a list of filters"),
    ({"$not": [{"a": 1}]}, "$not takes one filter"),
    ({"$nor": [{"a": 1}]}, "there is no group $nor"),
    ({"a..b": 1}, "a path has a name before and after each dot"),
    ({"": 1}, "a path is not empty"),
    ({"a\\": 1}, "a backslash stands before the character it protects"),
)


def _condition() -> dict[str, Any]:
    operators = {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {operator.name: dict(operator.operand) for operator in OPERATORS.values()},
    }
    # By type, so that an error refers to the one form that was meant.
    return {
        "description": "A value that the field must equal, or operators that must all hold.",
        "type": ["string", "number", "boolean", "null", "object"],
        "if": {"type": "object"},
        "then": operators,
    }


def _schema() -> dict[str, Any]:
    filters = {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/filter"}}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:mainspring:schema:filter",
        "title": "Filter",
        "description": "Which payloads a trigger is for. All entries must hold.",
        "$ref": "#/$defs/filter",
        "examples": [dict(example) for example in EXAMPLES],
        "x-anti-examples": [{"value": value, "reason": reason} for value, reason in ANTI_EXAMPLES],
        "$defs": {
            "filter": {
                "type": "object",
                "properties": {ALL: filters, ANY: filters, NOT: {"$ref": "#/$defs/filter"}},
                "propertyNames": {
                    "anyOf": [{"enum": list(GROUPS)}, {"$ref": "#/$defs/path"}],
                },
                "additionalProperties": {"$ref": "#/$defs/condition"},
            },
            "path": {
                "description": "Names separated by dots; a backslash takes the next sign as it is.",
                "type": "string",
                "pattern": (
                    r"^(?:[^\\.$]|\\[\s\S])(?:[^\\.]|\\[\s\S])*"
                    r"(?:\.(?:[^\\.]|\\[\s\S])+)*$"
                ),
            },
            "condition": _condition(),
        },
    }


FILTER_SCHEMA: Mapping[str, Any] = MappingProxyType(_schema())


def normalise(written: Any) -> Any:
    """A filter with the aliases of other systems replaced by our operators.

    Unknown operators stay unchanged, so that the checks report them.
    """
    if isinstance(written, Mapping):
        return {key: _normalise_entry(key, value) for key, value in written.items()}
    return written


def _normalise_entry(key: str, value: Any) -> Any:
    if key in {ALL, ANY} and isinstance(value, list):
        return [normalise(member) for member in value]
    if key == NOT:
        return normalise(value)
    if isinstance(value, Mapping):
        return {
            name if (plain := ALIASES.get(name)) is None or plain in value else plain: operand
            for name, operand in value.items()
        }
    return value


# A pattern with a smaller maximum length may meet a longer text in an ordinary event.
_READS_ENOUGH: Final = 65_536
SIMPLER: Final = (
    "Use a simpler pattern, such as [A-Za-z] in place of \\p{L}, or an operator without one, "
    "such as contains or starts_with."
)


def filter_findings(written: Any, limits: Limits, at: str = "") -> list[Finding]:
    """Every problem that prevents a filter from being used; empty when there is none."""
    try:
        check_value(written, limits, at)
    except Invalid as problem:
        return list(problem.findings)
    if _nodes(written, limits.filter_nodes) > limits.filter_nodes:
        detail = f"A filter has at most {limits.filter_nodes:,} operators and groups."
        return [Finding(at, detail, "filter_too_large")]
    return [*_filter(written, limits, at, limits.filter_depth)]


def filter_doubts(written: Mapping[str, Any], limits: Limits, at: str = "") -> Iterator[Finding]:
    """The patterns of a usable filter that may meet texts which are too long for them."""
    for key, value in written.items():
        here = join_pointer(at, key)
        if key in {ALL, ANY}:
            for position, member in enumerate(value):
                yield from filter_doubts(member, limits, join_pointer(here, position))
        elif key == NOT:
            yield from filter_doubts(value, limits, here)
        elif isinstance(value, Mapping) and "regex" in value:
            longest = compile_pattern(value["regex"], limits).longest
            if longest < _READS_ENOUGH:
                detail = (
                    f"This pattern reads texts of at most {longest:,} bytes. An event with a "
                    "longer text is recorded as a failed run and starts nothing."
                )
                yield Finding(join_pointer(here, "regex"), detail, "filter_pattern_short", SIMPLER)


def _filter(written: Any, limits: Limits, at: str, levels: int) -> Iterator[Finding]:
    if not isinstance(written, Mapping):
        yield Finding(at, "A filter is an object of fields and groups.", "filter_type")
        return
    if levels <= 0:
        detail = f"A filter is nested at most {limits.filter_depth} levels deep."
        yield Finding(at, detail, "filter_too_deep")
        return
    for key, value in written.items():
        here = join_pointer(at, key)
        if key in {ALL, ANY}:
            yield from _members(key, value, limits, here, levels - 1)
        elif key == NOT:
            yield from _check_negation(value, limits, here, levels - 1)
        elif key.startswith("$"):
            yield _unknown_group(key, here)
        else:
            yield from _field(key, value, limits, here)


def _members(key: str, value: Any, limits: Limits, at: str, levels: int) -> Iterator[Finding]:
    if not isinstance(value, list) or not value:
        detail = f"{key} takes a list of at least one filter."
        yield Finding(at, detail, "filter_group")
        return
    for position, member in enumerate(value):
        yield from _filter(member, limits, join_pointer(at, position), levels)


def _check_negation(value: Any, limits: Limits, at: str, levels: int) -> Iterator[Finding]:
    if isinstance(value, Mapping):
        yield from _filter(value, limits, at, levels)
    else:
        yield Finding(at, "$not takes one filter, as an object.", "filter_group")


def _unknown_group(key: str, here: str) -> Finding:
    if key in ALIASES:
        detail = f"{key} is an operator: use it inside a field, not next to it."
        return Finding(here, detail, "filter_group")
    detail = f"There is no group {key!r}; a field that begins with $ is written \\$."
    return Finding(here, detail, "filter_group", suggest_nearest(key, GROUPS))


def _field(key: str, value: Any, limits: Limits, here: str) -> Iterator[Finding]:
    try:
        parse_field_path(key)
    except InvalidFieldPath as bad:
        yield Finding(here, str(bad), "filter_path")
    if is_scalar(value):
        return
    if isinstance(value, list):
        yield Finding(
            here,
            "A field takes a value or operators; a list of choices is written with in.",
            "filter_condition",
            'Write {"in": […]}.',
        )
    elif not value:
        yield Finding(here, "A field needs at least one operator.", "filter_condition")
    else:
        for name, operand in value.items():
            yield from _operator(name, operand, limits, join_pointer(here, name))


def _operator(name: str, operand: Any, limits: Limits, here: str) -> Iterator[Finding]:
    operator = OPERATORS.get(name)
    if operator is None:
        yield _unknown_operator(name, here)
    elif not operator.accepts(operand):
        yield Finding(here, f"{name} takes {operator.takes}.", "filter_operand")
    elif name == "regex":
        try:
            compile_pattern(operand, limits)
        except InvalidPattern as bad:
            yield Finding(here, str(bad), "filter_pattern")


def _unknown_operator(name: str, here: str) -> Finding:
    if name in GROUPS:
        detail = f"{name} combines filters: use it next to fields, not inside a field."
        return Finding(here, detail, "filter_operator")
    meant = ALIASES.get(name)
    suggestion = suggest_nearest(name, OPERATORS) if meant is None else f"Write {meant!r}."
    return Finding(here, f"There is no operator {name!r}.", "filter_operator", suggestion)


def _nodes(written: Any, most: int) -> int:
    """The number of operators and groups, counted without recursion."""
    count, waiting = 0, [written]
    while waiting and count <= most:
        node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        for key, value in node.items():
            if key in {ALL, ANY} and isinstance(value, list):
                count += 1
                waiting.extend(value)
            elif key == NOT:
                count += 1
                waiting.append(value)
            else:
                count += len(value) if isinstance(value, Mapping) else 1
    return count
