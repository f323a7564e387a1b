"""Guards against partially undoing an uninstall.

Recovering an install restores its board and everything else that was removed with it. Restoring an
automation or board alone would not. After the recovery period, restoring single resources is
allowed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Conflict

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_UNINSTALLED = """
    SELECT name FROM recipe_installs
    WHERE workspace_id = $1 AND entity_id = $2
        AND uninstalled_at > now() - interval '7 days'
"""


async def is_uninstalled(tx: Transaction, workspace_id: UUID, entity_id: UUID) -> bool:
    """Report whether it was uninstalled and can still be recovered."""
    return await tx.fetchrow(_UNINSTALLED, workspace_id, entity_id) is not None


async def check_not_uninstalled(
    tx: Transaction, workspace_id: UUID, entity_id: UUID, what: str = "automation"
) -> None:
    """Reject restoring an uninstalled resource on its own."""
    if await is_uninstalled(tx, workspace_id, entity_id):
        raise Conflict(
            f"This {what} was uninstalled, and restoring it would undo only half of that.",
            code="uninstalled",
            suggestion="Recover it with recover_recipe, or with "
            f"`mainspring codex recover {entity_id}`.",
        )
