"""Rotation of the master key without downtime.

The new key is stored next to the old one until every row is encrypted with it; only then does it
replace the old one, whose file stays under its id for the owner to destroy. Each batch is its own
transaction, so an interrupted rotation continues where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, InternalError, Invalid, NotFound
from mainspring.store.database import Database
from mainspring.workspace.keyring import (
    Keyring,
    MasterKey,
    MasterKeys,
    create_key,
    delete_key,
    read_key,
    retire_key,
    write_key,
)
from mainspring.workspace.sealing import build_associated_data
from mainspring.workspace.vault import DatabaseRow, get_secret_scope, read

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

BATCH: Final = 200
_ALONE = "SELECT pg_try_advisory_lock(hashtextextended('vault rotation', 0))"
_NOT_ALONE = "SELECT pg_advisory_unlock(hashtextextended('vault rotation', 0))"
_KEEP_KEYS = "SELECT pg_advisory_xact_lock(hashtextextended('vault keys', 0))"
_BEHIND = "SELECT count(*) FROM secrets WHERE key_id <> $1"
_SOME = """
    SELECT workspace_id, kind, owner_id, id, name, nonce, ciphertext, key_id FROM secrets
    WHERE (workspace_id, id) > ($1, $2) AND key_id <> $3
    ORDER BY workspace_id, id LIMIT $4 FOR UPDATE
"""
_RESEAL = """
    UPDATE secrets SET nonce = $3, ciphertext = $4, key_id = $5 WHERE workspace_id = $1 AND id = $2
"""


@dataclass(frozen=True, slots=True)
class RotationResult:
    """The result of a rotation."""

    key_id: str
    resealed: int
    # The file of the key that decrypts nothing any more.
    retired: Path | None = None
    # Whether the key command must be changed to return the new key.
    command_is_behind: bool = False


async def rotate(
    database: Database, keyring: Keyring, new_key_file: Path | None = None, *, batch: int = BATCH
) -> RotationResult:
    """Encrypt every secret with a new key, or continue an interrupted rotation."""
    async with _lock_rotation(database):
        target = await _choose_target_key(database, keyring, new_key_file)
        resealed = await _reseal(database, keyring, target, batch)
        while True:
            async with database.transaction() as tx:
                await tx.execute(_KEEP_KEYS)
                # Another process may have encrypted with the old key until now.
                if await _count(tx, target) == 0:
                    return await _end(keyring, target, resealed)
            resealed += await _reseal(database, keyring, target, batch)


async def _choose_target_key(
    database: Database, keyring: Keyring, new_key_file: Path | None
) -> MasterKey:
    """Choose the key to encrypt with, stored where all processes find it."""
    given = None if new_key_file is None else await asyncio.to_thread(_read_given_key, new_key_file)
    keys = await keyring.keys(anew=True)
    if keys.current is None:
        raise NotFound(
            "There is no master key yet; the first secret makes one.", code="no_master_key"
        )
    if keys.following is not None:
        if given is not None and given.id != keys.following.id:
            raise Conflict(
                "A rotation to another key has begun and is not finished.",
                code="rotation_under_way",
                suggestion="Finish it first: run the command again without a new key.",
            )
        return keys.following
    if given is not None and given.id == keys.current.id:
        raise Invalid("The new key is the one in use.", code="same_master_key")
    if given is None and keyring.command is not None:
        if await _count(database, keys.current):
            return keys.current
        raise Invalid(
            "The master key comes from a command, so the new one must be given.",
            code="new_key_needed",
            suggestion="Name its file with --new-key-file.",
        )
    path = keyring.next_key_file
    if given is not None:
        return await asyncio.to_thread(write_key, path, given)
    return await asyncio.to_thread(create_key, path)


def _read_given_key(path: Path) -> MasterKey:
    key = read_key(path)
    if key is None:
        raise NotFound("There is no file with the new key at that place.", code="no_new_key")
    return key


async def _reseal(database: Database, keyring: Keyring, target: MasterKey, batch: int) -> int:
    """Re-encrypt rows not yet under the key; rows that fail to decrypt are left and reported."""
    keys = await keyring.keys(anew=True)
    after = (UUID(int=0), UUID(int=0))
    done, closed = 0, list[str]()
    while True:
        async with database.transaction() as tx:
            rows = await tx.fetch(_SOME, *after, target.id, batch)
            for row in rows:
                if await _reencrypt_secret(tx, keys, target, row):
                    done += 1
                else:
                    closed.append(str(row["name"]))
        if not rows:
            break
        after = (rows[-1]["workspace_id"], rows[-1]["id"])
    if closed:
        shown = ", ".join(sorted(set(closed))[:10])
        raise Conflict(
            f"{len(closed)} secrets do not open and stay as they are: {shown}. "
            f"{done} others have the new key; both keys are kept.",
            code="secrets_closed",
            suggestion="Set or delete these secrets, then run the rotation again.",
        )
    return done


async def _reencrypt_secret(
    tx: Transaction, keys: MasterKeys, target: MasterKey, row: DatabaseRow
) -> bool:
    scope = get_secret_scope(row)
    try:
        value = read(keys, scope, row)
    except (Conflict, InternalError):
        return False
    nonce, sealed = target.encrypt(value, build_associated_data(scope, row["id"], str(row["name"])))
    await tx.execute(_RESEAL, row["workspace_id"], row["id"], nonce, sealed, target.id)
    return True


async def _end(keyring: Keyring, target: MasterKey, resealed: int) -> RotationResult:
    """Put the new key in place; encryption waits until that is done."""
    path, following = keyring.file, keyring.next_key_file
    if keyring.command is None:
        retired = await asyncio.to_thread(retire_key, path, following)
        return RotationResult(target.id, resealed, retired)
    current = (await keyring.keys(anew=True)).current
    if current is None or current.id != target.id:
        return RotationResult(target.id, resealed, command_is_behind=True)
    await asyncio.to_thread(delete_key, following)
    return RotationResult(target.id, resealed)


async def _count(tx: Transaction | Database, target: MasterKey) -> int:
    row = await tx.fetchrow(_BEHIND, target.id)
    assert row is not None
    return int(row["count"])


@asynccontextmanager
async def _lock_rotation(database: Database) -> AsyncIterator[None]:
    async with database.acquire() as connection:
        if not await connection.fetchval(_ALONE):
            raise Conflict("A rotation is already running.", code="rotation_under_way")
        try:
            yield
        finally:
            await connection.execute(_NOT_ALONE)
