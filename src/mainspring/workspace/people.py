"""People: who they are, and which workspace they mean when they name none."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_FIRST = """
    INSERT INTO users (id, email, name, administrator, default_workspace_id)
    VALUES ($1, 'owner@localhost', 'Owner', true, $2) ON CONFLICT DO NOTHING
"""
_JOIN_FIRST = """
    INSERT INTO members (workspace_id, user_id, role)
    SELECT $2, $1, 'owner' WHERE NOT EXISTS (SELECT FROM members WHERE workspace_id = $2)
    ON CONFLICT DO NOTHING
"""


async def ensure_first_person(tx: Transaction, user_id: UUID, workspace_id: UUID) -> None:
    """Whoever starts an installation owns its first workspace and looks after the rest."""
    await tx.execute(_FIRST, user_id, workspace_id)
    await tx.execute(_JOIN_FIRST, user_id, workspace_id)
