"""Pending OAuth sign-ins of members at providers.

The callback is matched by a single-use state that expires after ten minutes and is bound to the
member and the connection.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.store.batch_delete import delete_in_batches
from mainspring.workspace.sign_in_state import (
    LIFETIME,
    decrypt_state,
    encrypt_state,
    hash_state,
    unknown_state_error,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database
    from mainspring.workspace.accounts.rows import AccountRow
    from mainspring.workspace.vault import Vault

# A new sign-in replaces the member's earlier one.
_TIDY = """
    DELETE FROM integration_sign_ins WHERE workspace_id = $1
        AND (expires_at < now() OR (connection_id = $2 AND member_id = $3))
"""
_ADD = """
    INSERT INTO integration_sign_ins
        (workspace_id, state_hash, connection_id, member_id, nonce, verifier, key_id, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8)
"""
_TAKE = """
    DELETE FROM integration_sign_ins
    WHERE workspace_id = $1 AND state_hash = $2 AND member_id = $3
    RETURNING connection_id, nonce, verifier, key_id, expires_at > now() AS in_time
"""
_EXPIRED = """
    DELETE FROM integration_sign_ins WHERE state_hash IN (
        SELECT state_hash FROM integration_sign_ins WHERE expires_at < $1
        LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING state_hash
"""


@dataclass(frozen=True, slots=True)
class AccountSignIn:
    """A pending sign-in with what was stored when it began."""

    connection_id: UUID
    kept: Mapping[str, Any]


async def begin_sign_in(
    tx: Transaction,
    vault: Vault,
    row: AccountRow,
    kept: Mapping[str, Any],
    member_id: UUID | None = None,
) -> str:
    """Store a pending sign-in and return its state.

    The member defaults to the owner of the connection.
    """
    member = member_id or row.owner_id
    left = await encrypt_state(vault, row.workspace_id, member, kept)
    await tx.execute(_TIDY, row.workspace_id, row.id, member)
    await tx.execute(
        _ADD,
        row.workspace_id,
        left.hashed,
        row.id,
        member,
        left.nonce,
        left.sealed,
        left.key_id,
        LIFETIME,
    )
    return left.state


async def redeem_sign_in(
    tx: Transaction, vault: Vault, workspace_id: UUID, member_id: UUID, state: str
) -> AccountSignIn:
    """Consume a state once, for the member who started the sign-in."""
    hashed = hash_state(state)
    row = await tx.fetchrow(_TAKE, workspace_id, hashed, member_id)
    if row is None:
        raise unknown_state_error()
    kept = await decrypt_state(vault, workspace_id, member_id, hashed, row)
    return AccountSignIn(row["connection_id"], kept)


async def expire_account_sign_ins(database: Database, now: datetime) -> int:
    """Delete sign-ins that were not completed in time."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRED, now, most))

    return await delete_in_batches(database, batch)
