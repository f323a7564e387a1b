"""Somebody who was sent to sign in at a server, from leaving until coming back.

What comes back is told by a state that works once, for ten minutes, for the member who left and
for the connection they left for: whoever else brings it could give their account away, or take
somebody's, and what one server hands out must not come to another. What the exchange needs is
sealed meanwhile.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag

from mainspring.contracts.errors import Expired, Missing
from mainspring.store.turns import in_batches
from mainspring.workspace.vault import Vault

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

LIFETIME: Final = timedelta(minutes=10)
_PURPOSE: Final = b"mainspring sign in v1\0"
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
class SignIn:
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
    state = secrets.token_urlsafe(32)
    hashed = _hash(state)
    # The first key there is may have to be made for this.
    await vault.derived_key(_PURPOSE)
    key = (await vault.keyring.keys()).sealing
    assert key is not None
    place = _place(workspace_id, member_id, hashed)
    nonce, sealed = key.seal(orjson.dumps(dict(kept)).decode(), place)
    await tx.execute(_TIDY, workspace_id, connection_id, member_id)
    await tx.execute(
        _ADD, workspace_id, hashed, connection_id, member_id, nonce, sealed, key.id, LIFETIME
    )
    return state


async def come_back(
    tx: Transaction,
    vault: Vault,
    workspace_id: UUID,
    member_id: UUID,
    connection_id: UUID,
    state: str,
) -> SignIn:
    """What was kept for this state, once, for whoever left with it and comes back there."""
    hashed = _hash(state)
    row = await tx.fetchrow(_TAKE, workspace_id, hashed, member_id)
    if row is None or row["connection_id"] != connection_id:
        raise Missing(
            "This signing in was not begun here by you, or it has been used already.",
            code="sign_in_unknown",
            suggestion="Begin to sign in again, and finish it in the same browser.",
        )
    key = (await vault.keyring.keys()).named(row["key_id"])
    if key is None or not row["in_time"]:
        raise _too_late()
    try:
        place = _place(workspace_id, member_id, hashed)
        kept = orjson.loads(key.open(row["nonce"], row["verifier"], place))
    except InvalidTag:
        raise _too_late() from None
    return SignIn(connection_id, kept)


async def expire_sign_ins(database: Database, now: datetime) -> int:
    """Forgets whoever left and did not come back in time."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRED, now, most))

    return await in_batches(database, batch)


def _too_late() -> Expired:
    return Expired(
        "Signing in took too long.",
        code="sign_in_expired",
        suggestion="Begin to sign in again; there are ten minutes for it.",
    )


def _hash(state: str) -> bytes:
    return hashlib.sha256(state.encode("utf-8", "replace")).digest()


def _place(workspace_id: UUID, member_id: UUID, hashed: bytes) -> bytes:
    return _PURPOSE + workspace_id.bytes + member_id.bytes + hashed
