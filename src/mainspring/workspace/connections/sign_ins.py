"""Somebody who was sent to sign in at a server, from leaving until coming back.

What comes back is told by a state that works once, for ten minutes, for the member who left and
for the connection they left for: whoever else brings it could give their account away, or take
somebody's, and what one server hands out must not come to another. What the exchange needs is
sealed meanwhile.
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
    hash_of_state,
    open_leaving,
    seal_leaving,
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
    """What was kept since somebody left."""

    connection_id: UUID
    kept: Mapping[str, Any]


async def leave(
    tx: Transaction,
    vault: Vault,
    workspace_id: UUID,
    connection_id: UUID,
    member_id: UUID,
    kept: Mapping[str, Any],
) -> str:
    """Remembers that a member left to sign in; answers the state that brings them back.

    Somebody who begins again comes back from the later beginning alone.
    """
    left = await seal_leaving(vault, workspace_id, member_id, kept)
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
    """What was kept for this state, once, for whoever left with it and comes back there."""
    hashed = hash_of_state(state)
    row = await tx.fetchrow(_TAKE, workspace_id, hashed, member_id)
    if row is None or row["connection_id"] != connection_id:
        raise unknown_state_error()
    return McpSignIn(connection_id, await open_leaving(vault, workspace_id, member_id, hashed, row))


async def expire_sign_ins(database: Database, now: datetime) -> int:
    """Forgets whoever left and did not come back in time."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRED, now, most))

    return await delete_in_batches(database, batch)
