"""``backup`` and ``move`` over data folders: what is refused, what is set aside, what is left."""

from __future__ import annotations

import asyncio
import os
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import asyncpg
import pytest
import pytest_asyncio

from mainspring.app import open_application
from mainspring.contracts.errors import Conflict, Invalid, Problem, UpstreamError
from mainspring.contracts.ids import generate_id
from mainspring.settings import Settings, read_settings, settings_file
from mainspring.store.backup import check_backup
from mainspring.store.data_folder import is_unfinished
from mainspring.store.embedded import EmbeddedServer
from mainspring.surfaces.cli.backup import RestoreOptions, last_backup, make, restore
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.move import move, parse_move_target
from mainspring.surfaces.cli.screen import Screen
from mainspring.workspace.artifacts.blobs import blob_key
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.keyring import create_key
from mainspring.workspace.vault import SecretScope
from tests.kit.postgres import fresh_database
from tests.kit.redis import RedisServer, running_redis

PLAIN = "the-plain-value-of-a-secret"
KEPT = b"what a run has saved"


def desk(home: Path) -> CommandContext:
    """No command here goes through the gate."""
    return CommandContext(cast("Any", None), home)


def quiet() -> Screen:
    return Screen(for_programs=True)


async def rows(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    with running_redis() as server:
        yield server


@pytest_asyncio.fixture
async def lived_in(used_home: Path) -> Path:
    """A data folder with a secret, and a file that a run has saved."""
    async with open_application(Settings(home=used_home)) as application:
        await application.vault.set(
            SecretScope(application.workspace_id, FIRST_MEMBER), "billing_key", PLAIN
        )
        key = blob_key(application.workspace_id, generate_id(), sha256(KEPT).digest())
        await application.blobs.put(key, KEPT)
        await application.database.execute(
            "INSERT INTO artifacts (workspace_id, id, name, kind, retention, visibility,"
            " media_type, size, sha256)"
            " VALUES ($1, $2, 'a.txt', 'data', 'permanent', 'private', 'text/plain', $3, $4)",
            application.workspace_id,
            key.artifact_id,
            len(KEPT),
            sha256(KEPT).digest(),
        )
    return used_home


def unzipped(path: Path) -> bytes:
    with zipfile.ZipFile(path) as source:
        return b"".join(source.read(name) for name in source.namelist())


async def test_a_backup_is_restored_elsewhere_with_the_right_key_alone(
    lived_in: Path, tmp_path: Path
) -> None:
    path, home = tmp_path / "all.backup", lived_in.with_name("elsewhere")
    with pytest.raises(Problem, match="nothing to copy"):
        await make(desk(home), quiet(), path)
    assert not home.exists()

    assert await make(desk(lived_in), quiet(), path) == 0

    assert (found := last_backup(lived_in)) is not None
    assert found[1] == path
    backup = check_backup(path)
    assert (backup.rows["secrets"], backup.files.count, len(backup.keys)) == (1, 1, 1)
    key = (lived_in / "master.key").read_bytes()
    assert PLAIN.encode() not in unzipped(path)
    assert key.strip() not in unzipped(path)

    home.mkdir(mode=0o711)
    with pytest.raises(Conflict, match="no key here") as caught:
        await restore(desk(home), quiet(), path, RestoreOptions())
    assert caught.value.code == "wrong_key"
    create_key(home / "master.key")
    with pytest.raises(Conflict, match="Nothing was changed"):
        await restore(desk(home), quiet(), path, RestoreOptions())
    assert sorted(os.listdir(home)) == ["master.key"]
    (home / "master.key").write_bytes(key)

    assert await restore(desk(home), quiet(), path, RestoreOptions()) == 0

    assert not is_unfinished(home)
    [stored] = (home / "artifacts").glob("*/*/*")
    assert stored.read_bytes() == KEPT
    async with open_application(Settings(home=home)) as application:
        condition = await application.vault.check_health()
        assert (condition.total, condition.unreadable) == (1, ())

    # A second time there is something in the way, and a restore that fails puts it back.
    with pytest.raises(Conflict) as occupied:
        await restore(desk(home), quiet(), path, RestoreOptions())
    assert occupied.value.code == "not_empty"
    (home / "artifacts" / "mine").write_text("mine")
    broken = asyncio.create_task(restore(desk(home), quiet(), path, RestoreOptions(replace=True)))
    while not is_unfinished(home):
        await asyncio.sleep(0.001)
    broken.cancel()
    with pytest.raises(asyncio.CancelledError):
        await broken
    assert (home / "artifacts" / "mine").exists()
    assert not is_unfinished(home)
    # One that is killed leaves a mark: no server starts on half of it, another try ends it.
    (home / "restore.unfinished").write_text('{"stamp": "then"}')
    with pytest.raises(Conflict, match="was interrupted"):
        await EmbeddedServer(home).start_async()
    assert await restore(desk(home), quiet(), path, RestoreOptions(replace=True)) == 0
    assert (home / "artifacts.before-then" / "mine").exists()
    assert not (home / "artifacts" / "mine").exists()


async def test_everything_moves_to_an_outside_database_by_one_command(
    lived_in: Path, postgres_server: EmbeddedServer, redis_server: RedisServer
) -> None:
    for bad in ("mysql://x/y", "", "postgresql", "postgresql://x/y\nMAINSPRING_HOST=0.0.0.0"):
        with pytest.raises(Invalid, match="must begin with postgresql://"):
            parse_move_target(bad, None)
    with pytest.raises(Invalid, match="broker"):
        parse_move_target("postgresql://x/y", "http://x")
    nowhere = parse_move_target("postgresql://nobody:hidden@127.0.0.1:1/none", None)
    with pytest.raises(Problem, match=r"'none' at 127\.0\.0\.1:1; nothing was moved") as away:
        await move(desk(lived_in), quiet(), nowhere)
    assert "hidden" not in str(away.value.as_dict())
    assert not settings_file(lived_in).exists()

    async with fresh_database(postgres_server, "template1") as url:
        foreign = await asyncpg.connect(url)
        await foreign.execute("CREATE TABLE of_others (id integer)")
        with pytest.raises(Conflict, match="not empty"):
            await move(desk(lived_in), quiet(), parse_move_target(url, None))
        await foreign.execute("DROP TABLE of_others")
        await foreign.close()

        # A broker that is not there is heard of before anything is done.
        with pytest.raises(UpstreamError, match="does not answer, so nothing was moved"):
            await move(desk(lived_in), quiet(), parse_move_target(url, "redis://127.0.0.1:1/0"))
        assert not settings_file(lived_in).exists()
        place = parse_move_target(url, redis_server.url)
        assert await move(desk(lived_in), quiet(), place) == 0

        file = settings_file(lived_in)
        assert file.stat().st_mode & 0o777 == 0o600
        settings = read_settings({"MAINSPRING_HOME": str(lived_in)})
        assert (settings.database_url, settings.transport) == (url, "celery")
        assert settings.broker_url == redis_server.url
        assert await rows(url, "SELECT count(*) FROM secrets") == 1
        with pytest.raises(Conflict, match="already"):
            await move(desk(lived_in), quiet(), place)
        # Broken off after the last row and before the settings were written: done again.
        file.write_text("MAINSPRING_PORT=8999\n")
        assert await move(desk(lived_in), quiet(), place) == 0
        assert read_settings({}, lived_in).port == 8999
        # The old database was left as it was, and is not taken for the new one.
        file.write_text("")
        await rows(url, "UPDATE workspaces SET name = 'Renamed' RETURNING 1")
        with pytest.raises(Conflict, match="not empty"):
            await move(desk(lived_in), quiet(), place)
