"""One trigger: looked at, turned on, turned off.

The table is the truth while automations run; the next definition that is saved says anew
which of its triggers are on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.workspace.consent_rows import remove_trigger_from_consent
from mainspring.workspace.triggers import arm, hold_triggers, list_triggers

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_EXISTS = "SELECT 1 AS one FROM automations WHERE workspace_id = $1 AND id = $2"
_STATE = "SELECT state FROM automations WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE"
_SWITCH = """
    UPDATE triggers SET enabled = $4
    WHERE workspace_id = $1 AND automation_id = $2 AND slug = $3 RETURNING id
"""


async def read_triggers(
    tx: Transaction, workspace_id: UUID, automation_id: UUID
) -> list[dict[str, Any]]:
    """The triggers of an automation that is there."""
    if await tx.fetchrow(_EXISTS, workspace_id, automation_id) is None:
        raise NotFound("There is no such automation.", code="no_automation")
    return await list_triggers(tx, workspace_id, automation_id)


async def read_trigger(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str
) -> dict[str, Any]:
    """One trigger by its slug."""
    found = await read_triggers(tx, workspace_id, automation_id)
    for trigger in found:
        if trigger["slug"] == slug:
            return trigger
    raise _no_trigger_error()


async def switch(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, slug: str, *, enabled: bool
) -> None:
    """Turns a trigger on or off; it is armed or at rest when this commits."""
    row = await tx.fetchrow(_STATE, workspace_id, automation_id)
    if row is None:
        raise NotFound("There is no such automation.", code="no_automation")
    await hold_triggers(tx, [(workspace_id, automation_id)])
    if await tx.fetchrow(_SWITCH, workspace_id, automation_id, slug, enabled) is None:
        raise _no_trigger_error()
    if not enabled:
        await remove_trigger_from_consent(tx, workspace_id, automation_id, slug)
    await arm(tx, workspace_id, automation_id, active=row["state"] == "active")


def _no_trigger_error() -> NotFound:
    return NotFound("This automation has no such trigger.", code="no_trigger")
