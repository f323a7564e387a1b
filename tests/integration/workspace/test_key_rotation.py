"""A new master key: for every secret, while others read and write, and after any crash."""

from __future__ import annotations

import asyncio
import base64
import os
import sys
from pathlib import Path
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.errors import Conflict, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.key_rotation import rotate
from mainspring.workspace.keyring import MasterKey, create_key, read_key
from mainspring.workspace.vault import SecretScope, Vault, publisher_scope

LIMITS = Limits()


@pytest_asyncio.fixture
async def workspace_id(database: Database) -> UUID:
    made = generate_id()
    await database.execute("INSERT INTO workspaces (workspace_id, name) VALUES ($1, 'test')", made)
    return made


async def _fill(
    vault: Vault, workspace_id: UUID, count: int = 12
) -> dict[SecretScope, dict[str, str]]:
    """Secrets of two members and of the workspace."""
    mine, theirs = SecretScope(workspace_id, FIRST_MEMBER), SecretScope(workspace_id, generate_id())
    kept = {
        mine: {f"key_{number}": f"value {number}" for number in range(count)},
        theirs: {"key_1": "another's"},
        publisher_scope(workspace_id): {"PUBLISHED": "the workspace's"},
    }
    for secret_scope, values in kept.items():
        for name, value in values.items():
            await vault.set(secret_scope, name, value)
    return kept


async def _check_all(vault: Vault, kept: dict[SecretScope, dict[str, str]]) -> None:
    for secret_scope, values in kept.items():
        assert await vault.reveal(secret_scope, values) == values


async def test_every_secret_gets_the_new_key_and_the_old_one_is_put_aside(
    database: Database, workspace_id: UUID, tmp_path: Path
) -> None:
    path = tmp_path / "master.key"
    vault, other_process = Vault(database, path, LIMITS), Vault(database, path, LIMITS)
    kept = await _fill(vault, workspace_id)
    await _check_all(other_process, kept)
    before = read_key(path)
    assert before is not None
    links = await vault.derived_key(b"links")

    done = await rotate(database, vault.keyring, batch=5)

    after = read_key(path)
    assert after is not None
    assert after.id == done.key_id != before.id
    assert done.resealed == 14
    assert done.retired == tmp_path / f"master.key.{before.id}"
    assert read_key(done.retired) == before
    assert sorted(os.listdir(tmp_path)) == ["master.key", done.retired.name]
    assert {row["key_id"] for row in await database.fetch("SELECT key_id FROM secrets")} == {
        after.id
    }
    # Nobody was reported, and everybody goes along: also with the old file destroyed.
    done.retired.unlink()
    await _check_all(other_process, kept)
    await other_process.set(SecretScope(workspace_id, FIRST_MEMBER), "later", "v")
    assert (await Vault(database, path, LIMITS).check_health()).unreadable == ()
    assert await other_process.derived_key(b"links") != links


async def test_a_rotation_that_broke_off_goes_on_where_it_was(
    database: Database, workspace_id: UUID, tmp_path: Path
) -> None:
    vault = Vault(database, tmp_path / "master.key", LIMITS)
    kept = await _fill(vault, workspace_id)
    following = create_key(vault.keyring.next_key_file)
    damaged = "UPDATE secrets SET ciphertext = '\\x00' WHERE name = 'key_11'"
    sound = await database.fetchval("SELECT ciphertext FROM secrets WHERE name = 'key_11'")
    await database.execute(damaged)

    # It stops for what does not open; the rest is done, and both keys are kept.
    with pytest.raises(Conflict, match="key_11") as refused:
        await rotate(database, vault.keyring, batch=7)
    assert refused.value.code == "secrets_closed"
    assert vault.keyring.next_key_file.exists()
    condition = await vault.check_health()
    assert (condition.total, condition.unreadable, condition.pending_rotation) == (
        14,
        ("key_11",),
        1,
    )
    ours = {
        secret_scope: {n: v for n, v in values.items() if n != "key_11"}
        for secret_scope, values in kept.items()
    }
    await _check_all(Vault(database, vault.keyring.file, LIMITS), ours)

    await database.execute("UPDATE secrets SET ciphertext = $1 WHERE name = 'key_11'", sound)
    done = await rotate(database, vault.keyring)

    assert (done.key_id, done.resealed) == (following.id, 1)
    await _check_all(Vault(database, vault.keyring.file, LIMITS), kept)


async def test_nobody_notices_a_rotation_while_reading_and_writing(
    database: Database, workspace_id: UUID, tmp_path: Path
) -> None:
    path = tmp_path / "master.key"
    kept = await _fill(Vault(database, path, LIMITS), workspace_id, 40)
    mine = SecretScope(workspace_id, FIRST_MEMBER)
    over = asyncio.Event()
    written: dict[str, str] = {}

    async def read_on(vault: Vault) -> int:
        count = 0
        while not over.is_set():
            await _check_all(vault, kept)
            count += 1
        return count

    async def write_on(vault: Vault, letter: str) -> int:
        count = 0
        while not over.is_set():
            name, value = f"new_{letter}_{count % 3}", f"{letter} {count}"
            await vault.set(mine, name, value)
            written[name] = value
            count += 1
        return count

    busy = [
        asyncio.create_task(work)
        for work in (
            read_on(Vault(database, path, LIMITS)),
            write_on(Vault(database, path, LIMITS), "a"),
            write_on(Vault(database, path, LIMITS), "b"),
        )
    ]
    try:
        for _ in range(3):
            await rotate(database, Vault(database, path, LIMITS).keyring, batch=7)
    finally:
        over.set()
    assert min(await asyncio.gather(*busy)) > 0

    fresh = Vault(database, path, LIMITS)
    assert await fresh.reveal(mine, written) == written
    condition = await fresh.check_health()
    assert (condition.unreadable, condition.pending_rotation) == ((), 0)


async def test_only_one_rotation_at_a_time_and_none_without_a_key(
    database: Database, workspace_id: UUID, tmp_path: Path
) -> None:
    vault = Vault(database, tmp_path / "master.key", LIMITS)
    with pytest.raises(NotFound):
        await rotate(database, vault.keyring)
    await _fill(vault, workspace_id, 2)
    async with database.acquire() as connection:
        await connection.execute("SELECT pg_advisory_lock(hashtextextended('vault rotation', 0))")
        with pytest.raises(Conflict, match="already running"):
            await rotate(database, vault.keyring)
        await connection.execute("SELECT pg_advisory_unlock_all()")
    with pytest.raises(NotFound):
        await rotate(database, vault.keyring, tmp_path / "nowhere")
    with pytest.raises(Invalid):
        await rotate(database, vault.keyring, vault.keyring.file)


async def test_a_key_that_a_command_keeps_is_rotated_by_giving_the_new_one(
    database: Database, workspace_id: UUID, tmp_path: Path
) -> None:
    path, service = tmp_path / "master.key", tmp_path / "service"
    kept = await _fill(Vault(database, path, LIMITS), workspace_id, 3)
    first, second = (MasterKey(bytes([number]) * 32) for number in (1, 2))
    service.write_bytes(base64.b64encode(first.material))
    command = f"{sys.executable} -c 'import sys; print(open(sys.argv[1]).read())' {service}"
    vault = Vault(database, path, LIMITS, key_command=command)

    # From the file to the command.
    await _check_all(vault, kept)
    moved = await rotate(database, vault.keyring)
    assert (moved.key_id, moved.resealed, moved.command_is_behind) == (first.id, 5, False)
    path.unlink()
    await _check_all(Vault(database, path, LIMITS, key_command=command), kept)

    # From one key of the command to another.
    with pytest.raises(Invalid, match="new one must be given"):
        await rotate(database, vault.keyring)
    given = tmp_path / "given.key"
    given.write_bytes(base64.b64encode(second.material))
    given.chmod(0o600)
    changed = await rotate(database, vault.keyring, given)
    assert (changed.key_id, changed.command_is_behind) == (second.id, True)
    await _check_all(Vault(database, path, LIMITS, key_command=command), kept)
    service.write_bytes(base64.b64encode(second.material))
    ended = await rotate(database, vault.keyring)
    assert (ended.resealed, ended.command_is_behind) == (0, False)
    assert not vault.keyring.next_key_file.exists()
    await _check_all(Vault(database, path, LIMITS, key_command=command), kept)
