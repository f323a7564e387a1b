"""What the parts of a board were before: kept with each change, listed, and brought back.

Nothing is ever taken out of the middle: an earlier version comes back as a new one. The
oldest are forgotten when there are more than the limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.contracts.limits import Limits

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_LAST = """
    SELECT coalesce(max(version), 0) AS version FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4
"""
_ADD = """
    INSERT INTO board_versions (workspace_id, board_id, part, name, version, content, revert_of,
        by_kind, by_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_FORGET = """
    DELETE FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4 AND version <= $5
"""
_LIST = """
    SELECT part, name, version, content IS NULL AS removed, revert_of, by_kind, by_id, created_at
    FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND ($3::text IS NULL OR part = $3)
      AND ($4::text IS NULL OR name = $4)
    ORDER BY created_at DESC, part, name, version DESC LIMIT $5
"""
_ONE_VERSION = """
    SELECT content FROM board_versions
    WHERE workspace_id = $1 AND board_id = $2 AND part = $3 AND name = $4 AND version = $5
"""


async def add_version(
    ctx: CallContext,
    board_id: UUID,
    place: tuple[str, str],
    content: dict[str, Any] | None,
    limits: Limits,
    revert_of: int | None = None,
) -> int:
    """Keeps what a part is from now on; its board or dataset is held. Answers the number."""
    where = (ctx.actor.workspace_id, board_id, *place)
    row = await ctx.tx.fetchrow(_LAST, *where)
    version = int(row["version"]) + 1
    await ctx.tx.execute(_ADD, *where, version, content, revert_of, ctx.actor.kind, ctx.actor.id)
    if version > limits.board_versions:
        await ctx.tx.execute(_FORGET, *where, version - limits.board_versions)
    return version


async def read_version(
    ctx: CallContext, board_id: UUID, place: tuple[str, str], version: int
) -> dict[str, Any] | None:
    """What a part was; None for a version in which it was taken away."""
    row = await ctx.tx.fetchrow(_ONE_VERSION, ctx.actor.workspace_id, board_id, *place, version)
    if row is None:
        part, name = place
        of = f"{part} {name!r}" if name else part
        raise NotFound(
            f"There is no version {version} of the {of}.",
            code="no_version",
            suggestion="list_board_versions shows what is kept.",
        )
    found: dict[str, Any] | None = row["content"]
    return found


async def list_versions(
    ctx: CallContext, board_id: UUID, part: str | None, name: str | None, most: int
) -> list[dict[str, Any]]:
    """The newest versions first."""
    rows = await ctx.tx.fetch(_LIST, ctx.actor.workspace_id, board_id, part, name, most)
    return [
        {
            "part": row["part"],
            "name": row["name"],
            "version": row["version"],
            "removed": row["removed"],
            "revert_of": row["revert_of"],
            "by": {"kind": row["by_kind"], "id": str(row["by_id"])},
            "created_at": row["created_at"].isoformat(),
        }
        for row in rows
    ]
