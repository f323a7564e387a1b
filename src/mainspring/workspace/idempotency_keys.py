"""Idempotency keys of saves: a client repeats a request whose response it did not get.

The same key of the same member finds the automation it created; with another body it is a client
error. Keys expire after a month.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_FIND = """
    SELECT k.automation_id, k.body_hash, a.state FROM save_keys k
    JOIN automations a ON a.workspace_id = k.workspace_id AND a.id = k.automation_id
    WHERE k.workspace_id = $1 AND k.member_id = $2 AND k.key = $3
      AND k.at > now() - interval '30 days'
"""
_FORGET = """
    DELETE FROM save_keys
    WHERE workspace_id = $1 AND member_id = $2 AND at <= now() - interval '30 days'
"""
_KEEP = """
    INSERT INTO save_keys (workspace_id, member_id, key, body_hash, automation_id)
    VALUES ($1, $2, $3, $4, $5)
"""


async def find_saved_automation(
    tx: Transaction, workspace_id: UUID, member_id: UUID, key: str, body_hash: bytes
) -> UUID | None:
    """Find the automation that a save with this key created; the names are locked."""
    row = await tx.fetchrow(_FIND, workspace_id, member_id, key)
    if row is None:
        return None
    if row["body_hash"] != body_hash:
        detail = "This idempotency key was used before with another body."
        raise Invalid(
            detail,
            code="idempotency_mismatch",
            findings=[Finding("/idempotency_key", detail, "idempotency_mismatch")],
            suggestion="Use a new key for a new automation, and update_automation for a change.",
        )
    if row["state"] == "archived":
        raise Conflict(
            "The automation that this idempotency key created was archived since.",
            code="archived",
            suggestion="Use a new key to make another one.",
        )
    made: UUID = row["automation_id"]
    return made


async def store_save_key(
    tx: Transaction,
    workspace_id: UUID,
    member_id: UUID,
    key: str,
    body_hash: bytes,
    automation_id: UUID,
) -> None:
    """Store what a key created, in the transaction that created it."""
    await tx.execute(_FORGET, workspace_id, member_id)
    await tx.execute(_KEEP, workspace_id, member_id, key, body_hash, automation_id)
