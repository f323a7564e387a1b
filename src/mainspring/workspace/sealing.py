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
from mainspring.workspace.master_key import MasterKey

Kind = Literal["automation", "publisher", "connection"]

_PURPOSE: Final = b"mainspring secret v2\0"
_EARLIER_PURPOSE: Final = b"mainspring secret v1\0"


@dataclass(frozen=True, slots=True)
class Drawer:
    """Whose secrets: a member's own, a connection's, or those that a workspace publishes with."""

    workspace_id: UUID
    owner_id: UUID
    kind: Kind = "automation"


def publisher_drawer(workspace_id: UUID) -> Drawer:
    """The secrets that belong to a workspace itself."""
    return Drawer(workspace_id, workspace_id, "publisher")


def connection_drawer(workspace_id: UUID, connection_id: UUID) -> Drawer:
    """The secrets by which a connection is let in elsewhere."""
    return Drawer(workspace_id, connection_id, "connection")


def place(drawer: Drawer, secret_id: UUID, name: str) -> bytes:
    """What a seal is bound to. All before the name has a fixed length or an end of its own,
    so no two places have the same spelling."""
    ids = drawer.workspace_id.bytes + drawer.owner_id.bytes + secret_id.bytes
    return _PURPOSE + ids + drawer.kind.encode() + b"\0" + name.encode()


def opened(
    key: MasterKey, drawer: Drawer, secret_id: UUID, name: str, nonce: bytes, sealed: bytes
) -> str:
    """The value; InvalidTag or ValueError for a seal that does not belong here."""
    try:
        return key.open(nonce, sealed, place(drawer, secret_id, name))
    except InvalidTag:
        # Before there were owners every secret was the first member's.
        if drawer.kind != "automation" or drawer.owner_id != FIRST_MEMBER:
            raise
        earlier = _EARLIER_PURPOSE + drawer.workspace_id.bytes + secret_id.bytes + name.encode()
        return key.open(nonce, sealed, earlier)
