"""The states of an automation: activate, pause, archive, restore, acknowledge.

Each may be asked for again and then changes nothing. An archived automation has given its
name back and starts nothing; its runs under way finish, its history stays, and it can be
restored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.validate import validate
from mainspring.workspace.automations import (
    AutomationStatus,
    check_name,
    hold,
    hold_names,
    no_automation_error,
    set_state,
)
from mainspring.workspace.consents import check_agreed, pause_reason
from mainspring.workspace.inbox import mark_read_about
from mainspring.workspace.leavers import resume_triggers
from mainspring.workspace.missing_parts import check_nothing_missing
from mainspring.workspace.secret_use import check_owner_here, check_secrets_there
from mainspring.workspace.stored_triggers import merge_stored_triggers
from mainspring.workspace.triggers import list_triggers
from mainspring.workspace.uninstalled import check_not_uninstalled

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ACKNOWLEDGE = """
    UPDATE automations SET failures = 0, acknowledged_at = now()
    WHERE workspace_id = $1 AND id = $2 RETURNING state
"""
# A workflow remembers what it set at rest; whoever switches an automation has decided anew.
_FORGET = """
    UPDATE workflow_automations SET resumes = false
    WHERE workspace_id = $1 AND automation_id = $2 AND resumes
"""


async def activate(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    vocabulary: Vocabulary,
    limits: Limits,
    missing: Sequence[Finding] = (),
) -> AutomationStatus:
    """Lets its triggers start runs.

    The definition may be older than this installation, so it is judged once more by what is
    known and allowed today. What waits for a person's consent is not activated by anybody.
    ``missing`` is what ``doubts_here`` found; with some of it no run can succeed.
    """
    row = await hold(tx, workspace_id, automation_id)
    if row["state"] == "active":
        return "active"
    await check_owner_here(tx, workspace_id, row["created_by"])
    await check_agreed(tx, workspace_id, automation_id, row["version"])
    rows = await list_triggers(tx, workspace_id, automation_id)
    document = merge_stored_triggers(row["document"], rows)
    await check_usable(document, automation_id, vocabulary, limits)
    await check_secrets_there(tx, workspace_id, row["created_by"], document, limits)
    check_nothing_missing(document, missing)
    await set_state(tx, workspace_id, automation_id, "active")
    await resume_triggers(tx, workspace_id, automation_id)
    await tx.execute(_FORGET, workspace_id, automation_id)
    return "active"


async def check_usable(
    document: object, automation_id: UUID, vocabulary: Vocabulary, limits: Limits
) -> None:
    """Refuses a stored definition that does not fit this installation any more."""
    report = await asyncio.to_thread(
        validate, document, vocabulary, limits, automation_id=str(automation_id)
    )
    if not report.ok:
        count = len(report.findings)
        things = "one problem" if count == 1 else f"{count} problems"
        raise Conflict(
            f"The stored definition does not fit this installation any more: it has {things}.",
            code="definition_unusable",
            findings=report.findings,
            suggestion="Save a definition without them.",
        )


async def pause(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """Nothing starts it once this is answered; a person still can, by hand."""
    row = await hold(tx, workspace_id, automation_id)
    if row["state"] != "paused":
        await set_state(tx, workspace_id, automation_id, "paused")
    await tx.execute(_FORGET, workspace_id, automation_id)
    return "paused"


async def archive(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """Puts it away: nothing starts it, and its name is free."""
    row = await hold(tx, workspace_id, automation_id, archived=True)
    if row["state"] != "archived":
        await set_state(tx, workspace_id, automation_id, "archived")
    return "archived"


async def restore(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, *, recovering: bool = False
) -> AutomationStatus:
    """Brings an archived automation back, paused, if its name is still free.

    What was uninstalled is brought back by the codex alone, which says that it is ``recovering``.
    """
    await hold_names(tx, workspace_id)
    row = await hold(tx, workspace_id, automation_id, archived=True)
    if row["state"] != "archived":
        state: AutomationStatus = row["state"]
        return state
    if not recovering:
        await check_not_uninstalled(tx, workspace_id, automation_id)
    await check_name(tx, workspace_id, row["name"], automation_id)
    reason = await pause_reason(tx, workspace_id, automation_id, row["version"])
    await set_state(tx, workspace_id, automation_id, "paused", reason)
    return "paused"


async def acknowledge(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """A person knows what went wrong so far: the failures in a row are counted anew, and the
    alerts about it are read. It does not activate.
    """
    row = await tx.fetchrow(_ACKNOWLEDGE, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    await mark_read_about(tx, workspace_id, automation_id)
    state: AutomationStatus = row["state"]
    return state
