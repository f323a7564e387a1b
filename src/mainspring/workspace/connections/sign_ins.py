"""Pending OAuth sign-ins at MCP servers.

The callback is matched by a single-use state that expires after ten minutes and is bound to the
member and the connection. Otherwise an attacker could link their own account or take over
another's, and a code from one server could be sent to another (mix-up attack). The PKCE verifier is
encrypted at rest.
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
from mainspring.workspace.vault import Vault

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

_TIDY = """
    DELETE FROM mcp_sign_ins WHERE workspace_id = $1
        AND (expires_at < now() OR (connection_id = $2 AND member_id = $3))
"""
_ADD = """
    INSERT INTO mcp_sign_ins
        (workspace_id, state_hash, connection_id, member_id, nonce, verifier, key_id, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8)
"""
_TAKE = """
    DELETE FROM mcp_sign_ins WHERE workspace_id = $1 AND state_hash = $2 AND member_id = $3
    RETURNING connection_id, nonce, verifier, key_id, expires_at > now() AS in_time
"""
_EXPIRED = """
    DELETE FROM mcp_sign_ins WHERE state_hash IN (
        SELECT state_hash FROM mcp_sign_ins WHERE expires_at < $1
        LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING state_hash
"""


@dataclass(frozen=True, slots=True)
class McpSignIn:
    """A pending sign-in with what was stored when it began."""

    connection_id: UUID
    kept: Mapping[str, Any]


async def begin_sign_in(
    tx: Transaction,
    vault: Vault,
    workspace_id: UUID,
    connection_id: UUID,
    member_id: UUID,
    kept: Mapping[str, Any],
) -> str:
    """Store a pending sign-in and return its state.

    A new sign-in replaces the member's earlier one.
    """
    left = await encrypt_state(vault, workspace_id, member_id, kept)
    await tx.execute(_TIDY, workspace_id, connection_id, member_id)
    await tx.execute(
        _ADD,
        workspace_id,
        left.hashed,
        connection_id,
        member_id,
        left.nonce,
        left.sealed,
        left.key_id,
        LIFETIME,
    )
    return left.state


async def redeem_sign_in(
    tx: Transaction,
    vault: Vault,
    workspace_id: UUID,
    member_id: UUID,
    connection_id: UUID,
    state: str,
) -> McpSignIn:
    """Consume a state once, for the member and connection that started the sign-in."""
    hashed = hash_state(state)
    row = await tx.fetchrow(_TAKE, workspace_id, hashed, member_id)
    if row is None or row["connection_id"] != connection_id:
        raise unknown_state_error()
    return McpSignIn(
        connection_id, await decrypt_state(vault, workspace_id, member_id, hashed, row)
    )


async def expire_sign_ins(database: Database, now: datetime) -> int:
    """Delete sign-ins that were not completed in time."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRED, now, most))

    return await delete_in_batches(database, batch)
