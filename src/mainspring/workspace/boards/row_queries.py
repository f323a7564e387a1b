"""Queries on rows: search, filter, sort, and aggregate in groups.

Unlike a plain page, a query may scan the whole dataset. A hundred thousand small rows take some
tenths of a second, so the page asks for large pages. For a search word that occurs in most rows,
the scan in append order stops when the page is full, and the total is only counted up to a limit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.errors import Finding, Invalid
from mainspring.workspace.boards.lookup import (
    DEFAULT,
    Dataset,
    find_board,
    list_board_datasets,
    no_dataset_error,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Filters and sort order of a table view.

MOST_FILTERS: Final = 10
LONGEST_WORDS: Final = 200
# The SQL of each filter; {f} is the field and {v} the value, both parameters.
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
# Matching the row as one text is much faster than matching its values, and excludes most rows.
_PERHAPS: Final = "data::text ILIKE {v} AND "
# Characters that JSON escapes.
_ESCAPED: Final = re.compile(r'["\\\x00-\x1f\x7f]')


@dataclass(slots=True)
class RowQuery:
    """SQL conditions with their parameters, and the sort keys."""

    values: list[Any]
    conditions: list[str] = field(default_factory=list)

    def parameter(self, value: Any, kind: str = "text") -> str:
        self.values.append(value)
        return f"${len(self.values)}::{kind}"

    @property
    def where(self) -> str:
        return "".join(f" AND {one}" for one in self.conditions)


def has_query(arguments: Mapping[str, Any]) -> bool:
    """Whether the arguments ask for anything beyond a plain page."""
    return any(arguments.get(name) for name in ("sort", "search", "filters"))


def build_row_query(arguments: Mapping[str, Any], values: list[Any]) -> RowQuery:
    """Build the conditions for the arguments; their parameters follow the given ones."""
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
    """The two sort values of a row: as a number, and otherwise as text."""
    if name is None:
        return ""
    given = made.parameter(name)
    return (
        f", CASE WHEN jsonb_typeof(data -> {given}) = 'number' THEN (data ->> {given})::numeric "
        f"END AS by_number, lower(data ->> {given}) AS by_text"
    )


def order_of(name: str | None, *, descending: bool) -> str:
    """Unsorted rows stay in append order, which is indexed, so the scan can stop early."""
    if name is None:
        return "position"
    way = "DESC" if descending else "ASC"
    return f"by_number {way} NULLS LAST, by_text {way} NULLS LAST, position"


def _escape_like(text: str) -> str:
    """Escape LIKE wildcards."""
    for sign in ("\\", "%", "_"):
        text = text.replace(sign, "\\" + sign)
    return f"%{text}%"


MOST_GROUPS: Final = 500
# The total is counted up to this: exact large totals are not worth a scan of every row.
COUNTED: Final = 10_000
LONGEST_GROUP: Final = 200

# Select the keys first and fetch the rows afterwards, so that only a page of rows is sorted.
_FOUND = """
    SELECT row_id, data, src, updated_at, deleted_at, chosen FROM (
        SELECT rows.row_id, rows.data, rows.src, rows.updated_at, rows.deleted_at, place,
            count(*) OVER () AS chosen,
            sum(rows.bytes + $7) OVER (ORDER BY place) - rows.bytes - $7 AS ahead
        FROM (
            SELECT row_id, row_number() OVER (ORDER BY {order}) AS place FROM (
                SELECT * FROM (
                    SELECT row_id, position{keys} FROM board_rows
                    WHERE workspace_id = $1 AND dataset_id = $2
                      AND ($3 OR deleted_at IS NULL){where}
                ) AS keyed
                ORDER BY {order} OFFSET $4 LIMIT $5
            ) AS chosen
        ) AS placed
        JOIN board_rows AS rows
            ON rows.workspace_id = $1 AND rows.dataset_id = $2 AND rows.row_id = placed.row_id
    ) AS measured
    WHERE ahead < $6 ORDER BY place
"""
_COUNT = """
    SELECT count(*) AS found FROM (
        SELECT FROM board_rows
        WHERE workspace_id = $1 AND dataset_id = $2 AND ($3 OR deleted_at IS NULL){where}
        LIMIT $4
    ) AS counted
"""
_GROUPS = """
    SELECT value, rows, number, count(*) OVER () AS groups FROM (
        SELECT value, count(*) AS rows, {how} AS number FROM (
            SELECT {value} AS value,
                CASE WHEN jsonb_typeof(data -> $3) = 'number' THEN (data ->> $3)::numeric END AS one
            FROM board_rows
            WHERE workspace_id = $1 AND dataset_id = $2 AND deleted_at IS NULL{where}
        ) AS read
        GROUP BY value
    ) AS grouped
    ORDER BY {order} LIMIT $4
"""
_HOW: Final[Mapping[str, str]] = {
    "count": "count(*)",
    "sum": "sum(one)",
    "average": "avg(one)",
    "smallest": "min(one)",
    "largest": "max(one)",
}
HOW: Final = tuple(_HOW)
# A date is text that starts with its year; its prefix is the day, month or year.
_PER: Final[Mapping[str, int]] = {"day": 10, "month": 7, "year": 4}
PER: Final = tuple(_PER)
_NUMERIC: Final = r"CASE WHEN value ~ '^-?\d{1,15}(\.\d{1,15})?$' THEN value::numeric END"
_ORDERS: Final[Mapping[str, str]] = {
    "value": f"{_NUMERIC} NULLS LAST, value NULLS LAST",
    "number": "number DESC NULLS LAST, value NULLS LAST",
}
ORDERS: Final = tuple(_ORDERS)


def check_start(arguments: Mapping[str, Any]) -> None:
    """Reject ``after`` with another sort order: it is a position in append order."""
    if arguments.get("after") is not None and has_query(arguments):
        detail = "Rows that are searched, filtered or sorted are read by offset, not after a row."
        raise Invalid(
            detail, code="after_sorted", findings=[Finding("/after", detail, "after_sorted")]
        )


@dataclass(frozen=True, slots=True)
class RowPage:
    """One page of matching rows, and the total, which may be a lower bound."""

    rows: list[Any]
    total: int
    # There are more than ``total``, not counted.
    more: bool = False


async def query_rows(
    ctx: CallContext,
    dataset: Dataset,
    arguments: Mapping[str, Any],
    room: int,
    around: int,
    most: int,
) -> RowPage:
    space, every = ctx.actor.workspace_id, bool(arguments.get("include_deleted", False))
    offset, limit = int(arguments.get("offset", 0)), int(arguments.get("limit", most))
    made = build_row_query(arguments, [space, dataset.id, every, offset, limit, room, around])
    where, sort = made.where, arguments.get("sort")
    keys = order_keys(made, sort)
    order = order_of(sort, descending=bool(arguments.get("descending", False)))
    rows = await ctx.tx.fetch(_FOUND.format(keys=keys, where=where, order=order), *made.values)
    if not where:
        return RowPage(rows, dataset.appended if every else dataset.live)
    chosen = int(rows[0]["chosen"]) if rows else 0
    if chosen < limit and (chosen or not offset):
        # The last page: the number of rows before it is known.
        return RowPage(rows, offset + chosen)
    enough = offset + limit + COUNTED
    counted = build_row_query(arguments, [space, dataset.id, every, enough + 1])
    row = await ctx.tx.fetchrow(_COUNT.format(where=counted.where), *counted.values)
    total = int(row["found"])
    return RowPage(rows, min(total, enough), total > enough)


def build_summarize_handler() -> CapabilityHandler:
    async def summarize(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        board = await find_board(ctx, arguments)
        datasets = await list_board_datasets(ctx, board)
        name = arguments.get("dataset", DEFAULT)
        dataset = next((one for one in datasets if one.name == name), None)
        if dataset is None:
            raise no_dataset_error(board, name, [one.name for one in datasets])
        how = str(arguments.get("how", "count"))
        if how != "count" and "of" not in arguments:
            detail = "Of which field? Only counting needs none."
            raise Invalid(detail, code="no_field", findings=[Finding("/of", detail, "no_field")])
        rows = await _load_groups(ctx, dataset, arguments, how)
        return {
            "board_id": str(board.id),
            "dataset": dataset.name,
            "groups": [
                {
                    "value": row["value"],
                    "rows": row["rows"],
                    "number": _format_number(row["number"]),
                }
                for row in rows
            ],
            "of": int(rows[0]["groups"]) if rows else 0,
        }

    return summarize


async def _load_groups(
    ctx: CallContext, dataset: Dataset, arguments: Mapping[str, Any], how: str
) -> list[Any]:
    limit = int(arguments.get("limit", MOST_GROUPS))
    made = build_row_query(
        arguments, [ctx.actor.workspace_id, dataset.id, arguments.get("of", ""), limit]
    )
    where = made.where
    longest = _PER.get(str(arguments.get("per", "")), LONGEST_GROUP)
    value = f"left(data ->> {made.parameter(arguments['by'])}, {longest})"
    order = _ORDERS[str(arguments.get("order", "value"))]
    text = _GROUPS.format(how=_HOW[how], value=value, where=where, order=order)
    return await ctx.tx.fetch(text, *made.values)


def _format_number(value: Any) -> float | int | None:
    if value is None or isinstance(value, int):
        return value
    number = float(value)
    return int(number) if number.is_integer() else number
