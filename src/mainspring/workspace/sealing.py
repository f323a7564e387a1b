"""Encryption of a secret and its associated data.

Workspace, owner, kind, id and name are the associated data: a row copied elsewhere or assigned to
another owner does not decrypt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from cryptography.exceptions import InvalidTag

from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.keyring import MasterKey

SecretKind = Literal["automation", "publisher", "connection"]

_PURPOSE: Final = b"mainspring secret v2\0"
_EARLIER_PURPOSE: Final = b"mainspring secret v1\0"


@dataclass(frozen=True, slots=True)
class SecretScope:
    """A secret scope: a member's, a connection's, or a workspace's publisher secrets."""

    workspace_id: UUID
    owner_id: UUID
    kind: SecretKind = "automation"


def publisher_scope(workspace_id: UUID) -> SecretScope:
    """The scope of a workspace's own secrets."""
    return SecretScope(workspace_id, workspace_id, "publisher")


def connection_scope(workspace_id: UUID, connection_id: UUID) -> SecretScope:
    """The scope of a connection's credentials."""
    return SecretScope(workspace_id, connection_id, "connection")


def build_associated_data(scope: SecretScope, secret_id: UUID, name: str) -> bytes:
    """Encode the associated data. Every field before the name has a fixed length or a
    terminator, so the encoding is unambiguous."""
    ids = scope.workspace_id.bytes + scope.owner_id.bytes + secret_id.bytes
    return _PURPOSE + ids + scope.kind.encode() + b"\0" + name.encode()


def decrypt_secret(
    key: MasterKey, scope: SecretScope, secret_id: UUID, name: str, nonce: bytes, sealed: bytes
) -> str:
    """Decrypt a value; InvalidTag or ValueError when it does not belong here."""
    try:
        return key.decrypt(nonce, sealed, build_associated_data(scope, secret_id, name))
    except InvalidTag:
        # Secrets stored before owners existed belong to the first member.
        if scope.kind != "automation" or scope.owner_id != FIRST_MEMBER:
            raise
        earlier = _EARLIER_PURPOSE + scope.workspace_id.bytes + secret_id.bytes + name.encode()
        return key.decrypt(nonce, sealed, earlier)
