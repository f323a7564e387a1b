"""Health as the tables show it: rows that should have moved and did not."""

from __future__ import annotations

from uuid import UUID

from mainspring.contracts.ids import generate_id, get_lowest_id_at
from mainspring.runs.fleet import read_signals
from mainspring.runs.health import judge, read_health_signals, recent_runs
from tests.kit.bench import Bench, document, step

PLAN = step("one", "transform_data", {"output": 1})
SCHEDULE = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
LISTENER = {
    "id": "ends",
    "type": "event",
    "config": {
        "event_type": "automation.run.failed",
        "filters": {"automation_name": {"equals": "another"}},
    },
}


async def _red(bench: Bench) -> set[str]:
    async with bench.application.database.acquire() as connection:
        health = judge(await read_health_signals(connection))
    return {check.name for check in health.checks if not check.ok}


async def _due(bench: Bench) -> int:
    async with bench.application.database.acquire() as connection:
        return sum(one.due_runs for one in await read_signals(connection))


async def _set_due(bench: Bench, automation_id: UUID, when: str) -> None:
    await bench.application.database.execute(
        f"UPDATE triggers SET next_due_at = {when} WHERE automation_id = $1", automation_id
    )


async def test_a_new_installation_is_healthy(bench: Bench) -> None:
    assert await _red(bench) == set()


async def test_a_schedule_that_did_not_fire_is_shown_until_it_does(bench: Bench) -> None:
    saved = await bench.save(document(PLAN, triggers=[SCHEDULE]))
    await _set_due(bench, saved.automation_id, "now() - interval '50 s'")
    assert await _red(bench) == set()

    await _set_due(bench, saved.automation_id, "now() - interval '61 s'")
    assert await _red(bench) == {"schedules"}

    await _set_due(bench, saved.automation_id, "now() + interval '1 day'")
    assert await _red(bench) == set()
    await _set_due(bench, saved.automation_id, "NULL")
    assert await _red(bench) == set()


async def test_a_due_run_that_nobody_takes_is_shown_until_a_worker_comes(bench: Bench) -> None:
    made = await bench.dispatch(document(PLAN))
    assert await _red(bench) == set()
    await bench.application.database.execute("UPDATE runs SET due_at = now() - interval '61 s'")

    assert await _red(bench) == {"workers"}
    assert await _due(bench) == 1

    await bench.application.database.execute(
        "INSERT INTO workers (name, lease_until) VALUES ('busy', now() + interval '1 min')"
    )
    assert await _red(bench) == set()
    await bench.application.database.execute(
        "UPDATE workers SET lease_until = now() - interval '1 s'"
    )
    assert await _red(bench) == {"workers"}
    async with bench.worker():
        await bench.until(made.run_id)
    assert await _red(bench) == set()
    assert await _due(bench) == 0


async def test_workers_that_live_and_take_nothing_are_shown(bench: Bench) -> None:
    await bench.dispatch(document(PLAN))
    database = bench.application.database
    await database.execute("UPDATE runs SET due_at = now() - interval '61 s'")
    await database.execute(
        "INSERT INTO workers (name, lease_until, queues, slots) "
        "VALUES ('hung', now() + interval '1 min', '{fast,medium,long}', 4)"
    )
    assert await _red(bench) == {"workers"}

    # One that is full, or asked to leave, or takes something, is not to blame.
    await database.execute("UPDATE workers SET drain_at = now()")
    assert await _red(bench) == set()
    await database.execute("UPDATE workers SET drain_at = NULL, slots = 0")
    assert await _red(bench) == set()
    await database.execute("UPDATE workers SET slots = 4, queues = '{long}'")
    assert await _red(bench) == {"workers"}
    await database.execute("UPDATE workers SET queues = '{fast}'")
    await bench.dispatch(document(PLAN, name="taken"))
    await database.execute(
        "UPDATE runs SET status = 'running', worker = (SELECT id FROM workers), claimed_at = now() "
        "WHERE due_at > now() - interval '60 s'"
    )
    assert await _red(bench) == set()
    await database.execute(
        "UPDATE runs SET claimed_at = now() - interval '61 s' WHERE status = 'running'"
    )
    assert await _red(bench) == {"workers"}
    # Ends that were just reported show that the application moves on.
    await database.execute(
        "INSERT INTO events (workspace_id, id, type, source_id, payload) "
        "VALUES ($1, $2, 'automation.run.succeeded', 'a test', '{}')",
        bench.application.workspace_id,
        generate_id(),
    )
    assert await _red(bench) == set()


async def test_a_run_that_waits_for_its_time_or_its_turn_is_not_late(bench: Bench) -> None:
    await bench.dispatch(document(PLAN))
    for due in ("'infinity'", "now() + interval '1 hour'"):
        await bench.application.database.execute(f"UPDATE runs SET due_at = {due}")

        assert await _red(bench) == set()
        assert await _due(bench) == 0


async def test_an_event_that_nobody_matched_is_shown_until_it_is(bench: Bench) -> None:
    database, event = bench.application.database, generate_id()
    await database.execute(
        "INSERT INTO event_cursors (consumer, xid, id) VALUES ('triggers', '0', $1), "
        "('somebody else', pg_current_xact_id(), $1)",
        UUID(int=0),
    )
    await database.execute(
        "INSERT INTO events (workspace_id, id, type, source_id, payload) "
        "VALUES ($1, $2, 'a.fact', 'a test', '{}')",
        bench.application.workspace_id,
        event,
    )
    assert await _red(bench) == set()
    await database.execute("UPDATE events SET created_at = now() - interval '61 s'")
    assert await _red(bench) == {"events"}

    await database.execute(
        "UPDATE event_cursors SET (xid, id) = (SELECT xid, id FROM events) "
        "WHERE consumer = 'triggers'"
    )
    assert await _red(bench) == set()


async def test_listeners_that_nobody_reads_the_log_for_are_shown(bench: Bench) -> None:
    await bench.save(document(PLAN, triggers=[LISTENER]))
    database = bench.application.database
    await database.execute("UPDATE triggers SET armed_at = now() - interval '61 s'")
    assert await _red(bench) == {"events"}

    await database.execute(
        "INSERT INTO event_cursors (consumer, xid, id) VALUES ('triggers', '0', $1)", UUID(int=0)
    )
    assert await _red(bench) == set()


async def test_runs_are_counted_by_status_within_the_workspace_and_the_hour(
    bench: Bench,
) -> None:
    await bench.run(document(PLAN))
    await bench.dispatch(document(PLAN))
    database, here = bench.application.database, bench.application.workspace_id
    since = get_lowest_id_at(bench.application.clock.now().replace(year=2020))

    assert await recent_runs(database, here, since) == {"succeeded": 1, "pending": 1}
    assert await recent_runs(database, generate_id(), since) == {}
    await database.execute("UPDATE runs SET created_at = now() - interval '61 min'")
    assert await recent_runs(database, here, since) == {}
