"""Finding boards and datasets, with the available ones listed in the error.

An id takes precedence over a name. An ambiguous name is an error that lists the boards with their
ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, NotFound, PermissionDenied
from mainspring.contracts.roles import Permission
from mainspring.definition.suggestions import find_nearest

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, CallContext


# A member's role on a board, where a workflow sets one.

# Archived workflows restrict nobody.
_ROLES = """
    SELECT m.role, w.title FROM board_members m JOIN workflows w
        ON w.workspace_id = m.workspace_id AND w.id = m.workflow_id
    WHERE m.workspace_id = $1 AND m.board_id = $2 AND m.user_id = $3 AND w.status <> 'archived'
    ORDER BY w.id
"""


async def check_may_write(ctx: CallContext, board_id: UUID) -> None:
    """Reject writes by members who are observers of this board in its workflows."""
    if ctx.actor.kind == "run" or can_manage_members(ctx.actor):
        return
    rows = await ctx.tx.fetch(_ROLES, ctx.actor.workspace_id, board_id, ctx.actor.id)
    if not rows or any(row["role"] != "viewer" for row in rows):
        return
    raise PermissionDenied(
        f"You observe the workflow {rows[0]['title']!r}, and observers can only view its board.",
        code="board_role_too_small",
        suggestion="Ask an owner of the workflow to make you a contributor.",
    )


async def check_may_bind(ctx: CallContext, board_id: UUID, name: str, maker: UUID) -> None:
    """Reject adding another member's board to a workflow, whose roles would restrict people."""
    if maker == ctx.actor.id or can_manage_members(ctx.actor):
        return
    rows = await ctx.tx.fetch(_ROLES, ctx.actor.workspace_id, board_id, ctx.actor.id)
    if any(row["role"] == "owner" for row in rows):
        return
    detail = f"The board {name!r} was created by another member, and you are not an owner of it."
    raise PermissionDenied(
        detail,
        code="not_board_owner",
        findings=[Finding("/board_id", detail, "not_board_owner")],
        suggestion=(
            "Leave board_id out to create a board, or ask the creator of this one, or an admin "
            "of the workspace."
        ),
    )


def can_manage_members(actor: Actor) -> bool:
    """Report whether a member manages the members of the workspace: admins and owners."""
    return actor.role is not None and actor.role.may(Permission.MEMBERS)


DEFAULT: Final = "default"
MOST_CANDIDATES: Final = 20
_LOOKED_AT: Final = 1_000

_BY_ID = """
    SELECT id, name, description, created_by_kind, created_by, created_at, updated_at, archived_at
    FROM boards WHERE workspace_id = $1 AND id = $2
"""
_HELD = _BY_ID + " FOR NO KEY UPDATE"
_BY_NAME = """
    SELECT id, name, description, created_by_kind, created_by, created_at, updated_at, archived_at
    FROM boards WHERE workspace_id = $1 AND name = $2 AND archived_at IS NULL
    ORDER BY id LIMIT $3
"""
_NAMES = """
    SELECT id, name FROM boards WHERE workspace_id = $1 AND archived_at IS NULL
    ORDER BY id DESC LIMIT $2
"""
_DATASET = """
    SELECT id, name, columns, dedupe_key_field, version, appended, live
    FROM board_datasets WHERE workspace_id = $1 AND board_id = $2 AND name = $3
"""
_DATASET_HELD = _DATASET + " FOR NO KEY UPDATE"
_DATASETS = """
    SELECT id, name, columns, dedupe_key_field, version, appended, live
    FROM board_datasets WHERE workspace_id = $1 AND board_id = $2 ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Board:
    """A board row."""

    id: UUID
    name: str
    description: str
    created_by_kind: str
    created_by: UUID
    created_at: datetime
    updated_at: datetime
    archived_at: datetime | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "name": self.name,
            "description": self.description,
            "created_by": {"kind": self.created_by_kind, "id": str(self.created_by)},
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
            "archived": self.archived_at is not None,
        }


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset of a board."""

    id: UUID
    name: str
    columns: list[dict[str, Any]]
    dedupe_key_field: str | None
    version: int
    appended: int
    live: int

    def schema(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "columns": self.columns,
            "dedupe_key_field": self.dedupe_key_field,
            "version": self.version,
        }


async def find_board(
    ctx: CallContext, arguments: Mapping[str, Any], *, hold: bool = False
) -> Board:
    """Find the board given by ``board_id``, or else by ``name``."""
    space = ctx.actor.workspace_id
    if "board_id" not in arguments:
        return await _find_by_name(ctx, str(arguments["name"]))
    row = await ctx.tx.fetchrow(_HELD if hold else _BY_ID, space, as_id(arguments["board_id"]))
    if row is None:
        raise no_board_error()
    return Board(**dict(row))


async def open_board(
    ctx: CallContext, arguments: Mapping[str, Any], *, hold: bool = False
) -> Board:
    """Find a board for a change: archived boards and observers are rejected."""
    board = await find_board(ctx, arguments, hold=hold)
    await check_may_write(ctx, board.id)
    if board.archived_at is not None:
        raise Conflict(
            f"The board {board.name!r} is archived.",
            code="board_archived",
            suggestion="Bring it back with update_board and archived: false.",
        )
    return board


async def _find_by_name(ctx: CallContext, name: str) -> Board:
    space = ctx.actor.workspace_id
    rows = await ctx.tx.fetch(_BY_NAME, space, name, MOST_CANDIDATES + 1)
    if len(rows) == 1:
        return Board(**dict(rows[0]))
    if not rows:
        raise await _no_board_name_error(ctx, name)
    shown = rows[:MOST_CANDIDATES]
    raise Conflict(
        f"{'More than ' if len(rows) > len(shown) else ''}{len(shown)} boards are called "
        f"{name!r}: {', '.join(str(row['id']) for row in shown)}.",
        code="ambiguous_name",
        suggestion="Name the one you mean by board_id.",
        findings=[
            Finding(
                "/name",
                f"{row['id']}: made {row['created_at']:%Y-%m-%d %H:%M} UTC"
                + (f", {row['description'][:100]}" if row["description"] else ""),
                "candidate",
            )
            for row in shown
        ],
    )


async def _no_board_name_error(ctx: CallContext, name: str) -> NotFound:
    rows = await ctx.tx.fetch(_NAMES, ctx.actor.workspace_id, _LOOKED_AT)
    close = find_nearest(name, list(dict.fromkeys(row["name"] for row in rows)))
    listed = [row for row in rows if close in (None, row["name"])][:MOST_CANDIDATES]
    hint = f"Did you mean {close!r}?" if close else "list_boards shows what there is."
    return NotFound(
        f"There is no board called {name[:200]!r}.",
        code="no_board",
        suggestion=hint,
        findings=[Finding("/name", f"{one['id']}: {one['name']}", "candidate") for one in listed],
    )


def no_board_error() -> NotFound:
    return NotFound(
        "There is no such board.", code="no_board", suggestion="list_boards shows what there is."
    )


def as_id(text: Any) -> UUID:
    """Parse an id; anything else becomes an id that matches nothing."""
    try:
        return UUID(str(text))
    except ValueError:
        raise no_board_error() from None


async def list_board_datasets(ctx: CallContext, board: Board) -> list[Dataset]:
    rows = await ctx.tx.fetch(_DATASETS, ctx.actor.workspace_id, board.id)
    return [Dataset(**dict(row)) for row in rows]


async def lock_dataset(ctx: CallContext, board: Board, name: str) -> Dataset:
    """Lock a dataset until the transaction ends."""
    row = await ctx.tx.fetchrow(_DATASET_HELD, ctx.actor.workspace_id, board.id, name)
    if row is None:
        raise no_dataset_error(
            board, name, [one.name for one in await list_board_datasets(ctx, board)]
        )
    return Dataset(**dict(row))


def no_dataset_error(board: Board, name: str, known: list[str]) -> NotFound:
    close = find_nearest(name, known)
    shown = ", ".join(known[:MOST_CANDIDATES]) or "none"
    detail = f"The board {board.name!r} has no dataset called {name[:200]!r}; it has: {shown}."
    hint = f"Did you mean {close!r}?" if close else None
    return NotFound(
        detail,
        code="no_dataset",
        suggestion=hint,
        findings=[Finding("/dataset", detail, "no_dataset", hint)],
    )
