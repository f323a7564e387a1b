"""Schedules: the cost of a look follows what is due, not what is stored.

python -m bench.schedules

An application with 1,000 schedules and one with 100,000, the same number of them due: seconds per
look, and the ratio of the two. Then 1,000 due in one second, with a scheduler and a worker
at work: how long after its moment each run began.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import uvloop

from bench.environment import fresh_house, saved
from mainspring.app import Application, build_scheduler
from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import set_state

FEW, MANY = 1_000, 100_000
DUE, ROUNDS = 20, 15
AT_ONCE = 1_000
RATIO_BAR, START_BAR = 2.0, 2.0

# Copies of one trigger under one automation: what a scheduler looks at is the row.
COPY = """
    INSERT INTO triggers
        (workspace_id, id, automation_id, slug, type, config, armed_at, next_due_at)
    SELECT $1, i, $2, 'copy-' || n, 'schedule', $3, now(), $4::timestamptz + n * interval '1 second'
    FROM unnest($5::uuid[]) WITH ORDINALITY AS c(i, n)
"""
MAKE_DUE = """
    UPDATE triggers SET next_due_at = date_trunc('second', now())
    WHERE id IN (SELECT id FROM triggers WHERE slug LIKE 'copy-%' ORDER BY id LIMIT $1)
"""
SOON_DUE = MAKE_DUE.replace("now())", "now()) + interval '3 seconds'", 1)
DELAYS = """
    SELECT extract(epoch FROM started_at - (payload->>'scheduled_for')::timestamptz)::float8 AS s
    FROM runs WHERE trigger_type = 'schedule' AND started_at IS NOT NULL ORDER BY 1
"""
CONFIG = {"cron": "0 0 1 1 *", "timezone": "UTC", "misfire": "fire_all", "catch_up_seconds": 86_400}


def definition() -> dict[str, Any]:
    return {
        "schema_version": "1.2",
        "name": "on the hour",
        "goal": "Measure what a schedule costs.",
        "triggers": [{"id": "first", "type": "schedule", "config": CONFIG}],
        "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}],
        "execution": {"concurrency": "allow_parallel"},
    }


async def stored(application: Application, count: int) -> None:
    automation, _ = await saved(application, definition())
    async with application.database.transaction() as tx:
        await set_state(tx, application.workspace_id, automation, "active")
    far = application.clock.now() + timedelta(days=30)
    for start in range(0, count, 10_000):
        ids = [generate_id() for _ in range(min(10_000, count - start))]
        slugs = COPY.replace("'copy-' || n", f"'copy-{start}-' || n")
        await application.database.execute(
            slugs, application.workspace_id, automation, CONFIG, far + timedelta(seconds=start), ids
        )


async def look_seconds(count: int) -> float:
    """The median of some looks, each with the same number of schedules due."""
    async with fresh_house() as application:
        await stored(application, count)
        scheduler = build_scheduler(application)
        found = []
        for _ in range(ROUNDS):
            await application.database.execute(MAKE_DUE, DUE)
            began = time.perf_counter()
            assert await scheduler.once() == DUE
            found.append(time.perf_counter() - began)
        return statistics.median(found)


async def at_once() -> list[float]:
    """Seconds from the moment to the start of the run, for all that are due together.

    The scheduler and the worker are processes of their own, as under ``up``.
    """
    async with fresh_house() as application:
        await stored(application, AT_ONCE)
        with parts(application):
            while not await application.database.fetchval("SELECT count(*) FROM workers"):
                await asyncio.sleep(0.1)
            # One that is due first says that the scheduler is awake.
            await application.database.execute(MAKE_DUE, 1)
            while not await application.database.fetch(DELAYS):
                await asyncio.sleep(0.1)
            # A moment ahead, as a schedule knows it; not one that is already past.
            await application.database.execute(SOON_DUE, AT_ONCE)
            while len(rows := await application.database.fetch(DELAYS)) < AT_ONCE:
                await asyncio.sleep(0.1)
        return [row["s"] for row in rows]


@contextmanager
def parts(application: Application) -> Iterator[None]:
    """A scheduler and a worker over the same database."""
    assert application.database.server is not None
    result = {"MAINSPRING_DATABASE_URL": application.database.server.dsn}
    environment = {**os.environ, **result, "MAINSPRING_HOME": str(application.settings.home)}
    going = [
        subprocess.Popen(
            [sys.executable, "-m", "mainspring", part],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for part in ("scheduler", "worker")
    ]
    try:
        yield
    finally:
        for process in going:
            process.terminate()
        for process in going:
            process.wait(60)


def measure() -> dict[str, float]:
    few, many = uvloop.run(look_seconds(FEW)), uvloop.run(look_seconds(MANY))
    delays = uvloop.run(at_once())
    return {
        "look ms, 1,000 stored": round(few * 1000, 2),
        "look ms, 100,000 stored": round(many * 1000, 2),
        "ratio": round(many / few, 2),
        "1,000 at once: last start s": round(delays[-1], 2),
    }


def show(found: dict[str, float]) -> None:
    for name, value in found.items():
        print(f"{name:>30} {value:8.2f}")
    print(f"bars: ratio below {RATIO_BAR}, the last start within {START_BAR} s")


def main() -> None:
    show(measure())


if __name__ == "__main__":
    main()
