"""Whether the codex has taken something away, so that nobody undoes half of that.

What was uninstalled comes back with its board and everything else that went with it, and then
stands among the installs again. Restoring an automation or a board alone would do none of this.
Once the time for recovering is over, restoring by hand is what is left.
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
    """Whether it was uninstalled and can still be recovered."""
    return await tx.fetchrow(_UNINSTALLED, workspace_id, entity_id) is not None


async def check_not_uninstalled(
    tx: Transaction, workspace_id: UUID, entity_id: UUID, what: str = "automation"
) -> None:
    """Refuses to bring back by itself what was uninstalled."""
    if await is_uninstalled(tx, workspace_id, entity_id):
        raise Conflict(
            f"This {what} was uninstalled, and restoring it would undo only half of that.",
            code="uninstalled",
            suggestion="Recover it with recover_recipe, or with "
            f"`mainspring codex recover {entity_id}`.",
        )
