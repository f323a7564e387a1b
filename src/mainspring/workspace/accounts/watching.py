"""The automation that reads from a connection again and again, remembered with it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_REMEMBER = """
    UPDATE integration_connections SET automation_id = $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""


async def remember_watcher(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, automation_id: UUID | None
) -> None:
    """Which automation reads from it now; None: none does."""
    await tx.execute(_REMEMBER, workspace_id, connection_id, automation_id)
