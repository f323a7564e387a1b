"""How one secret is sealed, and what its seal is bound to.

The workspace, the owner, the kind, the secret's id and its name are sealed in as associated
data: a row that was copied to another place, or given to somebody else, does not open.
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
    """Whose secrets: a member's own, a connection's, or those that a workspace publishes with."""

    workspace_id: UUID
    owner_id: UUID
    kind: SecretKind = "automation"


def publisher_scope(workspace_id: UUID) -> SecretScope:
    """The secrets that belong to a workspace itself."""
    return SecretScope(workspace_id, workspace_id, "publisher")


def connection_scope(workspace_id: UUID, connection_id: UUID) -> SecretScope:
    """The secrets by which a connection is let in elsewhere."""
    return SecretScope(workspace_id, connection_id, "connection")


def build_associated_data(scope: SecretScope, secret_id: UUID, name: str) -> bytes:
    """What a seal is bound to. All before the name has a fixed length or an end of its own,
    so no two places have the same spelling."""
    ids = scope.workspace_id.bytes + scope.owner_id.bytes + secret_id.bytes
    return _PURPOSE + ids + scope.kind.encode() + b"\0" + name.encode()


def decrypt_secret(
    key: MasterKey, scope: SecretScope, secret_id: UUID, name: str, nonce: bytes, sealed: bytes
) -> str:
    """The value; InvalidTag or ValueError for a seal that does not belong here."""
    try:
        return key.open(nonce, sealed, build_associated_data(scope, secret_id, name))
    except InvalidTag:
        # Before there were owners every secret was the first member's.
        if scope.kind != "automation" or scope.owner_id != FIRST_MEMBER:
            raise
        earlier = _EARLIER_PURPOSE + scope.workspace_id.bytes + secret_id.bytes + name.encode()
        return key.open(nonce, sealed, earlier)
