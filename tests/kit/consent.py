"""A person of the test who agrees: to all that waits, by its digest, as anybody would."""

from __future__ import annotations

from uuid import UUID

from mainspring.contracts.context import Transaction
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.consent_rows import AutomationConsent, list_consents
from mainspring.workspace.consents import answer_consent


async def agree_to_all(
    database: Database, workspace_id: UUID, member: UUID = FIRST_MEMBER
) -> list[AutomationConsent]:
    """Agrees to whatever waits in a workspace; answers what that was."""
    async with database.transaction() as tx:
        return await agree_within(tx, workspace_id, member)


async def agree_within(
    tx: Transaction, workspace_id: UUID, member: UUID = FIRST_MEMBER
) -> list[AutomationConsent]:
    """The same in a transaction of the test's own."""
    waiting = await list_consents(tx, workspace_id, "waiting")
    for one in waiting:
        await answer_consent(tx, workspace_id, one.id, one.digest.hex(), member, agree=True)
    return waiting
