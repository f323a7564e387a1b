"""The vault: where secrets sleep, sealed, until the door needs one.

Each value is sealed with AES-256-GCM under the master key and a fresh nonce. The
workspace, the secret's id and its name are sealed in as associated data, so a row that
was copied into another workspace, under another id or under another name does not open.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

from cryptography.exceptions import InvalidTag

from mainspring.contracts.errors import Clash, Fault, Invalid, Missing
from mainspring.contracts.ids import new_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database
from mainspring.workspace.master_key import MasterKey, create_key, read_key

MAX_DESCRIPTION = 500
_NAME = re.compile(r"[a-z0-9_]{1,64}")
_PURPOSE = b"mainspring secret v1\0"


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """What may be told about a secret: everything but its value."""

    id: UUID
    name: str
    description: str
    created_at: datetime
    updated_at: datetime


class _Row(Protocol):
    """A row as the driver hands it out."""

    def __getitem__(self, name: str, /) -> Any: ...


class Vault:
    """Named secrets of each workspace."""

    def __init__(self, database: Database, key_file: Path, limits: Limits) -> None:
        self._database = database
        self._key_file = key_file
        self._limits = limits
        self._key: MasterKey | None = None

    async def set(
        self, workspace_id: UUID, name: str, value: str, description: str = ""
    ) -> StoredSecret:
        """Seals a value under a name; a second value under one name takes its place.

        A description that is not given leaves the one that is there.
        """
        self._check(name, value, description)
        key = await self._known_key(may_create=True)
        while True:
            async with self._database.transaction() as tx:
                found = await tx.fetchrow(_FIND, workspace_id, name)
                secret_id = found["id"] if found else new_id()
                nonce, sealed = key.seal(value, _place(workspace_id, secret_id, name))
                row = await tx.fetchrow(
                    _CHANGE if found else _ADD,
                    workspace_id, secret_id, name, description, nonce, sealed, key.id,
                )  # fmt: skip
            # None: somebody else added the name in the meantime; then it is changed.
            if row is not None:
                return _stored(row)

    async def names(self, workspace_id: UUID) -> tuple[StoredSecret, ...]:
        """All secrets of a workspace by name, never with their values."""
        rows = await self._database.fetch(_LIST, workspace_id)
        return tuple(_stored(row) for row in rows)

    async def delete(self, workspace_id: UUID, name: str) -> bool:
        """Forgets a secret; False when there was none of that name."""
        return await self._database.fetchrow(_FORGET, workspace_id, name) is not None

    async def reveal(self, workspace_id: UUID, names: Iterable[str]) -> dict[str, str]:
        """The values of named secrets; one that is absent is named."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        rows = await self._database.fetch(_OPEN, workspace_id, wanted)
        found = {str(row["name"]): row for row in rows}
        for name in wanted:
            if name not in found:
                raise Missing(
                    f"There is no secret called {name}.",
                    code="secret_missing",
                    suggestion=f"Add {name} to the vault of this workspace.",
                )
        key = await self._known_key(may_create=False)
        return {name: _opened(key, workspace_id, found[name]) for name in wanted}

    async def derived_key(self, purpose: bytes) -> bytes:
        """A key of its own for something that is signed; the master key is made if need be."""
        return (await self._known_key(may_create=True)).derived(purpose)

    def _check(self, name: str, value: str, description: str) -> None:
        if not _NAME.fullmatch(name):
            raise Invalid(
                "A secret's name is 1 to 64 lower-case letters, digits and underscores.",
                code="secret_name",
            )
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            # The cause would quote the value.
            raise Invalid("The value is not valid Unicode text.", code="secret_value") from None
        if not 1 <= size <= self._limits.secret_bytes:
            raise Invalid(
                f"A secret's value is 1 to {self._limits.secret_bytes} bytes long.",
                code="secret_value",
            )
        if len(description) > MAX_DESCRIPTION or "\0" in description:
            raise Invalid(
                f"A secret's description is at most {MAX_DESCRIPTION} characters of text.",
                code="secret_description",
            )

    async def _known_key(self, *, may_create: bool) -> MasterKey:
        if self._key is None:
            key = await asyncio.to_thread(read_key, self._key_file)
            self._key = key or await self._first_key(may_create=may_create)
        return self._key

    async def _first_key(self, *, may_create: bool) -> MasterKey:
        """A new key, unless there are secrets already: it would make them unreadable."""
        in_use = await self._database.fetchrow("SELECT 1 AS one FROM secrets LIMIT 1")
        if in_use is None and may_create:
            return await asyncio.to_thread(create_key, self._key_file)
        # Somebody else may have made the key and its first secret a moment ago.
        key = await asyncio.to_thread(read_key, self._key_file)
        if key is None:
            raise Fault(
                "The master key file is missing, and secrets were sealed with it.",
                code="master_key_missing",
                suggestion="Put the file back where MAINSPRING_MASTER_KEY_FILE points.",
                retryable=False,
            )
        return key


_FIND = "SELECT id FROM secrets WHERE workspace_id = $1 AND name = $2 FOR UPDATE"
_TOLD = "id, name, description, created_at, updated_at"
_ADD = f"""
    INSERT INTO secrets (workspace_id, id, name, description, nonce, ciphertext, key_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (workspace_id, name) DO NOTHING
    RETURNING {_TOLD}
"""
_CHANGE = f"""
    UPDATE secrets
    SET description = coalesce(nullif($4, ''), description), nonce = $5, ciphertext = $6,
        key_id = $7, updated_at = now()
    WHERE workspace_id = $1 AND id = $2 AND name = $3
    RETURNING {_TOLD}
"""
_LIST = f"SELECT {_TOLD} FROM secrets WHERE workspace_id = $1 ORDER BY name"
_FORGET = "DELETE FROM secrets WHERE workspace_id = $1 AND name = $2 RETURNING id"
_OPEN = """
    SELECT id, name, nonce, ciphertext, key_id FROM secrets
    WHERE workspace_id = $1 AND name = ANY($2::text[])
"""


def _place(workspace_id: UUID, secret_id: UUID, name: str) -> bytes:
    # Both ids have a fixed length, so no two places have the same spelling.
    return _PURPOSE + workspace_id.bytes + secret_id.bytes + name.encode()


def _stored(row: _Row) -> StoredSecret:
    return StoredSecret(
        row["id"], row["name"], row["description"], row["created_at"], row["updated_at"]
    )


def _opened(key: MasterKey, workspace_id: UUID, row: _Row) -> str:
    name = str(row["name"])
    if row["key_id"] != key.id:
        raise Clash(
            f"The secret {name} was sealed with another master key.",
            code="secret_other_key",
            suggestion="Put the earlier key file back, or set the secret again.",
        )
    try:
        return key.open(row["nonce"], row["ciphertext"], _place(workspace_id, row["id"], name))
    except (InvalidTag, ValueError):
        raise Fault(
            f"The secret {name} was changed outside the vault and does not open.",
            code="secret_damaged",
            suggestion="Set the secret again.",
            retryable=False,
        ) from None
