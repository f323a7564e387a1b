"""Reading a board: its details, and one page of a dataset's rows.

A page starts at an offset or after a row. Positions have no gaps, so an offset is a position
corrected by the deleted rows before it, which are counted per block of a thousand: the last page is
found as quickly as the first. A page ends early when its rows are large, and says where the next
one starts. Searches, filters and sorting are in ``row_queries``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.errors import NotFound
from mainspring.contracts.limits import Limits
from mainspring.workspace.boards.links import list_board_links
from mainspring.workspace.boards.lookup import (
    DEFAULT,
    Dataset,
    find_board,
    list_board_datasets,
    no_board_error,
    no_dataset_error,
)
from mainspring.workspace.boards.parts import list_parts_briefly
from mainspring.workspace.boards.row_queries import RowPage, check_start, has_query, query_rows
from mainspring.workspace.boards.rows import BLOCK

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

MOST_ROWS: Final = 1_000
# Bytes that the server adds to a row: its id, source and modification time.
_AROUND: Final = 180

# The last block that starts at or before an offset of live rows: how many live rows precede it, and
# how many deleted rows it has.
_GAP = """
    SELECT block, deleted, before FROM (
        SELECT block, deleted,
            block * $4 - (sum(deleted) OVER (ORDER BY block) - deleted) AS before
        FROM board_gaps WHERE workspace_id = $1 AND dataset_id = $2
    ) AS counted
    WHERE before <= $3 ORDER BY block DESC LIMIT 1
"""
# The first row always fits, or a reader could never get past it.
_PAGE = """
    SELECT row_id, data, src, updated_at, deleted_at FROM (
        SELECT *, sum(bytes + $7) OVER (ORDER BY position) - bytes - $7 AS ahead FROM (
            SELECT row_id, position, data, bytes, src, updated_at, deleted_at FROM board_rows
            WHERE workspace_id = $1 AND dataset_id = $2 AND position >= $3
              AND ($8 OR deleted_at IS NULL)
            ORDER BY position OFFSET $4 LIMIT $5
        ) AS page
    ) AS measured
    WHERE ahead < $6 ORDER BY position
"""
_PLACE = """
    SELECT position FROM board_rows WHERE workspace_id = $1 AND dataset_id = $2 AND row_id = $3
"""


@dataclass(frozen=True, slots=True)
class RowPageStart:
    """Where a page starts: a position, and how many live rows to skip from there."""

    position: int
    skip: int = 0


def get_handler(limits: Limits) -> CapabilityHandler:
    # A run stores what it reads as a step output.
    room = limits.step_output_bytes * 3 // 4

    async def get(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        check_start(arguments)
        board = await find_board(ctx, arguments)
        if ctx.run is not None and arguments.get("name", board.name) != board.name:
            # The grant may name the board: an id must not reach another board.
            raise no_board_error()
        datasets = await list_board_datasets(ctx, board)
        name = arguments.get("dataset", DEFAULT)
        asked = next((one for one in datasets if one.name == name), None)
        if asked is None:
            raise no_dataset_error(board, name, [one.name for one in datasets])
        shown = {one.name: _build_empty_page(one) for one in datasets}
        shown[name] = await _load_page(ctx, asked, arguments, room)
        return {
            **board.as_dict(),
            "schema": {"version": 2, "datasets": [one.schema() for one in datasets]},
            "data": {"datasets": shown},
            **await list_parts_briefly(ctx, board),
            "links": await list_board_links(ctx.tx, ctx.actor.workspace_id, board.id),
        }

    return get


def _build_empty_page(dataset: Dataset) -> dict[str, Any]:
    return {"rows": [], "schema": dataset.schema(), "total": dataset.live}


async def _load_page(
    ctx: CallContext, dataset: Dataset, arguments: Mapping[str, Any], room: int
) -> dict[str, Any]:
    every = bool(arguments.get("include_deleted", False))
    total = dataset.appended if every else dataset.live
    offset, limit = int(arguments.get("offset", 0)), int(arguments.get("limit", MOST_ROWS))
    after = arguments.get("after")
    if has_query(arguments):
        found = await query_rows(ctx, dataset, arguments, room, _AROUND, MOST_ROWS)
    else:
        found = RowPage(await _load_rows_in_order(ctx, dataset, arguments, room), total)
    rows, total = [_format_row(entry) for entry in found.rows], found.total
    page = {
        **_build_empty_page(dataset),
        "rows": rows,
        "total": total,
        "offset": offset,
        "limit": limit,
    }
    if found.more:
        page["more_than_total"] = True
    if after is None:
        reached = offset + len(rows)
        page["next_offset"] = reached if rows and reached < total else None
    else:
        page["offset"] = page["next_offset"] = None
    return page


async def _load_rows_in_order(
    ctx: CallContext, dataset: Dataset, arguments: Mapping[str, Any], room: int
) -> list[Any]:
    every, after = bool(arguments.get("include_deleted", False)), arguments.get("after")
    if after is None:
        start = await _start(ctx, dataset, int(arguments.get("offset", 0)), every=every)
    else:
        start = await _find_start_after(ctx, dataset, UUID(after))
    return await ctx.tx.fetch(
        _PAGE,
        ctx.actor.workspace_id,
        dataset.id,
        start.position,
        start.skip,
        int(arguments.get("limit", MOST_ROWS)),
        room,
        _AROUND,
        every,
    )


async def _start(ctx: CallContext, dataset: Dataset, offset: int, *, every: bool) -> RowPageStart:
    if every or dataset.live == dataset.appended:
        return RowPageStart(offset)
    gap = await ctx.tx.fetchrow(_GAP, ctx.actor.workspace_id, dataset.id, offset, BLOCK)
    if gap is None:
        return RowPageStart(offset)
    rest = offset - int(gap["before"])
    begins = int(gap["block"]) * BLOCK
    live = BLOCK - int(gap["deleted"])
    if rest < live:
        return RowPageStart(begins, rest)
    # Nothing after this block is deleted until well past the offset.
    return RowPageStart(begins + BLOCK + rest - live)


async def _find_start_after(ctx: CallContext, dataset: Dataset, row_id: UUID) -> RowPageStart:
    """Start after a row, which may be deleted by now: its position is kept."""
    row = await ctx.tx.fetchrow(_PLACE, ctx.actor.workspace_id, dataset.id, row_id)
    if row is None:
        raise NotFound(f"There is no row {row_id} in the dataset {dataset.name!r}.", code="no_row")
    return RowPageStart(int(row["position"]) + 1)


def _format_row(entry: Any) -> dict[str, Any]:
    row = {"row_id": str(entry["row_id"]), **entry["data"]}
    row["_src"] = entry["src"]
    row["_updated_at"] = entry["updated_at"].isoformat()
    if entry["deleted_at"] is not None:
        row["_deleted_at"] = entry["deleted_at"].isoformat()
    return row
