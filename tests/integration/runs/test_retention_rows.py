"""Retention: exactly the runs, rehearsals and keys whose time is over are deleted."""

from __future__ import annotations

import asyncio
import secrets
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.ids import generate_id, get_lowest_id_at
from mainspring.runs import retention
from mainspring.store.database import Database
from mainspring.store.partitions import ensure_partitions, list_ended_partitions
from tests.kit.run_rows import add_automation, add_run
from tests.kit.tenants import add_workspace

NOW = datetime.now(UTC)
ONE, TWO = generate_id(), generate_id()
WEEK: dict[str, Any] = {"retention": {"runs_days": 7}}
YEAR: dict[str, Any] = {"retention": {"runs_days": 365}}


def _ago(days: float) -> datetime:
    return NOW - timedelta(days=days)


async def _run(
    database: Database, space: UUID, automation: UUID, days: float, **columns: Any
) -> UUID:
    """A run of so many days ago that ended at once, with a step and a line of output."""
    timestamp = _ago(days)
    made = UUID(int=get_lowest_id_at(timestamp).int | secrets.randbits(60))
    row = {
        "id": made,
        "status": "succeeded",
        "created_at": timestamp,
        "finished_at": timestamp,
        **columns,
    }
    await add_run(database, space, automation, **row)
    await database.execute(
        "INSERT INTO steps (workspace_id, run_id, fence, ms, attempt, run_attempt, step, status) "
        "VALUES ($1, $2, 1, 1, 1, 1, 'a', 'succeeded')",
        space,
        made,
    )
    await database.execute(
        "INSERT INTO run_output (workspace_id, run_id, seq, attempt, step, stream, text) "
        "VALUES ($1, $2, 1, 1, 'a', 'out', 'x')",
        space,
        made,
    )
    await database.execute(
        "INSERT INTO calls (workspace_id, run_id, ms, attempt, call, step, capability, outcome, "
        "arguments_hash) VALUES ($1, $2, 1, 1, 1, 'a', 'x', 'read', '\\x00')",
        space,
        made,
    )
    return made


async def _draft(
    database: Database, space: UUID, run: UUID, status: str, expires: datetime
) -> None:
    await database.execute(
        "INSERT INTO drafts (workspace_id, id, run_id, step, capability, arguments, "
        "arguments_hash, preview, status, expires_at) "
        "VALUES ($1, $2, $3, 'a', 'x', '{}', '\\x00', 'Send.', $4, $5)",
        space,
        generate_id(),
        run,
        status,
        expires,
    )


async def _left(database: Database, table: str = "runs", column: str = "id") -> set[Any]:
    return {row[column] for row in await database.fetch(f"SELECT {column} FROM {table}")}


async def test_each_automation_decides_how_long_its_runs_are_kept(database: Database) -> None:
    stored, gone = set(), set()
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
        for document, days in ((WEEK, 7), ({}, 90), (YEAR, 365)):
            automation = await add_automation(database, space, document)
            gone.add(await _run(database, space, automation, days + 0.1))
            stored.add(await _run(database, space, automation, days - 0.1))
            # The time counts from the end, and what has not ended stays.
            stored.add(
                await _run(database, space, automation, days + 9, finished_at=_ago(days - 1))
            )
            for status in ("pending", "running", "waiting"):
                stored.add(await _run(database, space, automation, days + 9, status=status))
            gone.add(await _run(database, space, automation, days + 9, status="dead"))
    assert await retention.expire_runs(database, NOW) == (len(gone), [])
    assert await _left(database) == stored
    assert await _left(database, "steps", "run_id") == stored
    assert await _left(database, "run_output", "run_id") == stored
    assert await _left(database, "calls", "run_id") == stored


async def test_the_version_in_force_decides(database: Database) -> None:
    await add_workspace(database, ONE, "one")
    automation = await add_automation(database, ONE, WEEK)
    run = await _run(database, ONE, automation, 100)
    await database.execute(
        "WITH d AS (INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $3, $4)) "
        "INSERT INTO automation_versions (workspace_id, automation_id, version, definition_hash, "
        "grants, author) VALUES ($1, $2, 2, $3, '[]', $2)",
        ONE,
        automation,
        b"2",
        YEAR,
    )
    await database.execute("UPDATE automations SET version = 2")
    await retention.expire_runs(database, NOW)
    assert await _left(database) == {run}
    await database.execute("UPDATE automations SET version = 1")
    await retention.expire_runs(database, NOW)
    assert await _left(database) == set()


async def test_a_run_stays_while_one_of_its_drafts_waits_for_a_person(database: Database) -> None:
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
    automation = await add_automation(database, ONE)
    waiting, decided, over, foreign = [await _run(database, ONE, automation, 100) for _ in range(4)]
    later, before = NOW + timedelta(days=1), NOW - timedelta(days=1)
    await _draft(database, ONE, waiting, "pending", later)
    await _draft(database, ONE, decided, "discarded", later)
    await _draft(database, ONE, over, "pending", before)
    await _draft(database, TWO, foreign, "pending", later)
    assert (await retention.expire_runs(database, NOW))[0] == 3
    assert await _left(database) == {waiting}


async def test_every_automation_is_looked_at_page_by_page(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_PAGE", 2)
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
        for _ in range(3):
            automation = await add_automation(database, space, WEEK)
            await _run(database, space, automation, 8)
    assert (await retention.expire_runs(database, NOW))[0] == 6
    assert await _left(database) == set()


async def test_a_run_that_is_locked_is_passed_over(database: Database) -> None:
    await add_workspace(database, ONE, "one")
    automation = await add_automation(database, ONE)
    first, second = [await _run(database, ONE, automation, 100) for _ in range(2)]
    async with database.transaction() as tx:
        await tx.execute("SELECT 1 FROM runs WHERE id = $1 FOR UPDATE", first)
        assert (await retention.expire_runs(database, NOW))[0] == 1
    assert await _left(database) == {first}
    assert second not in await _left(database, "steps", "run_id")


MONTH = 200


async def _month(database: Database) -> str:
    async with database.transaction() as tx:
        await ensure_partitions(tx, _ago(MONTH))
    return f"runs_{_ago(MONTH):%Y_%m}"


async def test_a_month_without_anything_to_keep_is_dropped_whole(database: Database) -> None:
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
    name = await _month(database)
    usual = await add_automation(database, ONE)
    long = await add_automation(database, ONE, YEAR)
    await add_automation(database, TWO, YEAR)
    await _run(database, ONE, usual, MONTH)
    young = await _run(database, ONE, long, 1)
    gone, dropped = await retention.expire_runs(database, NOW)
    assert gone == 0
    assert {one for one in dropped if one.endswith(name[-7:])} == {
        name.replace("runs", table, 1)
        for table in ("agent_turns", "run_output", "large_results", "calls", "steps", "runs")
    }
    assert await _left(database) == {young}


@pytest.mark.parametrize("kept", ["waiting", "running", "late", "longer", "draft", "barely"])
async def test_a_month_with_one_run_to_keep_stays(database: Database, kept: str) -> None:
    await add_workspace(database, ONE, "one")
    name = await _month(database)
    usual = await add_automation(database, ONE)
    long = await add_automation(database, ONE, {"retention": {"runs_days": 900}})
    await _run(database, ONE, usual, MONTH)
    columns: dict[str, Any] = {}
    if kept in ("waiting", "running"):
        columns = {"status": kept, "finished_at": None}
    elif kept in ("late", "barely"):
        columns = {"finished_at": _ago(2 if kept == "late" else 89.9)}
    run = await _run(database, ONE, long if kept == "longer" else usual, MONTH, **columns)
    if kept == "draft":
        await _draft(database, ONE, run, "pending", NOW + timedelta(days=1))
    gone, dropped = await retention.expire_runs(database, NOW)
    assert name not in dropped
    assert gone == 1
    assert await _left(database) == {run}


async def test_a_shorter_time_empties_a_month_before_the_usual_one(database: Database) -> None:
    """Runs of another automation or workspace are not measured by it."""
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
    async with database.transaction() as tx:
        await ensure_partitions(tx, _ago(45))
    name = f"runs_{_ago(45):%Y_%m}"
    week = await add_automation(database, ONE, {"retention": {"runs_days": 9}})
    await _run(database, ONE, week, 45)
    usual = await add_automation(database, TWO)
    stored = await _run(database, TWO, usual, 45)
    assert name not in (await retention.expire_runs(database, NOW))[1]
    assert await _left(database) == {stored}
    for table in ("calls", "run_output", "steps", "runs"):
        await database.execute(f"DELETE FROM {table}")
    await _run(database, ONE, week, 45)
    assert name in (await retention.expire_runs(database, NOW))[1]


async def test_a_run_that_starts_again_after_the_look_saves_its_month(database: Database) -> None:
    await add_workspace(database, ONE, "one")
    await _month(database)
    async with database.transaction() as tx:
        await ensure_partitions(tx, _ago(MONTH + 60))
    usual = await add_automation(database, ONE)
    run = await _run(database, ONE, usual, MONTH)
    async with database.acquire() as connection:
        cuts = await list_ended_partitions(connection, "runs", NOW)
    (cut,) = [one for one in cuts if one.start <= run < one.end]
    empty = [one for one in cuts if one is not cut]
    assert {one.start < cut.start for one in empty} == {True, False}
    for status, unfinished in (
        ("failed", False),
        ("pending", True),
        ("waiting", True),
        ("running", True),
    ):
        await database.execute("UPDATE runs SET status = $1", status)
        assert await retention._has_unfinished_runs(cut, database) is unfinished
        assert not any([await retention._has_unfinished_runs(one, database) for one in empty])


async def test_rehearsals_that_lost_their_runs_go_after_a_day(database: Database) -> None:
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
    automation = await add_automation(database, ONE)
    made: dict[str, UUID] = {}
    for name, days in (("old", 1.1), ("young", 0.9), ("used", 1.1), ("foreign", 1.1)):
        made[name], digest = generate_id(), name.encode()
        await database.execute(
            "INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, '{}')",
            ONE,
            digest,
        )
        await database.execute(
            "INSERT INTO rehearsals (workspace_id, id, automation_id, definition_hash, grants, "
            "live_reads, candidate, firings, asked_by, created_at) "
            "VALUES ($1, $2, $3, $4, '[]', false, '{}', '[]', $5, $6)",
            ONE,
            made[name],
            automation,
            digest,
            generate_id(),
            _ago(days),
        )
    await _run(database, ONE, automation, 1, rehearsal_id=made["used"])
    other = await add_automation(database, TWO)
    await _run(database, TWO, other, 1, rehearsal_id=made["foreign"])
    async with asyncio.timeout(60), database.transaction() as tx:
        await tx.execute("SELECT 1 FROM rehearsals FOR UPDATE")
        await retention.expire_runs(database, NOW)
    assert len(await _left(database, "rehearsals")) == 4
    await retention.expire_runs(database, NOW)
    assert await _left(database, "rehearsals") == {made["young"], made["used"]}
    stored = await _left(database, "definitions", "hash")
    assert {b"young", b"used"} <= stored
    assert not {b"old", b"foreign"} & stored


async def test_only_keys_whose_time_is_over_are_forgotten(database: Database) -> None:
    sources = generate_id(), generate_id()
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
        for source in sources:
            for key in ("a", "b"):
                over = (space, source, key) == (ONE, sources[0], "a")
                await database.execute(
                    "INSERT INTO firings (workspace_id, source_id, key, expires_at) "
                    "VALUES ($1, $2, $3, $4)",
                    space,
                    source,
                    key,
                    _ago(1) if over else NOW + timedelta(days=1),
                )
    await database.execute(
        "INSERT INTO firings (workspace_id, source_id, key) VALUES ($1, $2, 'for ever')",
        ONE,
        sources[0],
    )
    async with asyncio.timeout(60), database.transaction() as tx:
        await tx.execute("SELECT 1 FROM firings FOR UPDATE")
        assert await retention.expire_firings(database, NOW) == 0
    assert await retention.expire_firings(database, NOW) == 1
    rows = await database.fetch("SELECT workspace_id, source_id, key FROM firings")
    assert len(rows) == 8
    assert (ONE, sources[0], "a") not in {tuple(row.values()) for row in rows}
