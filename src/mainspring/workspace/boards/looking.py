"""Which rows of a dataset are meant, and in which order: what a person asks of a table.

A search and filters become conditions, and a field becomes an order. Every word of the caller
is a parameter; the text of the query is made from the few pieces that stand here. Rows without
a value come last in either direction: nobody sorts a table to look at what is empty.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid

MOST_FILTERS: Final = 10
LONGEST_WORDS: Final = 200
# Each filter in SQL; {f} is the field and {v} the value, both parameters.
_OPS: Final[Mapping[str, str]] = {
    "is": "lower(data ->> {f}) = lower({v})",
    "is_not": "lower(data ->> {f}) IS DISTINCT FROM lower({v})",
    "contains": "(data ->> {f}) ILIKE {v}",
    "above": "CASE WHEN jsonb_typeof(data -> {f}) = 'number' THEN (data ->> {f})::numeric > {v} "
    "ELSE false END",
    "below": "CASE WHEN jsonb_typeof(data -> {f}) = 'number' THEN (data ->> {f})::numeric < {v} "
    "ELSE false END",
    "from": "(data ->> {f}) >= {v}",
    "until": "left(data ->> {f}, length({v})) <= {v}",
    "empty": "coalesce(data ->> {f}, '') IN ('', '[]')",
    "filled": "coalesce(data ->> {f}, '') NOT IN ('', '[]')",
}
OPS: Final = tuple(_OPS)
_NUMBERS: Final = frozenset({"above", "below"})
_ALONE: Final = frozenset({"empty", "filled"})
_SEARCH: Final = "EXISTS (SELECT FROM jsonb_each_text(data) AS cell WHERE cell.value ILIKE {v})"
# A row as one text is looked at much faster than its values one by one, and rules out most rows.
_PERHAPS: Final = "data::text ILIKE {v} AND "
# What JSON writes in another way than it stands in a value.
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclass(slots=True)
class RowQuery:
    """Conditions with the values they speak of, and the names of the keys of an order."""

    values: list[Any]
    conditions: list[str] = field(default_factory=list)

    def parameter(self, value: Any, kind: str = "text") -> str:
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    @property
    def where(self) -> str:
        return "".join(f" AND {one}" for one in self.conditions)


def is_asked(arguments: Mapping[str, Any]) -> bool:
    """Whether anything but the rows in their places is wanted."""
    return any(arguments.get(name) for name in ("sort", "search", "filters"))


def look(arguments: Mapping[str, Any], values: list[Any]) -> RowQuery:
    """The conditions that the arguments ask for, after the values that stand first."""
    made = RowQuery(values)
    words = str(arguments.get("search") or "").strip()
    if words:
        quick = "" if _ESCAPED.search(words) else _PERHAPS
        made.conditions.append((quick + _SEARCH).format(v=made.parameter(_escape_like(words))))
    findings: list[Finding] = []
    for number, one in enumerate(arguments.get("filters") or ()):
        problem = _find_condition_problem(one)
        if problem is None:
            made.conditions.append(_build_condition(made, one))
        else:
            findings.append(Finding(f"/filters/{number}/value", problem, "filter_value"))
    if findings:
        raise Invalid(findings[0].detail, code="filter_value", findings=findings)
    return made


def _build_condition(made: RowQuery, one: Mapping[str, Any]) -> str:
    op, name = str(one["op"]), made.parameter(one["field"])
    if op in _ALONE:
        return _OPS[op].format(f=name)
    if op in _NUMBERS:
        return _OPS[op].format(
            f=name, v=made.parameter(float(one["value"]), "float8") + "::numeric"
        )
    text = str(one["value"])
    return _OPS[op].format(
        f=name, v=made.parameter(_escape_like(text) if op == "contains" else text)
    )


def _find_condition_problem(one: Mapping[str, Any]) -> str | None:
    op, value = one["op"], one.get("value")
    if op in _ALONE:
        return None
    if value is None:
        return f"The filter {op!r} needs a value."
    if op in _NUMBERS:
        try:
            float(value)
        except ValueError:
            return "This must be a number."
    return None


def order_keys(made: RowQuery, name: str | None) -> str:
    """The two values that rows are ordered by: as a number, and else as text."""
    if name is None:
        return ""
    given = made.parameter(name)
    return (
        f", CASE WHEN jsonb_typeof(data -> {given}) = 'number' THEN (data ->> {given})::numeric "
        f"END AS by_number, lower(data ->> {given}) AS by_text"
    )


def order_of(name: str | None, *, descending: bool) -> str:
    """Rows that nobody sorts stay in their places, which an index knows: it can stop early."""
    if name is None:
        return "position"
    way = "DESC" if descending else "ASC"
    return f"by_number {way} NULLS LAST, by_text {way} NULLS LAST, position"


def _escape_like(words: str) -> str:
    """Words to be found as they are written, signs included."""
    for sign in ("\\", "%", "_"):
        words = words.replace(sign, "\\" + sign)
    return f"%{words}%"
