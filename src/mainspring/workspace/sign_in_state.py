"""What is kept of somebody who left to sign in elsewhere, until they come back.

It is told by a state that nobody can guess, and sealed for the member who left: in a row that
was given to somebody else it does not open.
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
    """A state that brings somebody back, and what a row keeps meanwhile."""

    state: str
    hashed: bytes
    nonce: bytes
    sealed: bytes
    key_id: str


async def seal_leaving(
    vault: Vault, workspace_id: UUID, member_id: UUID, kept: Mapping[str, Any]
) -> SignInState:
    """Seals what the way back needs."""
    state = secrets.token_urlsafe(32)
    hashed = hash_of_state(state)
    # The first key there is may have to be made for this.
    await vault.derived_key(_PURPOSE)
    key = (await vault.keyring.keys()).sealing
    assert key is not None
    place = _build_associated_data(workspace_id, member_id, hashed)
    nonce, sealed = key.seal(orjson.dumps(dict(kept)).decode(), place)
    return SignInState(state, hashed, nonce, sealed, key.id)


async def open_leaving(
    vault: Vault, workspace_id: UUID, member_id: UUID, hashed: bytes, row: Any
) -> Mapping[str, Any]:
    """What was kept, from a row that was just taken away; Expired when it took too long."""
    key = (await vault.keyring.keys()).named(row["key_id"])
    if key is None or not row["in_time"]:
        raise _state_expired_error()
    try:
        place = _build_associated_data(workspace_id, member_id, hashed)
        kept: Mapping[str, Any] = orjson.loads(key.open(row["nonce"], row["verifier"], place))
    except InvalidTag:
        raise _state_expired_error() from None
    return kept


def hash_of_state(state: str) -> bytes:
    """By which a state is found again without being kept."""
    return hashlib.sha256(state.encode("utf-8", "replace")).digest()


def unknown_state_error() -> NotFound:
    """Nobody left with such a state, or they are back already."""
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
