"""Things that could not be read or kept, each with its problem, until they could."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from mainspring.contracts.integration import UnreadableItem

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_RECORD = """
    INSERT INTO ingest_problems (workspace_id, integration, source_ref, connection_id, problem)
    SELECT $1, $2, p.source_ref, $3, p.problem::json
    FROM unnest($4::text[], $5::text[]) AS p(source_ref, problem)
    ON CONFLICT (workspace_id, integration, source_ref) DO UPDATE
    SET problem = EXCLUDED.problem, connection_id = EXCLUDED.connection_id,
        times = ingest_problems.times + 1, last_at = now()
"""
_FORGET = """
    DELETE FROM ingest_problems
    WHERE workspace_id = $1 AND integration = $2 AND source_ref = ANY($3::text[])
"""
_LIST = """
    SELECT integration, source_ref, problem, times, first_at, last_at FROM ingest_problems
    WHERE workspace_id = $1 AND ($2::text IS NULL OR integration = $2)
    ORDER BY last_at DESC, source_ref LIMIT $3
"""


async def record_problems(
    tx: Transaction,
    workspace_id: UUID,
    integration: str,
    connection_id: UUID | None,
    broken: Sequence[UnreadableItem],
) -> None:
    """Keeps each with its problem; one that is known is counted again."""
    if broken:
        refs = [one.source_ref for one in broken]
        problems = [orjson.dumps(one.problem.as_dict()).decode() for one in broken]
        await tx.execute(_RECORD, workspace_id, integration, connection_id, refs, problems)


async def forget_problems(
    tx: Transaction, workspace_id: UUID, integration: str, refs: Sequence[str]
) -> None:
    """These could be read now."""
    if refs:
        await tx.execute(_FORGET, workspace_id, integration, list(refs))


async def list_problems(
    tx: Transaction, workspace_id: UUID, integration: str | None, most: int
) -> list[dict[str, Any]]:
    """The latest first."""
    rows = await tx.fetch(_LIST, workspace_id, integration, most)
    return [
        {
            **dict(row),
            "first_at": row["first_at"].isoformat(),
            "last_at": row["last_at"].isoformat(),
        }
        for row in rows
    ]
