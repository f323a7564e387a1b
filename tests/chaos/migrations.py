"""An installation with work in its queue that goes to other tables and elsewhere: R18, R19."""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from typing import Any
from uuid import UUID

from mainspring.runs.rows import FINAL
from mainspring.settings import Settings
from mainspring.store.backup import make_backup, open_archive, read_backup
from mainspring.store.database import Database
from mainspring.store.downgrade import downgrade, plan_downgrade
from mainspring.store.embedded import EmbeddedServer
from mainspring.store.migrate import migrate, read_schema_version
from mainspring.store.restore import load
from tests.chaos.batteries import battery
from tests.chaos.check import CheckOptions, Verdict, at_least, exactly, none_of, told
from tests.crash import schedulers
from tests.crash.crash_bench import FIVE_STEPS, FIVE_STEPS_SPOTS, CrashBench, arena_at, own_arena
from tests.crash.test_stop import hanging
from tests.crash.verdict import (
    Evidence,
    gather,
    misrecorded_steps,
    repeated_steps,
    unexplained_executions,
)

# The last tables that have no way back before them.
_BEFORE = 11
_STATE = """
    SELECT status, count(*)::int AS runs,
        string_agg(id::text || fence || takeovers, ',' ORDER BY id) AS said
    FROM runs GROUP BY status ORDER BY status
"""


async def upgraded(asked: CheckOptions) -> Verdict:
    """R18."""
    each = asked.of(25, 100, check=15)
    async with own_arena(lease=5.0, heartbeat=1.0, slots=2 * each + 8, failures=1_000_000) as (
        bench,
        _,
    ):
        made = await _in_each_state(bench, each)
        database = bench.application.database
        newest = await read_schema_version(database)
        new = await _digest(database)
        await downgrade(database, plan_downgrade(newest, _BEFORE))
        old = await _digest(database)
        await migrate(database)
        again = await _digest(database)
        for name in ("held", "later"):
            (bench.folder / name).touch()
        for _ in range(2):
            bench.pool.start()
        await bench.until_final(240)
        found = await gather(bench)
    lost = _lost(found, made)
    against = [*lost, *repeated_steps(found), *unexplained_executions(found)]
    against += misrecorded_steps(found, FIVE_STEPS_SPOTS, among=[*made["done"], *made["queued"]])
    return Verdict(
        [
            exactly("runs as they were in the older tables", old, new),
            exactly("runs as they were after the upgrade", again, new),
            none_of(f"of {len(found.runs)} runs lost or ended otherwise", lost),
            none_of("recorded steps repeated and other offences", against),
            await battery("killed at each statement:", ["tests/integration/store/test_upgrade.py"]),
            told("from and to number", f"{_BEFORE}, {newest}"),
        ],
        against,
    )


async def _in_each_state(bench: CrashBench, each: int) -> dict[str, list[UUID]]:
    """Runs that are done, failed, held by a worker that dies, asleep, and not begun."""
    asleep = hanging("later")
    asleep["plan"][1] = {"step_id": "sleep", "action": "delay", "config": {"seconds": 30}}
    failing = {**FIVE_STEPS, "name": "failing"}
    failing["plan"] = [{"step_id": "a", "action": "crash.stumble", "config": {"percent": 100}}]
    made = {}
    worker = bench.pool.start()
    for name, document in (("done", FIVE_STEPS), ("failed", failing)):
        made[name] = await bench.dispatch(await bench.save(document), each)
        await bench.until_final(120, made[name])
    made["later"] = await bench.dispatch(await bench.save(asleep), each)
    made["held"] = await bench.dispatch(await bench.save(hanging("held")), each)

    async def there() -> bool:
        found = Counter((await bench.statuses([*made["later"], *made["held"]])).values())
        hangs = sum(entry.is_at("hang") for entry in bench.ledger.begun())
        return found["waiting"] == each and hangs == each

    await bench.until(there, 120, "runs sleep and hang")
    worker.kill()
    made["queued"] = await bench.dispatch(await bench.save(FIVE_STEPS), each)
    return made


def _lost(found: Evidence, made: dict[str, list[UUID]]) -> list[str]:
    expected = {"failed": "failed"}
    return [
        f"run {run} ({name}) is {found.runs[run]['status'] if run in found.runs else 'gone'}"
        for name, runs in made.items()
        for run in runs
        if run not in found.runs or found.runs[run]["status"] != expected.get(name, "succeeded")
    ]


async def _digest(database: Database) -> str:
    """Every run with its state, in a few characters."""
    rows = [tuple(row) for row in await database.fetch(_STATE)]
    counted = ", ".join(f"{row[1]} {row[0]}" for row in rows)
    return f"{counted} ({hashlib.sha256(repr(rows).encode()).hexdigest()[:8]})"


async def backed_up(asked: CheckOptions) -> Verdict:
    """R19."""
    minutes = asked.of(3, 10, check=2)
    async with own_arena(watched=False, lease=5.0, heartbeat=1.0) as (bench, server):
        storm = await schedulers.plant(bench, asked.of(20, 100), 20.0)
        automation = await bench.save(FIVE_STEPS)
        storm.start_scheduler()
        pool = [bench.pool.start() for _ in range(2)]
        await bench.until_at_work(*pool)
        # However fast the others are, this one is under way when the backup is taken.
        await bench.dispatch(await bench.save(hanging("held")), 1)
        begin = min(storm.firsts.values())
        loading = asyncio.create_task(_load(bench, automation))
        try:
            await schedulers.until_past(storm, begin + minutes * schedulers.MINUTE, 120)
            stored = await make_backup(bench.application.database, bench.folder / "backup", None)
            busy = not loading.done()
        finally:
            loading.cancel()
        bench.pool.end()
        there, before, after = await _elsewhere(storm, server)
    doubled = [f"{pair}: {count} runs" for pair, count in after.items() if count > 1]
    statuses = Counter(row["status"] for row in there)
    return Verdict(
        [
            exactly("taken under load", busy, True),
            exactly("runs brought along, of", len(before), stored.rows["runs"]),
            at_least("of which were not over yet", _unfinished(before), 1),
            exactly("runs neither over nor able to go on", _unfinished(there), 0),
            exactly("runs that did not end well", len(there) - statuses["succeeded"], 0),
            none_of("ticks that fired twice", doubled),
            await battery(
                "secrets open with the right key alone; every row of every table:",
                [
                    "tests/integration/surfaces/test_backup_commands.py",
                    "tests/integration/store/test_backup.py",
                    "tests/integration/runs/test_backup_under_load.py",
                ],
                "restored_elsewhere or every_row or under_load",
            ),
        ],
        doubled,
    )


async def _load(bench: CrashBench, automation: UUID) -> None:
    while True:
        await bench.dispatch(automation, 4)
        await asyncio.sleep(0.1)


def _unfinished(rows: list[Any]) -> int:
    return sum(row["status"] not in FINAL for row in rows)


async def _elsewhere(
    storm: schedulers.SchedulerStress, server: EmbeddedServer
) -> tuple[list[Any], list[Any], Counter[tuple[Any, str]]]:
    """Another database gets the backup and workers; its runs at the end and at the beginning."""
    bench, url = storm.bench, server.dsn_for("elsewhere")
    await bench.application.database.execute("CREATE DATABASE elsewhere")
    database = await Database.open(Settings(home=bench.folder, database_url=url))
    try:
        with open_archive(bench.folder / "backup") as archive:
            await load(database, read_backup(archive))
    finally:
        await database.close()
    async with arena_at(
        url, bench.pool.fork_server, bench.folder, watched=False, lease=5.0, heartbeat=1.0
    ) as other:
        read = "SELECT id, status, trigger_id, payload FROM runs"
        before = await other.application.database.fetch(read)
        for _ in range(2):
            other.pool.start()
        other.runs = [row["id"] for row in before]
        (other.folder / "held").touch()
        # The schedules go on there from where they were.
        other.pool.start(role="scheduler", since=storm.since.timestamp(), pace=storm.pace)
        await other.until_final(120)
        other.pool.end()
        after = await other.application.database.fetch(read)
    ticks = Counter(
        (row["trigger_id"], row["payload"]["scheduled_for"])
        for row in after
        if row["trigger_id"] is not None
    )
    brought = {row["id"] for row in before}
    return [row for row in after if row["id"] in brought], before, ticks
