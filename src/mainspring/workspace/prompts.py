"""Saved prompts of a workspace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import LimitExceeded, NotFound
from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

MOST_PROMPTS: Final = 500
_COUNT = "SELECT count(*) AS kept FROM saved_prompts WHERE workspace_id = $1 AND name <> $2"
_KEEP = """
    INSERT INTO saved_prompts (workspace_id, id, name, text, created_by)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (workspace_id, name) DO UPDATE SET text = excluded.text, updated_at = now()
    RETURNING id, name, text, created_at, updated_at
"""
_LIST = """
    SELECT id, name, text, created_at, updated_at FROM saved_prompts
    WHERE workspace_id = $1 ORDER BY name LIMIT $2
"""
_FORGET = "DELETE FROM saved_prompts WHERE workspace_id = $1 AND id = $2 RETURNING id"


async def save_prompt(
    tx: Transaction, workspace_id: UUID, author: UUID, name: str, text: str
) -> dict[str, Any]:
    """Save a prompt under a name, replacing an earlier one."""
    check_plain_name(name)
    row = await tx.fetchrow(_COUNT, workspace_id, name)
    if row["kept"] >= MOST_PROMPTS:
        raise LimitExceeded(
            f"{MOST_PROMPTS} requests are stored already.",
            code="too_many_prompts",
            suggestion="Delete one of them first.",
        )
    return dict(await tx.fetchrow(_KEEP, workspace_id, generate_id(), name, text, author))


async def list_prompts(tx: Transaction, workspace_id: UUID) -> list[dict[str, Any]]:
    """List all saved prompts by name."""
    return [dict(row) for row in await tx.fetch(_LIST, workspace_id, MOST_PROMPTS)]


async def delete_prompt(tx: Transaction, workspace_id: UUID, prompt_id: UUID) -> None:
    if await tx.fetchrow(_FORGET, workspace_id, prompt_id) is None:
        raise NotFound("There is no such stored request.", code="no_prompt")
