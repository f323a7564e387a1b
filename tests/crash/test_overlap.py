"""Runs of one lane never overlap and keep their order, although their workers are killed."""

from __future__ import annotations

import asyncio
import itertools
import random
from pathlib import Path
from typing import Any
from uuid import UUID

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer

LEASE, FIRES, KILLS = 2.0, 120, 3


def marks(concurrency: str) -> dict[str, Any]:
    return {
        "schema_version": "1.2",
        "name": concurrency,
        "goal": "Work alone, one after the other.",
        "plan": [
            {"step_id": "a", "action": "ledger.apply", "config": {"mark": "a"}},
            {"step_id": "b", "action": "ledger.apply", "config": {"mark": "b"}},
        ],
        "execution": {"concurrency": concurrency},
    }


async def spans(bench: CrashBench, automation_id: UUID) -> list[Any]:
    """When each run began and ended, in the order of arrival."""

    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch(
            "SELECT id, status, reason, started_at, finished_at FROM runs "
            "WHERE automation_id = $1 AND status <> 'skipped' ORDER BY arrival",
            automation_id,
        )

    found: list[Any] = await bench.ask(read)
    return found


def overlaps(rows: list[Any]) -> list[str]:
    pairs = itertools.pairwise(rows)
    return [f"{a['id']} / {b['id']}" for a, b in pairs if b["started_at"] < a["finished_at"]]


async def test_queued_runs_go_one_by_one_in_the_order_of_their_arrival(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(
        durable_server, fork_server, folder, lease=LEASE, poll=0.2
    ) as bench:
        automation_id = await bench.save(marks("queue"))
        pool = [bench.pool.start() for _ in range(2)]
        await bench.until_at_work(*pool)
        for _ in range(KILLS):
            await bench.dispatch(automation_id, FIRES // KILLS)
            await asyncio.sleep(chance.uniform(0.05, 0.3))
            chance.choice(bench.pool.alive).kill()
            bench.pool.start()
        await bench.until_final(300)
        rows = await spans(bench, automation_id)
    assert [row["status"] for row in rows] == ["succeeded"] * FIRES
    assert overlaps(rows) == []


async def test_a_dropped_firing_is_recorded_and_a_crash_blocks_the_next_no_longer_than_the_lease(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(
        durable_server, fork_server, folder, lease=LEASE, poll=0.2
    ) as bench:
        automation_id = await bench.save(marks("drop_if_running"))
        victim = bench.pool.start(point="step.before", nth=1)
        await bench.until_at_work(victim)
        (first,) = await bench.dispatch(automation_id, 1)
        dropped = await bench.dispatch(automation_id, FIRES)
        assert set((await bench.statuses(dropped)).values()) == {"skipped"}
        await bench.until_ended(victim, 20)
        bench.pool.start()
        # The run that lost its worker is finished by another, and then the lane is free.
        await bench.until_final(LEASE + 30, [first])
        (after,) = await bench.dispatch(automation_id, 1)
        await bench.until_final(30, [after])
        rows = await spans(bench, automation_id)
    assert [row["status"] for row in rows] == ["succeeded", "succeeded"]
    assert overlaps(rows) == []
