"""Backups: everything in one file and back again, and nothing done when something is wrong."""

from __future__ import annotations

import errno
import io
import json
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Conflict, Invalid, NotFound, Problem, StorageFull
from mainspring.settings import Settings
from mainspring.store.backup import check_backup, make_backup, open_archive, read_backup
from mainspring.store.database import Database
from mainspring.store.partitions import ensure_partitions
from mainspring.store.restore import load, refuse_unfit
from mainspring.store.snapshot import compute_table_digest, read_tables
from tests.kit.sample_rows import fill


@asynccontextmanager
async def at(url: str) -> AsyncIterator[Database]:
    opened_there = await Database.open(Settings(database_url=url))
    try:
        yield opened_there
    finally:
        await opened_there.close()


async def digests(database: Database) -> dict[str, Any]:
    async with database.acquire() as connection:
        tables = await read_tables(connection)
        return {table.name: await compute_table_digest(connection, table) for table in tables}


async def restored(path: Path, database: Database) -> dict[str, int]:
    with open_archive(path) as archive:
        stored = read_backup(archive)
        stored.check()
        return await load(database, stored)


def changed(path: Path, into: Path, name: str, content: bytes | None) -> Path:
    """The same archive with one part replaced, or without it."""
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(into, "w") as target:
        for entry in source.namelist():
            if entry != name:
                target.writestr(entry, source.read(entry))
            elif content is not None:
                target.writestr(entry, content)
    return into


def inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def manifest_of(path: Path) -> dict[str, Any]:
    with zipfile.ZipFile(path) as source:
        found: dict[str, Any] = json.loads(source.read("manifest.json"))
        return found


class Filling(io.FileIO):
    """A file on a disk with space for so many bytes; the test may add more later."""

    left, again = 3_000, False

    def write(self, data: Any) -> int:
        if self.left < len(data):
            self.left = 10**9 if self.again else 0
            raise OSError(errno.ENOSPC, "No space left on device")
        self.left -= len(data)
        return super().write(data)


@pytest.mark.parametrize("again", [False, True])
async def test_a_disk_that_fills_up_while_rows_are_copied_is_not_blamed_on_the_database(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    async with database.transaction() as tx:
        await fill(tx)

    def opened_for(handle: int, _: str) -> Filling:
        made = Filling(handle, "wb")
        made.again = again
        return made

    monkeypatch.setattr("mainspring.store.backup.os.fdopen", opened_for)
    path = tmp_path / "kept.backup"
    with pytest.raises(StorageFull, match="not enough disk space for") as caught:
        await make_backup(database, path, None)

    assert caught.value.code == "storage_full"
    assert str(path) in caught.value.detail
    assert inside(tmp_path) == []


async def test_a_kept_file_that_cannot_be_read_is_named(database: Database, tmp_path: Path) -> None:
    async def files(_: object) -> AsyncIterator[tuple[str, Path]]:
        yield "one", tmp_path

    with pytest.raises(Invalid, match="cannot be read") as caught:
        await make_backup(database, tmp_path / "kept.backup", files)

    assert caught.value.code == "file_unreadable"


async def test_what_is_no_whole_backup_is_refused_and_changes_nothing(
    database: Database, empty_database_url: str, tmp_path: Path
) -> None:
    async with database.transaction() as tx:
        await fill(tx)
    path = tmp_path / "good.backup"
    await make_backup(database, path, None)
    with pytest.raises(Conflict, match="already"):
        await make_backup(database, path, None)
    whole, result = path.read_bytes(), manifest_of(path)
    bad = {
        "empty": b"",
        "words": b"no backup at all",
        "short": whole[: len(whole) // 2],
        "shorter": whole[:-30],
    }
    for name, content in bad.items():
        (tmp_path / name).write_bytes(content)
    changed(path, tmp_path / "row", "tables/audit_log", b"another row\n")
    changed(path, tmp_path / "part", "tables/audit_log", None)
    changed(path, tmp_path / "manifest", "manifest.json", None)
    for name, value in {"format": "x", "tables": 3, "migrations": [{}], "product": "other"}.items():
        text = json.dumps({**result, name: value}).encode()
        changed(path, tmp_path / f"bad-{name}", "manifest.json", text)
    flipped = bytearray(whole)
    with zipfile.ZipFile(path) as source:
        # In the middle of the rows: behind a header of 30 bytes, a name and 20 bytes more.
        flipped[source.getinfo("tables/audit_log").header_offset + 80] ^= 0xFF
    (tmp_path / "flipped").write_bytes(bytes(flipped))

    for found in sorted(set(inside(tmp_path)) - {path}):
        with pytest.raises(Invalid) as caught:
            check_backup(found)
        assert caught.value.code == "backup_damaged", found
    with pytest.raises(NotFound):
        check_backup(tmp_path / "nowhere")
    newer = json.dumps({**result, "format": 99}).encode()
    with pytest.raises(Conflict, match="does not support"):
        check_backup(changed(path, tmp_path / "newer", "manifest.json", newer))
    assert check_backup(path).total == sum(table["rows"] for table in result["tables"])

    # Its tables are newer than this program, or of another past.
    more = {"version": len(result["migrations"]) + 1, "name": "later", "checksum": "00"}
    result["migrations"].append(more)
    later = changed(path, tmp_path / "later", "manifest.json", json.dumps(result).encode())
    with open_archive(later) as archive, pytest.raises(Conflict) as clash:
        refuse_unfit(read_backup(archive).heading)
    assert clash.value.code == "rows_newer"
    # Whole in itself, and yet not what its manifest says: undone to the last row.
    async with at(empty_database_url) as target:
        with open_archive(tmp_path / "row") as archive, pytest.raises(Problem):
            await load(target, read_backup(archive))
        assert {rows for rows, _ in (await digests(target)).values()} == {0}
        await restored(path, target)
        with pytest.raises(Conflict) as occupied:
            await restored(path, target)
        assert occupied.value.code == "not_empty"


async def test_a_backup_brings_every_row_of_every_table_and_goes_on_counting(
    database: Database, empty_database_url: str, tmp_path: Path
) -> None:
    async with database.transaction() as tx:
        await ensure_partitions(tx, await tx.fetchval("SELECT now() - interval '70 days'"))
        await ensure_partitions(tx, await tx.fetchval("SELECT now()"))
        tables = await fill(tx)
        await tx.execute("SELECT nextval('lane_arrivals'), nextval('lane_arrivals')")
        await tx.execute("SELECT setval('workers_id_seq', 41)")
    before = await digests(database)
    assert {rows for rows, _ in before.values()} == {1}
    path = tmp_path / "all.backup"

    made = await make_backup(database, path, None)

    assert path.stat().st_mode & 0o777 == 0o600
    assert inside(tmp_path) == [path]
    assert made.rows.keys() == {table.name for table in tables}
    async with at(empty_database_url) as target:
        await restored(path, target)
        assert await digests(target) == before
        exact = "SELECT document::text FROM definitions"
        assert await target.fetchval(exact) == await database.fetchval(exact)
        assert await target.fetchval("SELECT nextval('lane_arrivals')") == 3
        assert await target.fetchval("SELECT nextval('workers_id_seq')") == 42
        # Each row lies in the partition of its time, and those of the time to come are there.
        where = "SELECT tableoid::regclass::text FROM runs"
        assert await target.fetchval(where) == await database.fetchval(where) != "runs_other"
        parts = "SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r'"
        assert await target.fetchval(parts) >= await database.fetchval(parts)


async def test_readers_of_events_go_on_where_they_were_on_a_server_that_counts_anew(
    database: Database, empty_database_url: str, tmp_path: Path
) -> None:
    """The number of a transaction means nothing elsewhere; the order of reading does."""
    add = """
        INSERT INTO events (workspace_id, id, xid, type, source_id, payload)
        SELECT gen_random_uuid(), ('00000000-0000-7000-8000-00000000000' || n)::uuid,
            x::text::xid8, 'a.b', 'x', '{}' FROM unnest($1::int[], $2::text[]) AS t(n, x)
    """
    # Far ahead of any number that the other server will give for a long time.
    await database.execute(add, [5, 3, 4, 1, 2], [f"90000000{n}" for n in (1, 1, 2, 3, 9)])
    read = "INSERT INTO event_cursors (consumer, xid, id) VALUES ($1, $2::text::xid8, $3)"
    event = "00000000-0000-7000-8000-00000000000{}"
    for name, xid, number in (("slow", 900000001, 3), ("quick", 900000003, 1), ("none", 0, 0)):
        await database.execute(read, name, str(xid), event.format(number))
    await make_backup(database, tmp_path / "a", None)

    unread = """
        SELECT array_agg(right(e.id::text, 1) ORDER BY e.xid, e.id) FROM events e, event_cursors c
        WHERE c.consumer = $1 AND (e.xid, e.id) > (c.xid, c.id)
          AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
    """
    async with at(empty_database_url) as target:
        await restored(tmp_path / "a", target)
        new = "INSERT INTO events (workspace_id, id, type, source_id, payload) VALUES "
        one = f"(gen_random_uuid(), '{event.format(9)}', 'a.b', 'x', '{{}}')"
        await target.execute(new + one)
        assert sorted(await target.fetchval(unread, "slow")) == ["1", "2", "4", "5", "9"]
        assert sorted(await target.fetchval(unread, "quick")) == ["2", "9"]
        assert len(await target.fetchval(unread, "none")) == 6
        assert (await target.fetchval(unread, "slow"))[-1] == "9"


async def test_a_full_disk_leaves_no_partial_file(database: Database, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="does not exist"):
        await make_backup(database, tmp_path / "nowhere" / "a", None)
    assert inside(tmp_path) == []
