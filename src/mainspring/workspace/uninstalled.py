"""Whether the codex has taken an automation away, so that nobody undoes half of that.

What was uninstalled comes back with its board and everything else that went with it, and then
stands among the installs again. Restoring the automation alone would do none of this. Once the
time for recovering is over, restoring by hand is what is left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Clash

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_UNINSTALLED = """
    SELECT name FROM recipe_installs
    WHERE workspace_id = $1 AND entity_id = $2 AND entity_kind = 'automation'
        AND uninstalled_at > now() - interval '7 days'
"""


async def is_uninstalled(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> bool:
    """Whether it was uninstalled and can still be recovered."""
    return await tx.fetchrow(_UNINSTALLED, workspace_id, automation_id) is not None


async def check_not_uninstalled(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Refuses to bring back by itself what was uninstalled."""
    if await is_uninstalled(tx, workspace_id, automation_id):
        raise Clash(
            "This automation was uninstalled, and restoring it would undo only half of that.",
            code="uninstalled",
            suggestion="Recover it with recover_recipe, or with "
            f"`mainspring codex recover {automation_id}`.",
        )
