"""Schedules fire once for each fire time, whichever process looks and whatever breaks."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.app import build_application, prepare_database
from mainspring.contracts.errors import StorageFull
from mainspring.definition.cron import parse_cron
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.triggers.scheduler import BATCH, Scheduler, VersionPrefetcher
from mainspring.workspace import schedules
from mainspring.workspace.automations import set_state
from tests.kit.bench import PATIENCE, Bench, document, step
from tests.kit.full_disk import full_disk, install_full_disk

MINUTE = timedelta(minutes=1)
PARALLEL = {"concurrency": "allow_parallel"}


def scheduler_of(bench: Bench, **more: Any) -> Scheduler:
    application = bench.application
    return Scheduler(application.database, application.dispatcher, application.limits, **more)


def schedule(cron: str = "* * * * *", slug: str = "clock", **config: Any) -> dict[str, Any]:
    inputs = config.pop("inputs", {})
    config = {"cron": cron, "timezone": "UTC", **config}
    return {"id": slug, "type": "schedule", "config": config, "inputs": inputs}


async def armed(
    bench: Bench, *triggers: Mapping[str, Any], name: str = "a test", **more: Any
) -> UUID:
    """An active automation with these triggers."""
    plan = more.pop("plan", [step("a", "test.echo")])
    more.setdefault("execution", PARALLEL)
    saved = await bench.save(document(*plan, name=name, triggers=list(triggers), **more))
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    return saved.automation_id


async def due_of(bench: Bench, slug: str = "clock") -> datetime:
    query = "SELECT next_due_at FROM triggers WHERE slug = $1"
    timestamp: datetime = await bench.application.database.fetchval(query, slug)
    return timestamp


async def runs_of(bench: Bench) -> list[dict[str, Any]]:
    return [
        dict(row)
        for row in await bench.application.database.fetch("SELECT * FROM runs ORDER BY id")
    ]


async def recorded(bench: Bench) -> dict[str, int]:
    """Moments without a run, by reason."""
    rows = await bench.application.database.fetch(
        "SELECT reason, sum(moments)::int AS moments FROM firings "
        "WHERE run_id IS NULL GROUP BY reason"
    )
    return {row["reason"]: row["moments"] for row in rows}


async def until_runs(bench: Bench, count: int) -> list[dict[str, Any]]:
    async with asyncio.timeout(PATIENCE):
        while len(found := await runs_of(bench)) < count:
            await asyncio.sleep(0.01)
    return found


@asynccontextmanager
async def at_work(scheduler: Scheduler) -> AsyncIterator[asyncio.Task[None]]:
    stop = asyncio.Event()
    task = asyncio.create_task(scheduler.run(stop))
    try:
        yield task
    finally:
        stop.set()
        await asyncio.wait_for(task, PATIENCE)


async def test_a_due_schedule_starts_one_run_that_knows_its_moments(bench: Bench) -> None:
    automation = await armed(bench, schedule(inputs={"n": 3}), inputs=NEEDS_N)
    due = await due_of(bench)
    scheduler = scheduler_of(bench)
    assert await scheduler.once(due - timedelta(microseconds=1)) == 0
    assert await scheduler.once(due + timedelta(milliseconds=7)) == 1
    assert await scheduler.once(due + timedelta(milliseconds=8)) == 0
    (run,) = await runs_of(bench)
    assert run["status"] == "pending"
    assert run["trigger_type"] == "schedule"
    assert run["inputs"] == {"n": 3}
    created = await bench.application.database.fetchval("SELECT created_at FROM automations")
    assert run["automation_id"] == automation
    read = {name: datetime.fromisoformat(text) for name, text in run["payload"].items()}
    assert read == {
        "fired_at": due + timedelta(milliseconds=7),
        "scheduled_for": due,
        "last_fired_at": created,
    }
    assert all(text.endswith("Z") for text in run["payload"].values())
    row = await bench.application.database.fetchrow(
        "SELECT next_due_at, last_fired_at FROM triggers"
    )
    assert row is not None
    assert (row["next_due_at"], row["last_fired_at"]) == (due + MINUTE, due)


NEEDS_N = {
    "schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
}


async def test_several_schedulers_at_once_start_one_run_for_each_due_moment(bench: Bench) -> None:
    for number in range(3):
        triggers = [schedule(slug=f"t{n}") for n in range(20)]
        await armed(bench, *triggers, name=f"automation {number}")
    due = await due_of(bench, "t0")
    burst = [scheduler_of(bench) for _ in range(5)]
    for minute in range(3):
        now = due + MINUTE * minute + timedelta(milliseconds=1)
        while sum(await asyncio.gather(*(one.once(now) for one in burst))):
            pass
    made = Counter(
        (run["trigger_id"], run["payload"]["scheduled_for"]) for run in await runs_of(bench)
    )
    assert len(made) == 60 * 3
    assert set(made.values()) == {1}


@pytest.mark.parametrize(
    ("misfire", "window", "fired", "reasons"),
    [
        ("skip", 43_200, 0, {"missed_skip": 72}),
        ("fire_once", 43_200, 1, {"missed_superseded": 71}),
        ("fire_all", 43_200, 72, {}),
        ("skip", None, 0, {"missed_skip": 72}),
        ("fire_once", None, 1, {"missed_superseded": 11, "missed_too_old": 60}),
        ("fire_all", None, 12, {"missed_too_old": 60}),
    ],
)
async def test_six_hours_of_silence_follow_the_policy_and_every_missed_moment_is_recorded(
    bench: Bench, misfire: str, window: int | None, fired: int, reasons: dict[str, int]
) -> None:
    more: dict[str, Any] = {} if window is None else {"catch_up_seconds": window}
    await armed(bench, schedule("*/5 * * * *", misfire=misfire, **more))
    first = await due_of(bench)
    wake = first + timedelta(hours=5, minutes=55, seconds=30)
    assert await scheduler_of(bench).once(wake) == 1
    runs = await runs_of(bench)
    assert len(runs) == fired
    assert await recorded(bench) == reasons
    assert await bench.application.database.fetchval("SELECT count(*) FROM firings") == 72
    stored = await bench.application.database.fetchval(
        "SELECT bool_and(expires_at > now() + interval '89 days') FROM firings"
    )
    assert stored is True
    moments = [datetime.fromisoformat(run["payload"]["scheduled_for"]) for run in runs]
    assert moments == [wake - timedelta(seconds=30) - 5 * MINUTE * n for n in range(fired)][::-1]
    assert await due_of(bench) == wake + timedelta(minutes=4, seconds=30)


async def test_a_year_of_silence_is_recorded_in_few_rows(bench: Bench) -> None:
    await armed(bench, schedule("* * * * *", misfire="fire_all"))
    first = await due_of(bench)
    now = first + timedelta(days=365, seconds=45)
    assert await scheduler_of(bench).once(now) == 1
    assert len(await runs_of(bench)) == 60
    assert sum((await recorded(bench)).values()) == 365 * 1440 + 1 - 60
    rows = await bench.application.database.fetchval("SELECT count(*) FROM firings")
    assert rows <= bench.application.limits.missed_records + 60 + 2


async def test_a_clock_set_back_starts_nothing_twice(bench: Bench) -> None:
    await armed(bench, schedule(misfire="fire_all", catch_up_seconds=43_200))
    due, scheduler = await due_of(bench), scheduler_of(bench)
    await scheduler.once(due + 5 * MINUTE)
    before = [run["id"] for run in await runs_of(bench)]
    assert len(before) == 6
    for step_back in (timedelta(hours=1), timedelta(seconds=1)):
        assert await scheduler.once(due + 5 * MINUTE - step_back) == 0
    # As if it had been paused and activated while the clock was wrong.
    await bench.application.database.execute("UPDATE triggers SET next_due_at = $1", due + MINUTE)
    assert await scheduler.once(due + 5 * MINUTE) == 1
    assert [run["id"] for run in await runs_of(bench)] == before
    assert await due_of(bench) == due + 6 * MINUTE


@pytest.mark.parametrize(
    "damage",
    [
        "config = '{}'",
        "config = '[]'",
        """config = '{"cron": "every now and then", "timezone": "UTC"}'""",
        """config = '{"cron": "* * * * *", "timezone": "Mars/Base"}'""",
        """config = '{"cron": "* * * * *", "timezone": "../etc/passwd"}'""",
        "inputs = '[1]'",
    ],
)
async def test_a_damaged_schedule_comes_to_rest_with_a_record_and_holds_up_nobody(
    bench: Bench, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    await armed(bench, *(schedule(slug=f"t{n}") for n in range(4)))
    await bench.application.database.execute(f"UPDATE triggers SET {damage} WHERE slug = 't1'")
    due = await due_of(bench, "t1")
    with caplog.at_level(logging.ERROR):
        assert await scheduler_of(bench).once(due) == 4
    assert "is disabled" in caplog.text
    assert len(await runs_of(bench)) == 3
    assert await recorded(bench) == {"unreadable": 1}
    assert await due_of(bench, "t1") is None
    armed_at = "SELECT armed_at IS NOT NULL FROM triggers WHERE slug = 't1'"
    assert await bench.application.database.fetchval(armed_at) is True


async def test_one_that_cannot_be_fired_stays_overdue_and_the_others_fire(bench: Bench) -> None:
    await armed(bench, *(schedule(slug=f"t{n}") for n in range(5)))
    database = bench.application.database
    bad = await database.fetchval("SELECT id FROM triggers WHERE slug = 't2'")
    await database.execute(
        f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'no'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON runs FOR EACH ROW
            WHEN (NEW.trigger_id = '{bad}') EXECUTE FUNCTION refuse();
        """
    )
    due, scheduler = await due_of(bench, "t2"), scheduler_of(bench)
    assert await scheduler.once(due) == 4
    assert bad not in {run["trigger_id"] for run in await runs_of(bench)}
    assert await due_of(bench, "t2") == due
    # It is left alone for a while, and others are not held up by it.
    assert await scheduler.once(due + MINUTE) == 4
    await database.execute("DROP TRIGGER refuse ON runs")
    assert await scheduler_of(bench).once(due + MINUTE) == 1
    assert await due_of(bench, "t2") == due + 2 * MINUTE


async def test_a_version_that_cannot_be_read_becomes_a_failed_run_and_the_schedule_goes_on(
    bench: Bench,
) -> None:
    await armed(bench, schedule())
    await bench.application.database.execute("UPDATE definitions SET document = '{}'")
    bench.application.versions.forget()
    due = await due_of(bench)
    assert await scheduler_of(bench).once(due) == 1
    (run,) = await runs_of(bench)
    assert (run["status"], run["reason"]) == ("failed", "unreadable_version")
    assert await due_of(bench) == due + MINUTE


async def test_inputs_that_do_not_fit_become_a_failed_run_and_the_schedule_goes_on(
    bench: Bench,
) -> None:
    await armed(bench, schedule(inputs={"n": 3}), inputs=NEEDS_N)
    await bench.application.database.execute("""UPDATE triggers SET inputs = '{"n": "three"}'""")
    due = await due_of(bench)
    assert await scheduler_of(bench).once(due) == 1
    (run,) = await runs_of(bench)
    assert (run["status"], run["reason"]) == ("failed", "invalid_inputs")
    assert await due_of(bench) == due + MINUTE


async def test_a_paused_automation_has_nothing_due_and_misses_nothing(bench: Bench) -> None:
    automation = await armed(bench, schedule(misfire="fire_all"))
    due = await due_of(bench)
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, automation, "paused")
    assert await due_of(bench) is None
    assert await scheduler_of(bench).once(due + 60 * MINUTE) == 0
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, automation, "active")
    now = await bench.application.database.fetchval("SELECT now()")
    assert await due_of(bench) > now
    assert await recorded(bench) == {}


async def test_a_batch_is_bounded_and_the_rest_follows(bench: Bench) -> None:
    automation = await armed(bench, schedule("0 0 1 1 *"))
    count = BATCH + 20
    now = await _stored(bench, automation, count, "now() - interval '10 seconds'")
    scheduler = scheduler_of(bench)
    assert await scheduler.once(now) == BATCH
    assert await scheduler.once(now) == 20
    assert await scheduler.once(now) == 0
    assert len(await runs_of(bench)) == count


async def _stored(bench: Bench, automation: UUID, count: int, due: str) -> datetime:
    """Many more triggers of an automation, due at the moment that an expression names."""
    await bench.application.database.execute(
        f"""
        INSERT INTO triggers
            (workspace_id, id, automation_id, slug, type, config, armed_at, next_due_at)
        SELECT workspace_id, gen_random_uuid(), automation_id, 'more-' || n, type, config, now(),
            {due}
        FROM triggers, generate_series(1, $2) AS n WHERE automation_id = $1
        """,
        automation,
        count,
    )
    now: datetime = await bench.application.database.fetchval("SELECT now()")
    return now


async def test_what_is_stored_and_not_due_costs_nothing(bench: Bench) -> None:
    database = bench.application.database
    await database.execute("ALTER TABLE triggers SET (autovacuum_enabled = false)")
    automation = await armed(bench, schedule("0 0 1 1 *"))
    far = "now() + random() * interval '300 days' + interval '1 hour'"
    now = await _stored(bench, automation, 20_000, far)
    plans = [
        await database.fetch(f"EXPLAIN {schedules._DUE}", now, BATCH, []),
        await database.fetch(f"EXPLAIN {schedules._NEXT}", []),
        await _generic(database, schedules._DUE, "timestamptz, int, uuid[]", "now(), 500, '{}'"),
        await _generic(database, schedules._NEXT, "uuid[]", "'{}'"),
    ]
    for plan in plans:
        lines = "\n".join(row[0] for row in plan)
        assert "using triggers_due on triggers" in lines, lines
        assert "Seq Scan" not in lines, lines
        assert "Sort" not in lines, lines
    read = await database.fetch(
        f"EXPLAIN (ANALYZE, TIMING OFF, BUFFERS ON) {schedules._DUE}", now, BATCH, []
    )
    assert "Buffers: shared hit=2" in read[1][0], read


async def _generic(database: Database, query: str, kinds: str, values: str) -> Any:
    """The plan that a long-lived connection comes to, made for any values."""
    async with database.transaction() as tx:
        await tx.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        await tx.execute(f"PREPARE asked({kinds}) AS {query}")
        plan = await tx.fetch(f"EXPLAIN EXECUTE asked({values})")
        await tx.execute("DEALLOCATE asked")
    assert "$1" in "".join(row[0] for row in plan)
    return plan


async def test_the_loop_fires_at_the_moment_and_sees_schedules_that_come_later(
    bench: Bench,
) -> None:
    foresight = VersionPrefetcher(bench.application.database, bench.application.versions)
    async with at_work(scheduler_of(bench, foresight=foresight)), bench.worker():
        await armed(bench, schedule("0 0 1 1 *"))
        soon = "UPDATE triggers SET next_due_at = now() + interval '0.4 seconds'"
        await bench.application.database.execute(soon)
        due = await due_of(bench)
        (run,) = await until_runs(bench, 1)
        assert datetime.fromisoformat(run["payload"]["scheduled_for"]) == due
        assert run["created_at"] >= due
        assert (await bench.until(run["id"]))["status"] == "succeeded"


async def test_what_is_about_to_fire_is_made_ready_and_damage_is_left_for_its_moment(
    bench: Bench,
) -> None:
    soon, damaged, later = [
        await armed(bench, schedule(slug=name), name=name) for name in ("soon", "damaged", "later")
    ]
    database = bench.application.database
    await database.execute(
        "UPDATE triggers SET next_due_at = now() + CASE slug WHEN 'later' THEN interval '1 hour' "
        "ELSE interval '10 seconds' END"
    )
    await database.execute(
        "UPDATE definitions SET document = '{}' WHERE hash = "
        "(SELECT definition_hash FROM automation_versions WHERE automation_id = $1)",
        damaged,
    )
    bench.application.versions.forget()
    foresight = VersionPrefetcher(database, bench.application.versions)
    now = await database.fetchval("SELECT now()")
    await foresight.look(now, 0.05)
    assert _ready(bench) == set()
    await foresight.look(now, 10.0)
    assert _ready(bench) == {soon}
    assert later not in _ready(bench)
    due = await due_of(bench, "soon")
    scheduler = scheduler_of(bench, foresight=foresight)
    assert await scheduler.once(due) == 2
    assert sorted(run["status"] for run in await runs_of(bench)) == ["failed", "pending"]


def _ready(bench: Bench) -> set[UUID]:
    stored = bench.application.versions._kept
    return {key[1] for key, task in stored.items() if task.done() and task.exception() is None}


async def test_the_loop_outlives_lost_connections(bench: Bench, database_url: str) -> None:
    settings = Settings(database_url=database_url)
    apart = await Database.open(settings, name="apart")
    application = build_application(
        settings, bench.application.limits, bench.application.registry, apart
    )
    await prepare_database(application)
    await armed(bench, schedule("0 0 1 1 *"))
    cut = """
        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
        WHERE application_name LIKE 'apart:%'
    """
    try:
        async with at_work(
            Scheduler(apart, application.dispatcher, application.limits, poll=0.02)
        ) as task:
            for number in range(1, 6):
                async with asyncio.timeout(PATIENCE):
                    while not await bench.application.database.fetchval(cut):
                        await asyncio.sleep(0.01)
                await bench.application.database.execute("UPDATE triggers SET next_due_at = now()")
                assert len(await until_runs(bench, number)) == number
            assert not task.done()
    finally:
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
        await apart.close()


async def test_a_scheduler_that_is_asked_to_stop_ends_while_it_sleeps(bench: Bench) -> None:
    stop = asyncio.Event()
    task = asyncio.create_task(scheduler_of(bench, poll=3_600.0).run(stop))
    await asyncio.sleep(0)
    stop.set()
    await asyncio.wait_for(task, PATIENCE)


@pytest.mark.parametrize(
    ("zone", "start", "daily"),
    [
        ("Europe/Berlin", "2027-03-27T19:00Z", "2027-03-28T01:00Z"),
        ("America/New_York", "2027-11-07T02:00Z", "2027-11-07T07:30Z"),
    ],
)
async def test_a_day_of_clock_changes_has_one_daily_run_and_every_quarter(
    bench: Bench, zone: str, start: str, daily: str
) -> None:
    await armed(
        bench,
        schedule("30 2 * * *", "daily", timezone=zone),
        schedule("*/15 * * * *", "quarters", timezone=zone),
    )
    now = datetime.fromisoformat(start)
    for slug, cron in (("daily", "30 2 * * *"), ("quarters", "*/15 * * * *")):
        await bench.application.database.execute(
            "UPDATE triggers SET next_due_at = $1 WHERE slug = $2",
            parse_cron(cron).after(now, zone),
            slug,
        )
    scheduler, until = scheduler_of(bench), now + timedelta(hours=12)
    while now <= until:
        await scheduler.once(now)
        now = min(await due_of(bench, "daily"), await due_of(bench, "quarters"))
    rows = await bench.application.database.fetch(
        "SELECT t.slug, r.payload ->> 'scheduled_for' AS at FROM runs r "
        "JOIN triggers t ON t.id = r.trigger_id ORDER BY 1, 2"
    )
    fired = [datetime.fromisoformat(row["at"]) for row in rows if row["slug"] == "quarters"]
    assert fired == [datetime.fromisoformat(start) + 15 * MINUTE * n for n in range(1, 49)]
    once = [datetime.fromisoformat(row["at"]) for row in rows if row["slug"] == "daily"]
    assert once == [datetime.fromisoformat(daily)]


async def test_overlapping_moments_follow_the_concurrency_of_the_automation(bench: Bench) -> None:
    config: dict[str, Any] = {"misfire": "fire_all", "catch_up_seconds": 3_600}
    plan = [step("a", "test.note", {"mark": "{{ trigger.scheduled_for }}"})]
    for policy in ("queue", "drop_if_running"):
        await armed(
            bench,
            schedule(slug=policy, **config),
            name=policy,
            plan=plan,
            execution={"concurrency": policy},
        )
    due = await due_of(bench, "queue")
    assert await scheduler_of(bench).once(due + 4 * MINUTE) == 2
    rows = await bench.application.database.fetch(
        "SELECT a.name, r.id, r.status, r.reason FROM runs r "
        "JOIN automations a ON a.id = r.automation_id ORDER BY r.id"
    )
    dropped = [(row["status"], row["reason"]) for row in rows if row["name"] != "queue"]
    assert Counter(dropped) == {("pending", None): 1, ("skipped", "dropped"): 4}
    async with bench.worker():
        for row in rows:
            await bench.until(row["id"])
    marks = [mark for mark in bench.outside.order if mark]
    first = marks[0]
    assert len(marks) == 6
    # Five in their order, and the one that was not dropped somewhere at the same time.
    marks.remove(first)
    assert sorted(marks) == marks


async def test_a_full_disk_puts_no_schedule_aside(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await armed(bench, schedule())
    now = await due_of(bench)
    scheduler = scheduler_of(bench)
    await install_full_disk(bench.application.database)
    async with full_disk(bench.application.database):
        with pytest.raises(StorageFull):
            await scheduler.once(now)
    assert await scheduler.once(now) == 1
    assert len(await runs_of(bench)) == 1
    assert "Traceback" not in caplog.text
