"""The vault: secrets encrypted at rest.

Each value is encrypted with AES-256-GCM under the master key and a fresh nonce, with associated
data (``sealing``). A secret belongs to a member; an automation's runs use the secrets of its owner.
Publisher secrets belong to the workspace and have upper-case names. Credentials of a connection
belong to the connection. Values leave only through ``reveal``, which the gate calls, and ``lend``,
which excludes the secrets of former members.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from cryptography.exceptions import InvalidTag

from mainspring.contracts.errors import Conflict, Finding, InternalError, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database
from mainspring.workspace.automation_resources import check_owner_active
from mainspring.workspace.keyring import Keyring, MasterKey, MasterKeys
from mainspring.workspace.publisher_secrets import (
    PREFIX,
    check_may_publish,
    check_sendable,
    filter_publisher_secrets,
    format_set_hint,
)
from mainspring.workspace.sealing import (
    SecretKind,
    SecretScope,
    build_associated_data,
    connection_scope,
    decrypt_secret,
    publisher_scope,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

__all__ = [
    "SecretKind",
    "SecretScope",
    "StoredSecret",
    "Vault",
    "connection_scope",
    "publisher_scope",
]

MAX_NAME: Final = 64
MAX_DESCRIPTION: Final = 500
NAME_PATTERNS: Final[dict[SecretKind, str]] = {
    "automation": "^[a-z0-9_]+$",
    "publisher": "^[A-Z][A-Z0-9_]*$",
    "connection": "^[a-z0-9_]+$",
}
_NAMES: Final = {
    "automation": re.compile(r"[a-z0-9_]{1,64}"),
    "publisher": re.compile(r"[A-Z][A-Z0-9_]{0,63}"),
    "connection": re.compile(r"[a-z0-9_]{1,64}"),
}
NAMED: Final[dict[SecretKind, str]] = {
    "automation": "A secret's name is 1 to 64 lower-case letters, digits and underscores.",
    "publisher": "A publisher secret's name is 1 to 64 capitals, digits and underscores, "
    "with a capital first.",
    "connection": "What a connection keeps is named by lower-case letters and underscores.",
}


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """A secret's metadata, without its value."""

    id: UUID
    name: str
    description: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class VaultHealth:
    """The result of a vault check."""

    total: int
    # The names of secrets that do not decrypt.
    unreadable: tuple[str, ...] = ()
    # How many secrets a rotation has not reached.
    pending_rotation: int = 0


class DatabaseRow(Protocol):
    """A row as the driver returns it."""

    def __getitem__(self, name: str, /) -> Any: ...


class Vault:
    """Named secrets of members and workspaces."""

    def __init__(
        self, database: Database, key_file: Path, limits: Limits, *, key_command: str | None = None
    ) -> None:
        self._database = database
        self._limits = limits
        self.keyring = Keyring(key_file, key_command)

    async def set(
        self, scope: SecretScope, name: str, value: str, description: str = ""
    ) -> StoredSecret:
        """Encrypt a value under a name, in its own transaction."""
        self._check(scope.kind, name, value, description)
        # Creating the first key needs a connection, so no transaction may be open here.
        await self._sealing_key()
        async with self._database.transaction() as tx:
            return await self.put(tx, scope, name, value, description)

    async def put(
        self,
        tx: Transaction,
        secret_scope: SecretScope,
        name: str,
        value: str,
        description: str = "",
    ) -> StoredSecret:
        """Encrypt a value under a name, replacing an earlier one.

        An omitted description is not changed.
        """
        self._check(secret_scope.kind, name, value, description)
        await tx.execute(HOLD_KEYS)
        await tx.execute(_HOLD_NAME, str(secret_scope.workspace_id), name)
        await _check_case(tx, secret_scope, name)
        key = await self._sealing_key()
        whose = (secret_scope.workspace_id, secret_scope.kind, secret_scope.owner_id)
        found = await tx.fetchrow(_FIND, *whose, name)
        secret_id = found["id"] if found else generate_id()
        nonce, sealed = key.encrypt(value, build_associated_data(secret_scope, secret_id, name))
        row = await tx.fetchrow(
            _CHANGE if found else _ADD,
            *whose,
            name,
            secret_id,
            description,
            nonce,
            sealed,
            key.id,
        )
        return _build_stored_secret(row)

    async def ensure(self, scope: SecretScope, name: str, value: str) -> str:
        """Return the stored value of a name; store this one when there is none.

        Of concurrent callers the first one's value is stored and returned to all.
        """
        self._check(scope.kind, name, value, "")
        await self._sealing_key()
        async with self._database.transaction() as tx:
            await tx.execute(HOLD_KEYS)
            await tx.execute(_HOLD_NAME, str(scope.workspace_id), name)
            whose = (scope.workspace_id, scope.kind, scope.owner_id)
            if await tx.fetchrow(_FIND, *whose, name) is None:
                await self.put(tx, scope, name, value)
        return (await self.reveal(scope, [name]))[name]

    async def names(self, scope: SecretScope) -> tuple[StoredSecret, ...]:
        """List the secrets of a scope by name, without values."""
        async with self._database.acquire() as connection:
            return await list_secrets(connection, scope)

    async def delete(self, scope: SecretScope, name: str) -> bool:
        """Delete a secret; False when there was none of that name."""
        async with self._database.transaction() as tx:
            return await delete_secret(tx, scope, name)

    async def reveal(self, scope: SecretScope, names: Iterable[str]) -> dict[str, str]:
        """Decrypt named secrets; missing ones are reported."""
        wanted = sorted(set(names))
        if not wanted:
            return {}
        rows = await self._rows(scope, wanted)
        keys = await self.keyring.keys()
        if not _are_all_keys_known(rows, keys):
            # A rotation advanced after the keys or the rows were read.
            keys = await self.keyring.keys(anew=True)
            rows = await self._rows(scope, wanted)
        self._check_there(keys)
        return {name: read(keys, scope, rows[name]) for name in wanted}

    async def lend(self, scope: SecretScope, names: Iterable[str]) -> dict[str, str]:
        """Decrypt secrets for work on behalf of their owner, who must be an active member.

        The workspace's secrets are included, under the names that definitions use.
        """
        wanted = frozenset(names)
        if wanted and scope.kind == "automation":
            await check_owner_active(self._database, scope.workspace_id, scope.owner_id)
        ours = filter_publisher_secrets(wanted)
        found = await self.reveal(scope, wanted - {PREFIX + name for name in ours})
        if ours:
            check_sendable(ours)
            await check_may_publish(self._database, scope.workspace_id, scope.owner_id)
            held = await self.reveal(publisher_scope(scope.workspace_id), ours)
            found |= {PREFIX + name: value for name, value in held.items()}
        return found

    async def derived_key(self, purpose: bytes) -> bytes:
        """Derive a signing key; the master key is created if needed."""
        keys = await self.keyring.keys()
        return (keys.current or await self._first_key()).derive(purpose)

    async def check_readable(self) -> None:
        """Fail at startup when there are secrets and the key decrypts none of them."""
        there = False
        async for _, opens in self._tried(await self.keyring.keys(anew=True)):
            if opens:
                return
            there = True
        if there:
            raise InternalError(
                "The master key that is here, if there is one, opens none of the secrets: every "
                "run that needs one would fail on this machine.",
                code="no_secret_opens",
                suggestion="Copy the key file of the machine where they were set to where "
                "MAINSPRING_MASTER_KEY_FILE points, or name a key command.",
                retryable=False,
            )

    async def check_health(self) -> VaultHealth:
        """Decrypt every secret and report which ones fail."""
        keys = await self.keyring.keys(anew=True)
        closed: list[str] = []
        total = behind = 0
        async for row, opens in self._tried(keys):
            total += 1
            behind += keys.sealing is None or row["key_id"] != keys.sealing.id
            if not opens:
                closed.append(str(row["name"]))
        return VaultHealth(total, tuple(closed), behind)

    async def _tried(self, keys: MasterKeys) -> AsyncIterator[tuple[DatabaseRow, bool]]:
        """Yield every secret, and whether it decrypts."""
        after = (UUID(int=0), UUID(int=0))
        while rows := await self._database.fetch(SOME, *after, _AT_ONCE):
            for row in rows:
                try:
                    read(keys, get_secret_scope(row), row)
                except (Conflict, InternalError):
                    yield row, False
                else:
                    yield row, True
            after = (rows[-1]["workspace_id"], rows[-1]["id"])

    async def _rows(self, scope: SecretScope, wanted: list[str]) -> dict[str, DatabaseRow]:
        found = await self._database.fetch(
            _OPEN, scope.workspace_id, scope.kind, scope.owner_id, wanted
        )
        rows: dict[str, DatabaseRow] = {str(row["name"]): row for row in found}
        for name in wanted:
            if name not in rows:
                whose = "publisher secret" if scope.kind == "publisher" else "secret"
                raise NotFound(
                    f"There is no {whose} called {name}.",
                    code="secret_missing",
                    suggestion=format_set_hint(name)
                    if scope.kind == "publisher"
                    else f"Its owner adds it with `mainspring secrets set {name}`.",
                )
        return rows

    def _check(self, kind: SecretKind, name: str, value: str, description: str) -> None:
        if not _NAMES[kind].fullmatch(name):
            raise _invalid_secret_error("name", NAMED[kind])
        try:
            size = len(value.encode())
        except UnicodeEncodeError:
            # The cause would quote the value.
            raise _invalid_secret_error("value", "The value is not valid Unicode text.") from None
        if not 1 <= size <= self._limits.secret_bytes:
            most = self._limits.secret_bytes
            raise _invalid_secret_error("value", f"A secret's value is 1 to {most} bytes long.")
        if len(description) > MAX_DESCRIPTION or "\0" in description:
            raise _invalid_secret_error(
                "description",
                f"A secret's description is at most {MAX_DESCRIPTION} characters of text.",
            )

    async def _sealing_key(self) -> MasterKey:
        return (await self.keyring.keys()).sealing or await self._first_key()

    async def _first_key(self) -> MasterKey:
        """Create the first key, unless secrets exist: a new key would make them unreadable."""
        in_use = await self._database.fetchrow("SELECT 1 AS one FROM secrets LIMIT 1")
        if in_use is None:
            return await self.keyring.create()
        # Another process may just have created the key and its first secret.
        return self._check_there(await self.keyring.keys(anew=True))

    def _check_there(self, keys: MasterKeys) -> MasterKey:
        if keys.current is None:
            raise InternalError(
                "The master key file is missing, and secrets were encrypted with it.",
                code="master_key_missing",
                suggestion="Put the file back where MAINSPRING_MASTER_KEY_FILE points.",
                retryable=False,
            )
        return keys.current


async def list_secrets(tx: Transaction, scope: SecretScope) -> tuple[StoredSecret, ...]:
    """List the metadata of a scope's secrets, by name."""
    rows = await tx.fetch(_LIST, scope.workspace_id, scope.kind, scope.owner_id)
    return tuple(_build_stored_secret(row) for row in rows)


async def delete_secret(tx: Transaction, scope: SecretScope, name: str) -> bool:
    """Delete a secret; False when there was none of that name."""
    whose = (scope.workspace_id, scope.kind, scope.owner_id)
    return await tx.fetchrow(_FORGET, *whose, name) is not None


def get_secret_scope(row: DatabaseRow) -> SecretScope:
    """The secret scope of a row."""
    return SecretScope(row["workspace_id"], row["owner_id"], row["kind"])


def read(keys: MasterKeys, secret_scope: SecretScope, row: DatabaseRow) -> str:
    """Decrypt a row; raises Clash or Fault when that fails."""
    name = str(row["name"])
    key = keys.find(row["key_id"])
    if key is None:
        raise Conflict(
            f"The secret {name} was encrypted with another master key.",
            code="secret_other_key",
            suggestion="Put the earlier key file back, or set the secret again.",
        )
    try:
        return decrypt_secret(key, secret_scope, row["id"], name, row["nonce"], row["ciphertext"])
    except (InvalidTag, ValueError):
        raise InternalError(
            f"The secret {name} was changed outside the vault and does not open.",
            code="secret_damaged",
            suggestion="Set the secret again.",
            retryable=False,
        ) from None


_AT_ONCE: Final = 500
# Encryption takes this lock shared; a rotation finishes under the exclusive one.
HOLD_KEYS: Final = "SELECT pg_advisory_xact_lock_shared(hashtextextended('vault keys', 0))"
_HOLD_NAME = "SELECT pg_advisory_xact_lock(hashtextextended('secret ' || $1 || lower($2), 0))"
_CASE = """
    SELECT name FROM secrets
    WHERE workspace_id = $1 AND kind <> $2 AND kind <> 'connection' AND lower(name) = lower($3)
"""
_MINE = "workspace_id = $1 AND kind = $2 AND owner_id = $3"
_FIND = f"SELECT id FROM secrets WHERE {_MINE} AND name = $4 FOR UPDATE"
_TOLD = "id, name, description, created_at, updated_at"
_ADD = f"""
    INSERT INTO secrets
        (workspace_id, kind, owner_id, name, id, description, nonce, ciphertext, key_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    RETURNING {_TOLD}
"""
_CHANGE = f"""
    UPDATE secrets
    SET description = coalesce(nullif($6, ''), description), nonce = $7, ciphertext = $8,
        key_id = $9, updated_at = now()
    WHERE {_MINE} AND name = $4 AND id = $5
    RETURNING {_TOLD}
"""
_LIST = f"SELECT {_TOLD} FROM secrets WHERE {_MINE} ORDER BY name"
_FORGET = f"DELETE FROM secrets WHERE {_MINE} AND name = $4 RETURNING id"
_SEALED = "workspace_id, kind, owner_id, id, name, nonce, ciphertext, key_id"
_OPEN = f"SELECT {_SEALED} FROM secrets WHERE {_MINE} AND name = ANY($4::text[])"
SOME: Final = f"""
    SELECT {_SEALED} FROM secrets
    WHERE (workspace_id, id) > ($1, $2) ORDER BY workspace_id, id LIMIT $3
"""


async def _check_case(tx: Transaction, scope: SecretScope, name: str) -> None:
    """Reject names that differ only in case, which would be confused.

    Connection credentials are exempt: nobody types their names.
    """
    if scope.kind == "connection":
        return
    other = await tx.fetchrow(_CASE, scope.workspace_id, scope.kind, name)
    if other is not None:
        detail = f"There is a secret called {other['name']} in this workspace already."
        raise Conflict(
            detail,
            code="secret_name_case",
            findings=[Finding("/name", detail, "secret_name_case")],
            suggestion="Choose a name that differs in more than capitals.",
        )


def _are_all_keys_known(rows: dict[str, DatabaseRow], keys: MasterKeys) -> bool:
    return all(keys.find(row["key_id"]) is not None for row in rows.values())


def _build_stored_secret(row: DatabaseRow) -> StoredSecret:
    return StoredSecret(
        row["id"], row["name"], row["description"], row["created_at"], row["updated_at"]
    )


def _invalid_secret_error(field: str, sentence: str) -> Invalid:
    code = f"secret_{field}"
    return Invalid(sentence, code=code, findings=[Finding(f"/{field}", sentence, code)])
