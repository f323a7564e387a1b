"""Board management: create, list, describe, archive, and revert parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import CapabilityHandler
from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import LimitExceeded
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import Unchanged
from mainspring.workspace.boards.datasets import add_first_datasets, revert_columns, store_datasets
from mainspring.workspace.boards.events import publish_change
from mainspring.workspace.boards.lookup import (
    Board,
    as_id,
    check_may_write,
    find_board,
    list_board_datasets,
    open_board,
)
from mainspring.workspace.boards.parts import check_part_name, revert_part
from mainspring.workspace.uninstalled import check_not_uninstalled

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

MOST_BOARDS: Final = 500
DEFAULT_BOARDS: Final = 100

_ADD = """
    INSERT INTO boards (workspace_id, id, name, description, created_by_kind, created_by)
    VALUES ($1, $2, $3, $4, $5, $6)
"""
_COUNT = "SELECT count(*) AS boards FROM boards WHERE workspace_id = $1"
_LIST = """
    SELECT b.id, b.name, b.description, b.created_by_kind, b.created_by, b.created_at,
        greatest(b.updated_at, max(d.updated_at)) AS updated_at, b.archived_at,
        coalesce(jsonb_agg(jsonb_build_object('name', d.name, 'total', d.live) ORDER BY d.id)
            FILTER (WHERE d.id IS NOT NULL), '[]') AS datasets
    FROM (
        SELECT * FROM boards
        WHERE workspace_id = $1 AND ($2 OR archived_at IS NULL) AND ($3::uuid IS NULL OR id > $3)
        ORDER BY id LIMIT $4
    ) AS b
    LEFT JOIN board_datasets d ON d.workspace_id = $1 AND d.board_id = b.id
    GROUP BY b.id, b.name, b.description, b.created_by_kind, b.created_by, b.created_at,
        b.updated_at, b.archived_at
    ORDER BY b.id
"""
_CHANGE = """
    UPDATE boards SET name = $3, description = $4, updated_at = now(),
        archived_at = CASE WHEN $5 THEN coalesce(archived_at, now()) END
    WHERE workspace_id = $1 AND id = $2
"""


def create_handler(limits: Limits) -> CapabilityHandler:
    async def create(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, board_id = ctx.actor.workspace_id, generate_id()
        row = await ctx.tx.fetchrow(_COUNT, space)
        if row["boards"] >= limits.boards:
            raise LimitExceeded(
                f"This workspace has {limits.boards:,} boards already.",
                code="workspace_full",
                retryable=False,
            )
        check_plain_name(arguments["name"])
        await ctx.tx.execute(
            _ADD,
            space,
            board_id,
            arguments["name"],
            arguments.get("description", ""),
            ctx.actor.kind,
            ctx.actor.id,
        )
        board = await find_board(ctx, {"board_id": board_id})
        await add_first_datasets(ctx, board, arguments.get("datasets", []), limits)
        await publish_change(ctx, board, "created")
        return await _describe_board(ctx, board)

    return create


def list_handler() -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        most = int(arguments.get("limit", DEFAULT_BOARDS))
        after = arguments.get("after")
        rows = await ctx.tx.fetch(
            _LIST,
            ctx.actor.workspace_id,
            bool(arguments.get("archived", False)),
            None if after is None else as_id(after),
            most + 1,
        )
        shown = []
        for row in rows[:most]:
            entry = dict(row)
            datasets = entry.pop("datasets")
            shown.append({**Board(**entry).as_dict(), "datasets": datasets})
        return {"boards": shown, "next": shown[-1]["id"] if len(rows) > most else None}

    return listed


def update_handler(limits: Limits, *, recovering: bool = False) -> CapabilityHandler:
    """Change a board; only the recipe installer restores what it removed."""

    async def update(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        if arguments.get("archived") is False:
            board = await find_board(ctx, arguments, hold=True)
            await check_may_write(ctx, board.id)
            if board.archived_at is not None and not recovering:
                await check_not_uninstalled(ctx.tx, ctx.actor.workspace_id, board.id, "board")
        else:
            board = await open_board(ctx, arguments, hold=True)
        changed = await _change(ctx, board, arguments)
        if "datasets" in arguments:
            changed = await store_datasets(ctx, board, arguments["datasets"], limits) or changed
        result = await _describe_board(ctx, await find_board(ctx, {"board_id": board.id}))
        return result if changed else Unchanged(result)

    return update


def archive_handler() -> CapabilityHandler:
    async def archive(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board = await find_board(ctx, arguments, hold=True)
        await check_may_write(ctx, board.id)
        changed = await _change(ctx, board, {"archived": True})
        told = {"board_id": str(board.id), "archived": True}
        return told if changed else Unchanged(told)

    return archive


def revert_handler(limits: Limits) -> CapabilityHandler:
    async def revert(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any] | Unchanged:
        board = await open_board(ctx, arguments, hold=True)
        part, name = arguments["part"], str(arguments.get("name", ""))
        version = int(arguments["version"])
        check_part_name(part, name)
        if part == "columns":
            return await revert_columns(ctx, board, name, version, limits)
        return await revert_part(ctx, board, part, name, version, limits)

    return revert


async def _change(ctx: CallContext, board: Board, wanted: Mapping[str, Any]) -> bool:
    """Change fields of a locked board and publish an event for each kind of change."""
    name = wanted.get("name", board.name)
    description = wanted.get("description", board.description)
    was = board.archived_at is not None
    archived = bool(wanted.get("archived", was))
    if (name, description, archived) == (board.name, board.description, was):
        return False
    if name != board.name:
        check_plain_name(name)
    await ctx.tx.execute(_CHANGE, ctx.actor.workspace_id, board.id, name, description, archived)
    after = await find_board(ctx, {"board_id": board.id})
    if (name, description) != (board.name, board.description):
        await publish_change(ctx, after, "details")
    if archived != was:
        await publish_change(ctx, after, "archived" if archived else "unarchived")
    return True


async def _describe_board(ctx: CallContext, board: Board) -> dict[str, Any]:
    datasets = await list_board_datasets(ctx, board)
    return {
        **board.as_dict(),
        "schema": {"version": 2, "datasets": [one.schema() for one in datasets]},
    }
