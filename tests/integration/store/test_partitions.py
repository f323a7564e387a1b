"""Partitions by time: made ahead, found by the id alone, dropped whole."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from mainspring.contracts.context import Transaction
from mainspring.contracts.ids import get_lowest_id_at
from mainspring.store.database import Database
from mainspring.store.partitions import (
    drop_partitions,
    ensure_partitions,
    iterate_periods,
    list_ended_partitions,
)

NOW = datetime(2027, 1, 31, 23, 59, tzinfo=UTC)


def test_spans_touch_each_other_and_hold_their_moment() -> None:
    for period in ("month", "week"):
        first, second, *_ = iterate_periods(period, NOW)
        assert first.start <= NOW < first.end == second.start < second.end


async def test_partitions_are_made_once_although_many_ask_at_once(database: Database) -> None:
    async def ask() -> list[str]:
        async with database.transaction() as tx:
            return await ensure_partitions(tx, NOW)

    made = await asyncio.gather(*(ask() for _ in range(5)))
    assert sorted(name for names in made for name in names) == [
        "agent_turns_2027_01",
        "agent_turns_2027_02",
        "agent_turns_2027_03",
        "calls_2027_01",
        "calls_2027_02",
        "calls_2027_03",
        "events_2027_w04",
        "events_2027_w05",
        "events_2027_w06",
        "events_2027_w07",
        "events_2027_w08",
        "large_results_2027_01",
        "large_results_2027_02",
        "large_results_2027_03",
        "run_output_2027_01",
        "run_output_2027_02",
        "run_output_2027_03",
        "runs_2027_01",
        "runs_2027_02",
        "runs_2027_03",
        "steps_2027_01",
        "steps_2027_02",
        "steps_2027_03",
    ]


async def test_rows_that_came_while_no_period_was_there_keep_nobody_from_starting(
    database: Database,
) -> None:
    later = NOW + timedelta(days=120)
    async with database.transaction() as tx:
        await ensure_partitions(tx, NOW)
        await tx.execute(
            "INSERT INTO events (workspace_id, id, type, source_id, payload) "
            "VALUES (gen_random_uuid(), $1, 'a.b', 'x', '{}')",
            get_lowest_id_at(later),
        )
    async with database.transaction() as tx:
        made = await ensure_partitions(tx, later)
    assert "events_2027_w23" in made
    assert "events_2027_w22" not in made
    assert await database.fetchval("SELECT count(*) FROM events") == 1
    async with database.transaction() as tx:
        assert await ensure_partitions(tx, later) == []


async def _nobody(tx: Transaction) -> bool:
    del tx
    return False


async def _everybody(tx: Transaction) -> bool:
    del tx
    return True


async def test_an_ended_period_is_dropped_in_every_table_and_the_rest_stays(
    database: Database,
) -> None:
    async with database.transaction() as tx:
        await ensure_partitions(tx, NOW)
        cuts = await list_ended_partitions(tx, "runs", NOW + timedelta(days=3))
    (cut,) = cuts
    assert cut.name == "2027_01"
    assert cut.start < get_lowest_id_at(NOW) < cut.end
    family = ["agent_turns", "run_output", "large_results", "calls", "steps", "runs"]
    assert await drop_partitions(database, family, cut, _everybody) == []
    dropped = await drop_partitions(database, family, cut, _nobody)
    assert dropped == [f"{table}_2027_01" for table in family]
    left = await database.fetch(
        "SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' "
        "AND relname LIKE '%\\_2027\\_0_'"
    )
    stored = {f"{table}_2027_0{month}" for table in family for month in (2, 3)}
    assert {row["relname"] for row in left} == stored


async def test_a_table_in_use_is_left_alone(database: Database) -> None:
    async with database.transaction() as tx:
        await ensure_partitions(tx, NOW)
        (cut, *_) = await list_ended_partitions(tx, "events", NOW + timedelta(days=30))
    async with database.transaction() as tx:
        await tx.execute("LOCK TABLE events IN ROW EXCLUSIVE MODE")
        assert await drop_partitions(database, ["events"], cut, _nobody) == []
    assert await drop_partitions(database, ["events"], cut, _nobody) == [f"events_{cut.name}"]
