"""The encrypted state of a pending OAuth sign-in.

It is looked up by an unguessable state and encrypted for the member who started it: a row assigned
to another member does not decrypt.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import orjson
from cryptography.exceptions import InvalidTag

from mainspring.contracts.errors import Expired, NotFound
from mainspring.workspace.vault import Vault

LIFETIME: Final = timedelta(minutes=10)
_PURPOSE: Final = b"mainspring sign in v1\0"


@dataclass(frozen=True, slots=True)
class SignInState:
    """An OAuth state, and what its row stores."""

    state: str
    hashed: bytes
    nonce: bytes
    sealed: bytes
    key_id: str


async def encrypt_state(
    vault: Vault, workspace_id: UUID, member_id: UUID, kept: Mapping[str, Any]
) -> SignInState:
    """Encrypt what the callback needs."""
    state = secrets.token_urlsafe(32)
    hashed = hash_state(state)
    # This may have to create the first master key.
    await vault.derived_key(_PURPOSE)
    key = (await vault.keyring.keys()).sealing
    assert key is not None
    place = _build_associated_data(workspace_id, member_id, hashed)
    nonce, sealed = key.encrypt(orjson.dumps(dict(kept)).decode(), place)
    return SignInState(state, hashed, nonce, sealed, key.id)


async def decrypt_state(
    vault: Vault, workspace_id: UUID, member_id: UUID, hashed: bytes, row: Any
) -> Mapping[str, Any]:
    """Decrypt the stored state of a consumed row; Expired when it took too long."""
    key = (await vault.keyring.keys()).find(row["key_id"])
    if key is None or not row["in_time"]:
        raise _state_expired_error()
    try:
        place = _build_associated_data(workspace_id, member_id, hashed)
        kept: Mapping[str, Any] = orjson.loads(key.decrypt(row["nonce"], row["verifier"], place))
    except InvalidTag:
        raise _state_expired_error() from None
    return kept


def hash_state(state: str) -> bytes:
    """Hash a state, so that it is found without being stored."""
    return hashlib.sha256(state.encode("utf-8", "replace")).digest()


def unknown_state_error() -> NotFound:
    """The error for an unknown or already used state."""
    return NotFound(
        "This signing in was not begun here by you, or it has been used already.",
        code="sign_in_unknown",
        suggestion="Begin to sign in again, and finish it in the same browser.",
    )


def _state_expired_error() -> Expired:
    return Expired(
        "Signing in took too long.",
        code="sign_in_expired",
        suggestion="Begin to sign in again; there are ten minutes for it.",
    )


def _build_associated_data(workspace_id: UUID, member_id: UUID, hashed: bytes) -> bytes:
    return _PURPOSE + workspace_id.bytes + member_id.bytes + hashed
