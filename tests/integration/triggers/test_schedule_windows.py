"""The stretch of time a scheduled run is given: no gap between runs that succeeded."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from mainspring.runs.replay import replay
from mainspring.triggers.scheduler import Scheduler
from mainspring.workspace.automations import set_state
from tests.kit.bench import Bench, document, step

MINUTE = timedelta(minutes=1)
SINCE = {
    "schema": {
        "type": "object",
        "properties": {
            "failures": {"type": "integer", "default": 0},
            "since": {"type": "string", "format": "date-time", "default": "$last_fired_at"},
        },
    }
}
PLAN = step("work", "test.flaky", {"failures": "{{ inputs.failures }}", "permanent": True})


@dataclass(frozen=True, slots=True)
class Window:
    """What one run was given, and whether it succeeded."""

    run_id: UUID
    since: datetime
    until: datetime
    succeeded: bool


class Fixture:
    """A schedule of every minute, driven through simulated time with a real worker."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        application = bench.application
        self.scheduler = Scheduler(application.database, application.dispatcher, application.limits)

    async def begin(self, **config: Any) -> datetime:
        """Saves and activates it; answers when the automation was made."""
        config = {"cron": "* * * * *", "timezone": "UTC", **config}
        saved = await self.bench.save(
            document(
                PLAN, inputs=SINCE, triggers=[{"id": "t", "type": "schedule", "config": config}]
            )
        )
        database = self.bench.application.database
        async with database.transaction() as tx:
            await set_state(tx, self.bench.application.workspace_id, saved.automation_id, "active")
        made: datetime = await database.fetchval("SELECT created_at FROM automations")
        return made

    async def fire(self, *, fails: bool = False, late: timedelta = timedelta(0)) -> None:
        """The next moment comes, and its runs end one way or the other."""
        database = self.bench.application.database
        await database.execute("UPDATE triggers SET inputs = $1", {"failures": int(fails)})
        due = await database.fetchval("SELECT next_due_at FROM triggers")
        assert await self.scheduler.once(due + late) == 1
        for row in await database.fetch("SELECT id FROM runs WHERE finished_at IS NULL"):
            await self.bench.until(row["id"])

    async def windows(self) -> list[Window]:
        rows = await self.bench.application.database.fetch(
            "SELECT id, payload, inputs, status FROM runs WHERE replay_of IS NULL ORDER BY id"
        )
        found = [
            Window(
                row["id"],
                datetime.fromisoformat(row["payload"]["last_fired_at"]),
                datetime.fromisoformat(row["payload"]["scheduled_for"]),
                row["status"] == "succeeded",
            )
            for row in rows
        ]
        given = [datetime.fromisoformat(row["inputs"]["since"]) for row in rows]
        assert given == [window.since for window in found]
        return found


async def test_windows_of_succeeded_runs_have_no_gap_and_repeat_only_what_failed(
    bench: Bench,
) -> None:
    chance, schedule = random.Random(13), Fixture(bench)
    made = await schedule.begin()
    async with bench.worker():
        for _ in range(40):
            await schedule.fire(fails=chance.random() < 0.4)
        await schedule.fire()
    windows = await schedule.windows()
    assert any(not window.succeeded for window in windows)

    covered, failed = made, False
    for window in windows:
        # Each begins where success has come to, so after a failure it reaches back over it.
        assert window.since == covered
        if window.succeeded:
            covered = window.until
        failed = not window.succeeded
    assert not failed
    good = [window for window in windows if window.succeeded]
    assert [window.since for window in good[1:]] == [window.until for window in good[:-1]]
    assert good[0].since == made


async def test_what_was_covered_stays_known_when_old_runs_are_gone(bench: Bench) -> None:
    schedule = Fixture(bench)
    await schedule.begin()
    async with bench.worker():
        await schedule.fire()
        await schedule.fire(fails=True)
    covered = (await schedule.windows())[0].until
    # Retention takes history away, and the last success with it.
    for table in ("steps", "calls", "runs"):
        await bench.application.database.execute(f"DELETE FROM {table}")
    async with bench.worker():
        await schedule.fire(fails=True)
        await schedule.fire()
        await schedule.fire()
    first, second, third = await schedule.windows()
    assert (first.since, second.since) == (covered, covered)
    assert third.since == second.until


async def test_a_replay_covers_nothing(bench: Bench) -> None:
    schedule, application = Fixture(bench), bench.application
    await schedule.begin()
    async with bench.worker():
        for fails in (False, False, True):
            await schedule.fire(fails=fails)
        first, second, third = await schedule.windows()
        for again in (first, third):
            made = await replay(
                application.database,
                application.dispatcher,
                application.limits,
                application.workspace_id,
                again.run_id,
                inputs={"failures": 0},
            )
            assert (await bench.until(made.run_id))["status"] == "succeeded"
        await schedule.fire()
    assert (await schedule.windows())[-1].since == second.until


async def test_moments_that_fire_together_all_begin_where_success_has_come_to(
    bench: Bench,
) -> None:
    schedule = Fixture(bench)
    made = await schedule.begin(misfire="fire_all")
    async with bench.worker():
        await schedule.fire(late=3 * MINUTE)
        await schedule.fire()
    *together, last = await schedule.windows()
    assert [window.since for window in together] == [made] * 4
    assert last.since == together[-1].until


async def test_a_skipped_run_leaves_its_stretch_to_the_next(bench: Bench) -> None:
    schedule = Fixture(bench)
    made = await schedule.begin(misfire="skip")
    async with bench.worker():
        await schedule.fire(late=10 * MINUTE + timedelta(seconds=1))
    (window,) = await schedule.windows()
    assert window.since == made


async def test_a_payload_that_cannot_be_read_covers_nothing(bench: Bench) -> None:
    schedule = Fixture(bench)
    made = await schedule.begin()
    async with bench.worker():
        await schedule.fire()
        damage = """UPDATE runs SET payload = '{"scheduled_for": "yesterday"}'"""
        await bench.application.database.execute(damage)
        await schedule.fire()
    row = await bench.application.database.fetchrow(
        "SELECT payload FROM runs ORDER BY id DESC LIMIT 1"
    )
    assert row is not None
    assert datetime.fromisoformat(row["payload"]["last_fired_at"]) == made
