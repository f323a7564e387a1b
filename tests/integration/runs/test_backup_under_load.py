"""A backup taken while everything works and restored elsewhere: nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mainspring.actions.script.runner import ScriptRunner
from mainspring.app import build_application, build_registry, prepare_database
from mainspring.contracts.limits import Limits
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.store.backup import make_backup, open_archive, read_backup
from mainspring.store.database import Database
from mainspring.store.restore import load
from mainspring.triggers.scheduler import Scheduler
from mainspring.workspace.automations import set_state
from tests.kit.bench import PATIENCE, Bench, document, step
from tests.kit.capabilities import Outside

MINUTE = timedelta(minutes=1)
_STATES = "SELECT status, count(*)::int AS number FROM runs GROUP BY status"
_TICKS = "SELECT payload->>'scheduled_for' AS moment FROM runs WHERE trigger_type = 'schedule'"
_DONE = "SELECT run_id, step, attempt, finished_at FROM steps WHERE status = 'succeeded'"


def clock(**config: Any) -> dict[str, Any]:
    return {
        "id": "clock",
        "type": "schedule",
        "config": {"cron": "* * * * *", "timezone": "UTC", **config},
    }


@asynccontextmanager
async def elsewhere(url: str, home: Path, outside: Outside) -> AsyncIterator[Bench]:
    """Another application over another database, which knows the same words."""
    settings = Settings(
        home=home,
        database_url=url,
        poll_seconds=0.2,
        stop_seconds=1.0,
        lease_seconds=12.0,
        heartbeat_seconds=0.5,
    )
    database = await Database.open(settings)
    script_runner = ScriptRunner(Limits(), address=settings.address, warm=0, database=database)
    registry = build_registry(
        Limits(),
        database=database,
        capabilities=outside.capabilities(),
        script_runner=script_runner,
    )
    application = build_application(settings, Limits(), registry, database, script_runner)
    try:
        yield Bench(application, outside)
    finally:
        await script_runner.aclose()
        for part in (application.gate, application.wakeup_sender, application.egress):
            await part.aclose()
        await database.close()


async def states(bench: Bench) -> dict[str, int]:
    rows = await bench.application.database.fetch(_STATES)
    return {row["status"]: row["number"] for row in rows}


async def ticks(bench: Bench) -> Counter[str]:
    return Counter(row["moment"] for row in await bench.application.database.fetch(_TICKS))


async def load_it(bench: Bench, automations: list[Any], first: datetime) -> None:
    """Work of all kinds, without end: manual runs, and a schedule that goes off."""
    application = bench.application
    scheduler = Scheduler(application.database, application.dispatcher, application.limits)
    moment = first
    while True:
        await scheduler.once(moment)
        moment += MINUTE
        for automation in automations:
            await application.dispatcher.dispatch(RunRequest(application.workspace_id, automation))


async def test_a_backup_under_load_is_one_moment_and_goes_on_elsewhere(
    bench: Bench, empty_database_url: str, tmp_path: Path
) -> None:
    application = bench.application
    quick = await bench.save(document(*(step(name, "test.note") for name in "abc"), name="quick"))
    stuck = await bench.save(
        document(
            step("a", "test.note"),
            step("b", "test.hang"),
            step("c", "test.note"),
            name="stuck",
            execution={"concurrency": "allow_parallel"},
        )
    )
    timed = await bench.save(
        document(
            step("a", "test.note"),
            name="timed",
            execution={"concurrency": "allow_parallel"},
            triggers=[clock(misfire="fire_all", catch_up_seconds=3600)],
        )
    )
    async with application.database.transaction() as tx:
        await set_state(tx, application.workspace_id, timed.automation_id, "active")
    first = await application.database.fetchval("SELECT next_due_at FROM triggers")
    made = await application.dispatcher.dispatch(
        RunRequest(application.workspace_id, stuck.automation_id)
    )
    async with bench.worker():
        await asyncio.wait_for(bench.outside.started.wait(), PATIENCE)
        load = asyncio.create_task(
            load_it(bench, [quick.automation_id, stuck.automation_id], first)
        )
        async with asyncio.timeout(PATIENCE):
            while (await states(bench)).get("succeeded", 0) < 20:
                await asyncio.sleep(0.01)
        backup = await make_backup(application.database, tmp_path / "a", None)
        assert not load.done()
        load.cancel()
        await asyncio.gather(load, return_exceptions=True)
        bench.outside.release.set()

    outside = Outside()
    outside.release.set()
    async with elsewhere(empty_database_url, tmp_path / "home", outside) as other:
        await restored(tmp_path / "a", other.application.database)
        await prepare_database(other.application)
        before, ticked = await states(other), await ticks(other)
        assert sum(before.values()) == backup.rows["runs"]
        assert before["running"] >= 1
        assert ticked
        assert max(ticked.values()) == 1
        recorded = await other.application.database.fetch(_DONE)
        # Its worker is not here: once its lease is over, others take what it had.
        await other.application.database.execute("UPDATE workers SET lease_until = now()")
        due = await other.application.database.fetchval("SELECT next_due_at FROM triggers")
        scheduler = Scheduler(
            other.application.database, other.application.dispatcher, other.application.limits
        )
        await scheduler.once(due + 3 * MINUTE)
        async with other.worker():
            async with asyncio.timeout(PATIENCE * 3):
                while set(await states(other)) - set(FINAL):
                    await asyncio.sleep(0.02)
            run = await other.read(made.run_id)
        assert run["status"] == "succeeded"
        after = await ticks(other)
        assert max(after.values()) == 1
        assert len(after) == len(ticked) + 4
        # What was on record is there still, and was not done again.
        now = await other.application.database.fetch(_DONE)
        assert {tuple(row) for row in recorded} <= {tuple(row) for row in now}
        assert len({(row["run_id"], row["step"]) for row in now}) == len(now)


async def restored(path: Path, database: Database) -> None:
    with open_archive(path) as archive:
        await load(database, read_backup(archive))
