"""Says everything that is wrong with a filter, each at its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.filters.fields import InvalidFieldPath, parse_field_path
from mainspring.definition.filters.grammar import ALIASES, ALL, ANY, GROUPS, NOT
from mainspring.definition.filters.operators import OPERATORS, is_scalar
from mainspring.definition.json_values import check_value
from mainspring.definition.patterns import InvalidPattern, compile_pattern
from mainspring.definition.pointers import join_pointer
from mainspring.definition.words import suggest_nearest

# A pattern that reads less than this may meet a longer text in an ordinary event.
_READS_ENOUGH: Final = 65_536
SIMPLER: Final = (
    "Use a simpler pattern, such as [A-Za-z] in place of \\p{L}, or an operator without one, "
    "such as contains or starts_with."
)


def filter_findings(written: Any, limits: Limits, at: str = "") -> list[Finding]:
    """Everything that keeps a filter from being used; empty when nothing does."""
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
        detail = f"{key} is an operator and stands inside a field, not beside it."
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
        detail = f"{name} stands beside fields and combines filters, not inside a field."
        return Finding(here, detail, "filter_operator")
    meant = ALIASES.get(name)
    suggestion = suggest_nearest(name, OPERATORS) if meant is None else f"Write {meant!r}."
    return Finding(here, f"There is no operator {name!r}.", "filter_operator", suggestion)


def _nodes(written: Any, most: int) -> int:
    """Operators and groups, counted without going deeper than one step at a time."""
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
