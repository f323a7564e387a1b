"""Partitions by time: made ahead, found by the id alone, dropped whole."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

from mainspring.contracts.ids import floor_id
from mainspring.store.database import Database
from mainspring.store.partitions import drop_partitions, ensure_partitions, spans
from tests.kit.house import Bench, document, step

NOW = datetime(2027, 1, 31, 23, 59, tzinfo=UTC)


def test_spans_touch_each_other_and_hold_their_moment() -> None:
    for period in ("month", "week"):
        first, second = spans(period, NOW)
        assert first.start <= NOW < first.end == second.start < second.end


async def test_partitions_are_made_once_although_many_ask_at_once(database: Database) -> None:
    async def ask() -> list[str]:
        async with database.transaction() as tx:
            return await ensure_partitions(tx, NOW)

    made = await asyncio.gather(*(ask() for _ in range(5)))
    assert sorted(name for names in made for name in names) == [
        "calls_2027_01", "calls_2027_02", "events_2027_w04", "events_2027_w05",
        "large_results_2027_01", "large_results_2027_02", "runs_2027_01", "runs_2027_02",
        "steps_2027_01", "steps_2027_02",
    ]  # fmt: skip


async def test_an_old_period_is_dropped_with_its_runs_and_the_rest_stays(bench: Bench) -> None:
    old = datetime.now(UTC) - timedelta(days=200)
    database = bench.house.database
    async with database.transaction() as tx:
        await ensure_partitions(tx, old)
    run = await bench.run(document(step("a", "test.note")))
    await _move(database, run["id"], floor_id(old))
    fresh = await bench.run(document(step("a", "test.note")))
    async with database.transaction() as tx:
        dropped = await drop_partitions(tx, datetime.now(UTC) - timedelta(days=100))
    assert f"runs_{old:%Y_%m}" in dropped
    left = await database.fetch("SELECT id FROM runs")
    assert [row["id"] for row in left] == [fresh["id"]]
    assert await database.fetchval("SELECT count(*) FROM steps") == 1


async def _move(database: Database, run_id: UUID, old_id: UUID) -> None:
    """Gives a run an id of another time, and everything that belongs to it."""
    async with database.transaction() as tx:
        await tx.execute("ALTER TABLE steps DISABLE TRIGGER ALL")
        await tx.execute("ALTER TABLE calls DISABLE TRIGGER ALL")
        await tx.execute("ALTER TABLE runs DISABLE TRIGGER ALL")
        await tx.execute("UPDATE runs SET id = $2 WHERE id = $1", run_id, old_id)
        await tx.execute("UPDATE steps SET run_id = $2 WHERE run_id = $1", run_id, old_id)
        await tx.execute("UPDATE calls SET run_id = $2 WHERE run_id = $1", run_id, old_id)
        await tx.execute("ALTER TABLE runs ENABLE TRIGGER ALL")
        await tx.execute("ALTER TABLE calls ENABLE TRIGGER ALL")
        await tx.execute("ALTER TABLE steps ENABLE TRIGGER ALL")
