"""Appending rows: thousands at a time, and each one once.

Whoever appends holds the dataset, so of two who bring the same row one finds it there. A
double is recognised by the dataset's own key field and by the field that the call names; a
row that is deleted no longer counts. What is wrong with any row is told with its place, and
then none of them is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.errors import LimitExceeded
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.workspace.boards.columns import EncodedRow, RowValidator
from mainspring.workspace.boards.events import tell
from mainspring.workspace.boards.finding import DEFAULT, Dataset, hold_dataset, open_board

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_KEYS = """
    SELECT board_key($1, data) AS key
    FROM (
        SELECT g.data::jsonb AS data, g.n FROM unnest($2::text[]) WITH ORDINALITY AS g(data, n)
        OFFSET 0
    ) AS given
    ORDER BY n
"""
# Joined, here and wherever thousands are named: a remembered plan would compare each row
# with each member of an array.
_TAKEN = """
    SELECT k.key FROM unnest($3::text[]) AS k(key)
    WHERE EXISTS (
        SELECT FROM board_rows r
        WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.dedupe_key = k.key
          AND r.dedupe_key IS NOT NULL AND r.deleted_at IS NULL
    )
"""
# Another field than the dataset's own has no index; all rows are looked at.
_TAKEN_IN = """
    SELECT k.key FROM unnest($3::text[]) AS k(key)
    JOIN board_rows r ON board_key($4, r.data) = k.key
    WHERE r.workspace_id = $1 AND r.dataset_id = $2 AND r.deleted_at IS NULL
"""
_APPEND = """
    INSERT INTO board_rows (workspace_id, dataset_id, row_id, position, data, bytes, dedupe_key,
        src)
    SELECT $1, $2, g.row_id, $3 + g.n - 1, g.data::jsonb, g.bytes, g.key, $8
    FROM unnest($4::uuid[], $5::text[], $6::int4[], $7::text[])
        WITH ORDINALITY AS g(row_id, data, bytes, key, n)
"""
_COUNT_APPENDED = """
    UPDATE board_datasets SET appended = appended + $3, live = live + $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""


def append_handler(limits: Limits) -> CapabilityHandler:
    async def append(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        rows = arguments["rows"]
        board = await open_board(ctx, arguments)
        dataset = await hold_dataset(ctx, board, arguments.get("dataset", DEFAULT))
        given = arguments.get("dedupe_key_field")
        written = _validate_rows(rows, dataset, given, limits)
        chosen, keys = await _select_new_rows(ctx, dataset, given, rows)
        check_room(dataset, len(chosen), limits)
        row_ids = [generate_id() for _ in chosen]
        told = {
            "board_id": str(board.id),
            "dataset": dataset.name,
            "appended": len(chosen),
            "skipped": len(rows) - len(chosen),
            "row_ids": [str(one) for one in row_ids],
            "total": dataset.live + len(chosen),
        }
        if not chosen:
            return Unchanged(told)
        await write_rows(
            ctx, dataset, row_ids, [written[n] for n in chosen], [keys[n] for n in chosen]
        )
        await tell(ctx, board, "rows_appended", dataset=dataset.name, row_ids=row_ids)
        return told

    return append


def _validate_rows(
    rows: Sequence[Mapping[str, Any]], dataset: Dataset, given: str | None, limits: Limits
) -> list[EncodedRow]:
    checks = RowValidator(dataset.columns, limits, given or dataset.dedupe_key_field)
    written = []
    for number, row in enumerate(rows):
        at = f"/rows/{number}"
        checks.values(row, at)
        written.append(checks.whole(row, at))
    checks.settle()
    return written


async def _select_new_rows(
    ctx: CallContext, dataset: Dataset, given: str | None, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[int], Sequence[str | None]]:
    """Which rows are not there yet, by their number, and the key of every row."""
    own = dataset.dedupe_key_field
    space = ctx.actor.workspace_id
    chosen = list(range(len(rows)))
    own_keys: Sequence[str | None] = [None] * len(rows)
    if own is not None:
        own_keys = await compute_row_keys(ctx, own, rows)
        found = await ctx.tx.fetch(_TAKEN, space, dataset.id, _list_present_keys(own_keys))
        chosen = _filter_fresh(chosen, own_keys, {row["key"] for row in found})
    if given is not None and given != own:
        keys = await compute_row_keys(ctx, given, rows)
        found = await ctx.tx.fetch(_TAKEN_IN, space, dataset.id, _list_present_keys(keys), given)
        chosen = _filter_fresh(chosen, keys, {row["key"] for row in found})
    return chosen, own_keys


async def compute_row_keys(
    ctx: CallContext, field: str, rows: Sequence[Mapping[str, Any]]
) -> list[str | None]:
    """By what each row is recognised; the database spells it, so there is one spelling."""
    texts = [orjson.dumps({field: row.get(field)}).decode() for row in rows]
    return [row["key"] for row in await ctx.tx.fetch(_KEYS, field, texts)]


def _list_present_keys(keys: Sequence[str | None]) -> list[str]:
    return [key for key in keys if key is not None]


def _filter_fresh(chosen: Sequence[int], keys: Sequence[str | None], seen: set[str]) -> list[int]:
    found = []
    for number in chosen:
        key = keys[number]
        if key is None or key not in seen:
            found.append(number)
        if key is not None:
            seen.add(key)
    return found


def check_room(dataset: Dataset, more: int, limits: Limits) -> None:
    """Refuses more rows than a dataset ever takes."""
    if dataset.appended + more > limits.board_rows:
        raise LimitExceeded(
            f"The dataset {dataset.name!r} has room for {limits.board_rows:,} rows, deleted ones "
            f"included; {dataset.appended:,} are there.",
            code="dataset_full",
            suggestion="Use another dataset for newer rows.",
            retryable=False,
        )


async def write_rows(
    ctx: CallContext,
    dataset: Dataset,
    row_ids: Sequence[UUID],
    rows: Sequence[EncodedRow],
    keys: Sequence[str | None],
    src: str | None = None,
) -> None:
    """Puts rows that were judged behind the last one of a held dataset."""
    space = ctx.actor.workspace_id
    await ctx.tx.execute(
        _APPEND,
        space,
        dataset.id,
        dataset.appended,
        row_ids,
        [row.text for row in rows],
        [row.bytes for row in rows],
        keys,
        src or f"{ctx.actor.kind}:{ctx.actor.id}",
    )
    await ctx.tx.execute(_COUNT_APPENDED, space, dataset.id, len(rows))
