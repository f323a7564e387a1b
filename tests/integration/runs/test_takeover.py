"""A lost worker's runs are taken over: nothing recorded is repeated, nothing stale is written."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from mainspring.runs import queue
from mainspring.runs.rows import RunEvent
from mainspring.runs.worker import rescue, return_strays
from mainspring.store.application_name import hash_host_name
from tests.kit.bench import Bench, document, step
from tests.kit.lock_waits import cut_off, until_in_line
from tests.kit.lost_worker import LEASES_OVER, Dead, lose_workers

PATIENCE = 60.0
LONG_LEASE: dict[str, Any] = {"heartbeat_seconds": 60.0, "lease_seconds": 60.0}


class DieOnce:
    """A hook that ends the first execution to reach a commit point, as a crash would.

    Nor does its worker claim anything from then on: what is dead takes no run back.
    """

    def __init__(self, point: str) -> None:
        self.point = point
        self.reached = asyncio.Event()
        self.claiming = False

    def __call__(self, point: str) -> None:
        if point.startswith("claim."):
            if self.reached.is_set() and point == "claim.before":
                raise ConnectionError("This worker is dead.")
            self.claiming = point == "claim.before"
        elif point == self.point and not self.reached.is_set():
            self.reached.set()
            raise asyncio.CancelledError

    async def death(self) -> None:
        """Until the crash has come and no claim of before it is under way."""
        async with asyncio.timeout(60):
            await self.reached.wait()
            while self.claiming:
                await asyncio.sleep(0.001)


async def _crash_at(bench: Bench, plan: dict[str, Any], point: str) -> UUID:
    hook = DieOnce(point)
    made = await bench.dispatch(plan)
    async with bench.worker(hook=hook, heartbeat_seconds=60.0, lease_seconds=60.0):
        await hook.death()
        await lose_workers(bench)
    return made.run_id


PLAN = document(
    step("a", "test.note", {"mark": "a"}),
    step("b", "test.note", {"mark": "b"}),
    step("c", "transform_data", {"output": "{{ a.noted and b.noted }}"}),
)


async def test_a_crash_before_the_record_repeats_that_step_with_the_same_key(bench: Bench) -> None:
    run_id = await _crash_at(bench, PLAN, "step.before")
    async with bench.worker():
        run = await bench.until(run_id)
    assert run["status"] == "succeeded"
    assert bench.outside.keys == {f"{run_id}/a/1": 2, f"{run_id}/b/1": 1}
    assert [s["step"] for s in run["steps"]] == ["a", "b", "c"]


async def test_a_crash_after_the_record_repeats_nothing(bench: Bench) -> None:
    run_id = await _crash_at(bench, PLAN, "step.after")
    async with bench.worker():
        run = await bench.until(run_id)
    assert run["status"] == "succeeded"
    assert bench.outside.keys == {f"{run_id}/a/1": 1, f"{run_id}/b/1": 1}
    assert run["effects"] == 2


async def test_a_crash_before_the_end_still_ends_the_run_once(bench: Bench) -> None:
    run_id = await _crash_at(bench, PLAN, "end.before")
    async with bench.worker():
        run = await bench.until(run_id)
    assert (run["status"], run["output"]) == ("succeeded", True)
    kinds = await bench.application.database.fetch("SELECT type FROM events")
    assert [row["type"] for row in kinds] == ["automation.run.succeeded"]


async def test_a_write_to_our_own_tables_happens_once_although_its_step_is_repeated(
    bench: Bench,
) -> None:
    """The call committed with its record; the crash came before the step's."""
    plan = document(
        step("tell", "notification", {"title": "once"}),
        step("after", "test.echo"),
    )
    run_id = await _crash_at(bench, plan, "step.before")
    async with bench.worker():
        run = await bench.until(run_id)
    assert run["status"] == "succeeded", run["error"]
    assert await bench.application.database.fetchval("SELECT count(*) FROM notifications") == 1
    assert run["effects"] == 1


async def test_a_resumed_call_that_asks_something_else_fails_clearly(bench: Bench) -> None:
    plan = document(step("tell", "notification", {"title": "once"}))
    run_id = await _crash_at(bench, plan, "end.before")
    await bench.application.database.execute("UPDATE calls SET arguments_hash = 'other'")
    async with bench.worker():
        run = await bench.until(run_id)
    assert (run["status"], run["reason"]) == ("failed", "call_mismatch")


async def test_the_old_owner_s_record_is_refused_by_its_fence(bench: Bench) -> None:
    plan = document(step("a", "test.hang"), step("b", "test.note", {"mark": "b"}))
    made = await bench.dispatch(plan)
    async with bench.worker(heartbeat_seconds=60.0, lease_seconds=60.0):
        await bench.outside.started.wait()
        await lose_workers(bench)
        async with bench.worker(heartbeat_seconds=60.0, lease_seconds=60.0):
            async with asyncio.timeout(60):
                while bench.outside.tries[f"{made.run_id}/a/1"] < 2:
                    await asyncio.sleep(0.01)
            # Both owners finish the step now; only the second may say so.
            bench.outside.release.set()
            run = await bench.until(made.run_id)
    assert run["status"] == "succeeded"
    rows = await bench.application.database.fetch("SELECT step, fence FROM steps ORDER BY step")
    assert [(row["step"], row["fence"]) for row in rows] == [("a", 3), ("b", 3)]
    assert bench.outside.keys == {f"{made.run_id}/b/1": 1}


async def test_a_worker_that_wakes_up_too_late_drops_its_runs_and_starts_afresh(
    bench: Bench,
) -> None:
    made = await bench.dispatch(document(step("a", "test.hang")))
    async with bench.worker(heartbeat_seconds=0.1, lease_seconds=6.0) as worker:
        await bench.outside.started.wait()
        await bench.application.database.execute(LEASES_OVER)
        async with asyncio.timeout(60):
            while not bench.outside.stopped:
                await asyncio.sleep(0.01)
        bench.outside.release.set()
        run = await bench.until(made.run_id)
        assert run["status"] == "succeeded"
        # It was held up and lives, so the run is no suspect.
        assert run["takeovers"] == 0
        later = await bench.dispatch(document(step("x", "test.echo"), name="later"))
        assert (await bench.until(later.run_id))["status"] == "succeeded"
        await bench.until_idle(worker)


async def test_a_run_that_was_claimed_under_a_lost_lease_does_not_begin_under_the_next(
    bench: Bench,
) -> None:
    database = bench.application.database
    made = await bench.dispatch(document(step("a", "test.note", {"mark": "a"})))
    # As if it had been owned before: what was recorded is read before it goes on.
    await database.execute("UPDATE runs SET fence = 4")
    fence = "SELECT fence FROM runs WHERE id = $1"
    blocking = await database.dedicated()
    try:
        await blocking.execute("BEGIN; LOCK TABLE calls IN ACCESS EXCLUSIVE MODE")
        async with bench.worker(heartbeat_seconds=0.1, lease_seconds=60.0), asyncio.timeout(60):
            while await database.fetchval(fence, made.run_id) < 5:
                await asyncio.sleep(0.01)
            await lose_workers(bench)
            # The worker has a new lease, and the same run with it; now both can be read.
            while await database.fetchval(fence, made.run_id) < 7:
                await asyncio.sleep(0.01)
            await blocking.execute("ROLLBACK")
            run = await bench.until(made.run_id)
    finally:
        await blocking.close()
    # Whether it counts as a death depends on which came first, the new lease or the rescue.
    assert run["status"] == "succeeded"
    assert bench.outside.keys == {f"{made.run_id}/a/1": 1}


async def test_a_worker_that_froze_inside_a_transaction_holds_up_nobody(
    bench: Bench, database_url: str
) -> None:
    """Postgres itself would wait for the rest of a statement for as long as that takes."""
    database = bench.application.database
    made = await bench.dispatch(document(step("a", "test.note", {"mark": "a"})))
    async with database.transaction() as tx:
        place = queue.WorkerRegistration("elsewhere/4242", "elsewhere", 4242, ("fast",), 1)
        worker = await queue.register(tx, place, 3600)
        assert [run.id for run in await queue.claim(tx, ["fast"], 1, worker)] == [made.run_id]
    asleep = {"idle_in_transaction_session_timeout": "0"}
    frozen, other = [
        await asyncpg.connect(database_url, server_settings={**asleep, "application_name": name})
        for name in (f"mainspring:4242:{hash_host_name(host)}" for host in ("elsewhere", "here"))
    ]
    try:
        for session in (frozen, other):
            await session.execute("BEGIN; SELECT pg_current_xact_id()")
        await frozen.execute("SELECT FROM workers FOR KEY SHARE; SELECT FROM runs FOR UPDATE")
        await database.execute(LEASES_OVER)
        async with asyncio.timeout(60):
            while (await bench.read(made.run_id))["status"] != "pending":
                await rescue(database, bench.application.limits)
        with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
            await frozen.execute("SELECT 1")
        # A process of the same number on another machine is none of its business.
        assert await other.fetchval("SELECT 1") == 1
    finally:
        frozen.terminate()
        other.terminate()


async def test_a_run_whose_claim_never_reached_its_worker_is_put_back_and_ends(
    bench: Bench,
) -> None:
    """The database had said yes, and the answer was lost on the way."""
    cut = True

    def hook(point: str) -> None:
        if cut and point == "claim.after":
            raise ConnectionError("The answer is lost.")

    made = await bench.dispatch(document(step("a", "test.note", {"mark": "a"})))
    async with (
        bench.worker(hook=hook, heartbeat_seconds=0.1, lease_seconds=60.0),
        asyncio.timeout(60),
    ):
        while (await bench.read(made.run_id))["status"] != "running":
            await asyncio.sleep(0.01)
        cut = False
        run = await bench.until(made.run_id)
    assert (run["status"], run["takeovers"]) == ("succeeded", 0)
    assert bench.outside.keys == {f"{made.run_id}/a/1": 1}


async def test_a_stray_is_put_back_by_its_claim_and_no_later_one(bench: Bench) -> None:
    database, limits = bench.application.database, bench.application.limits
    made = await bench.dispatch(document(step("a", "test.note")))
    async with database.transaction() as tx:
        place = queue.WorkerRegistration("elsewhere/4242", "elsewhere", 4242, ("fast",), 1)
        worker = await queue.register(tx, place, 3600)
        (claimed,) = await queue.claim(tx, ["fast"], 1, worker)
    await return_strays(database, limits, worker, [(made.run_id, claimed.fence - 1)])
    assert (await bench.read(made.run_id))["status"] == "running"
    await return_strays(database, limits, worker, [(made.run_id, claimed.fence)])
    assert (await bench.read(made.run_id))["status"] == "pending"


async def test_a_run_that_loses_three_workers_without_progress_is_dead_with_evidence(
    bench: Bench,
) -> None:
    made = await bench.dispatch(document(step("a", "test.hang")))
    for takeover in (1, 2, 3):
        bench.outside.started.clear()
        hook = Dead()
        async with bench.worker(
            hook=hook, heartbeat_seconds=60.0, lease_seconds=60.0, stop_seconds=0.1
        ):
            async with asyncio.timeout(60):
                await bench.outside.started.wait()
            hook.dead = True
            await lose_workers(bench)
        assert (await bench.read(made.run_id))["takeovers"] == takeover
    run = await bench.read(made.run_id)
    assert (run["status"], run["reason"], run["outcome"]) == ("dead", "poison", "failed")
    assert "3 times" in run["error"]["detail"]
    await bench.application.control.retry(bench.application.workspace_id, made.run_id)
    bench.outside.release.set()
    async with bench.worker():
        assert (await bench.until(made.run_id))["status"] == "succeeded"


async def _lose_one_after_another(bench: Bench, run_id: UUID, times: int, **how: bool) -> None:
    for _ in range(times):
        bench.outside.started.clear()
        hook = Dead()
        async with bench.worker(
            hook=hook, heartbeat_seconds=60.0, lease_seconds=60.0, stop_seconds=0.1
        ):
            async with asyncio.timeout(60):
                await bench.outside.started.wait()
            hook.dead = True
            await lose_workers(bench, **how)
        assert (await bench.read(run_id))["status"] == "pending"


async def test_losses_of_the_whole_machine_do_not_count(bench: Bench) -> None:
    """Nobody of the same supervisor has given a sign of life since."""
    made = await bench.dispatch(document(step("a", "test.hang")))
    await _lose_one_after_another(bench, made.run_id, 12, machine=True)
    assert (await bench.read(made.run_id))["takeovers"] == 0
    bench.outside.release.set()
    async with bench.worker():
        assert (await bench.until(made.run_id))["status"] == "succeeded"


async def test_losses_of_the_database_do_not_count(bench: Bench) -> None:
    """A run that was claimed before the database was started has lost the database too."""
    database = bench.application.database
    # The database of the tests may have been started long ago, and that counts as working time.
    day = 86_400
    hang = step("a", "test.hang", timeout_seconds=day)
    made = await bench.dispatch(document(hang, execution={"timeout_seconds": day}))
    for _ in range(12):
        bench.outside.started.clear()
        hook = Dead()
        async with bench.worker(
            hook=hook, heartbeat_seconds=60.0, lease_seconds=60.0, stop_seconds=0.1
        ):
            async with asyncio.timeout(60):
                await bench.outside.started.wait()
            hook.dead = True
            # As if the server had been started again since the claim.
            await database.execute(
                "UPDATE runs SET active_ms = 0,"
                " claimed_at = pg_postmaster_start_time() - interval '1 s'"
            )
            await lose_workers(bench)
        run = await bench.read(made.run_id)
        assert (run["status"], run["takeovers"]) == ("pending", 0)


async def test_a_suspect_among_others_is_not_blamed_for_the_death_of_their_worker(
    bench: Bench,
) -> None:
    made = await bench.dispatch(document(step("a", "test.hang")))
    await _lose_one_after_another(bench, made.run_id, 2)
    assert (await bench.read(made.run_id))["takeovers"] == 2
    other = await bench.dispatch(document(step("b", "test.hang"), name="other"))
    database = bench.application.database
    for _ in range(3):
        async with database.transaction() as tx:
            place = queue.WorkerRegistration("here/1", "here", 1, ("fast",), 2, "up")
            worker = await queue.register(tx, place, 3600)
            accepted = await queue.claim_suspects(tx, ["fast"], 2, worker, 9)
            accepted += await queue.claim(tx, ["fast"], 2, worker)
            assert {run.id for run in accepted} == {made.run_id, other.run_id}
            await tx.execute("UPDATE runs SET trial = true, takeovers = 2")
        await lose_workers(bench)
        run = await bench.read(made.run_id)
        assert (run["status"], run["takeovers"]) == ("pending", 2)


async def _suspect_and_others(bench: Bench) -> tuple[UUID, list[UUID]]:
    """A run that hangs and has lost two workers already, and three that nothing is known about."""
    made = await bench.dispatch(document(step("a", "test.hang")))
    await _lose_one_after_another(bench, made.run_id, 2)
    await bench.application.database.execute("DELETE FROM workers")
    others = [
        await bench.dispatch(document(step("b", "test.note"), name=f"other {number}"))
        for number in range(3)
    ]
    bench.outside.started.clear()
    return made.run_id, [one.run_id for one in others]


async def test_a_suspect_runs_alone_before_others_are_taken(bench: Bench) -> None:
    suspect, others = await _suspect_and_others(bench)
    async with bench.worker(alone_seconds=60.0, **LONG_LEASE) as worker:
        async with asyncio.timeout(PATIENCE):
            await bench.outside.started.wait()
        assert worker.in_flight == 1
        assert {(await bench.read(one))["status"] for one in others} == {"pending"}
        bench.outside.release.set()
        for one in (suspect, *others):
            assert (await bench.until(one))["status"] == "succeeded"


async def test_others_do_not_wait_for_the_end_of_a_suspect_that_kills_nothing(
    bench: Bench,
) -> None:
    suspect, others = await _suspect_and_others(bench)
    async with bench.worker(alone_seconds=0.2, **LONG_LEASE):
        for one in others:
            assert (await bench.until(one))["status"] == "succeeded"
        assert (await bench.read(suspect))["status"] == "running"
        bench.outside.release.set()
        assert (await bench.until(suspect))["status"] == "succeeded"


async def test_a_busy_worker_frees_its_slots_for_a_suspect_that_must_run_alone(
    bench: Bench,
) -> None:
    made = await bench.dispatch(document(step("a", "test.note", {"mark": "suspect"})))
    await bench.application.database.execute("UPDATE runs SET takeovers = 2, due_at = 'infinity'")
    busy = await bench.dispatch(document(step("b", "test.hang"), name="busy"))
    other: list[int] = []

    def watch(event: RunEvent) -> None:
        if event.run_id == made.run_id and event.kind == "step_finished":
            other.append(worker.in_flight)

    async with bench.worker(watch=watch, alone_seconds=60.0) as worker:
        async with asyncio.timeout(PATIENCE):
            await bench.outside.started.wait()
        await bench.application.database.execute(
            "UPDATE runs SET due_at = now() WHERE id = $1", made.run_id
        )
        # Longer than it takes to look for suspects, shorter than slots are freed for them.
        await asyncio.sleep(1.0)
        assert (await bench.read(made.run_id))["status"] == "pending"
        bench.outside.release.set()
        for one in (made, busy):
            assert (await bench.until(one.run_id))["status"] == "succeeded"
    assert other == [1]


async def test_progress_between_two_losses_starts_the_count_anew(bench: Bench) -> None:
    run_id = await _crash_at(bench, PLAN, "step.after")
    assert (await bench.read(run_id))["takeovers"] == 1
    hook = DieOnce("step.after")
    async with bench.worker(hook=hook, heartbeat_seconds=60.0, lease_seconds=60.0):
        await hook.death()
        await lose_workers(bench)
    assert (await bench.read(run_id))["takeovers"] == 1


async def test_a_stop_hands_back_what_is_under_way_and_another_worker_goes_on(
    bench: Bench,
) -> None:
    made = await bench.dispatch(document(step("a", "test.hang"), step("b", "test.note")))
    async with bench.worker(stop_seconds=0.1):
        await bench.outside.started.wait()
    run = await bench.read(made.run_id)
    assert (run["status"], run["takeovers"]) == ("pending", 0)
    assert await bench.application.database.fetchval("SELECT count(*) FROM workers") == 0
    bench.outside.release.set()
    async with bench.worker():
        assert (await bench.until(made.run_id))["status"] == "succeeded"


async def test_a_damaged_definition_fails_its_run_and_blocks_nobody(bench: Bench) -> None:
    broken = await bench.dispatch(document(step("a", "test.echo"), name="broken"))
    await bench.application.database.execute("""UPDATE definitions SET document = '{"plan": 7}'""")
    bench.application.versions.forget()
    good = await bench.dispatch(document(step("a", "test.echo"), name="good"))
    async with bench.worker():
        assert (await bench.until(good.run_id))["status"] == "succeeded"
        run = await bench.until(broken.run_id)
    assert (run["status"], run["reason"]) == ("failed", "definition_unusable")
    assert run["error"]["errors"]


async def test_a_database_outage_and_its_end_are_reported_once_each(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async def until_said(text: str) -> None:
        async with asyncio.timeout(60):
            while text not in caplog.text:
                await asyncio.sleep(0.01)

    caplog.set_level("INFO", "mainspring.runs.worker")
    async with bench.worker(heartbeat_seconds=0.2) as worker:
        async with bench.application.database.transaction() as tx:
            await tx.execute("LOCK TABLE workers IN ACCESS EXCLUSIVE MODE")
            for _ in range(3):
                await until_in_line(bench.application.database)
                await cut_off(tx)
            await until_said("Database unavailable")
        await until_said("Database available again")
        made = await bench.dispatch(document(step("n", "notification", {"title": "Hi"})))
        assert (await bench.until(made.run_id))["status"] == "succeeded"
        await bench.until_idle(worker)
    assert caplog.text.count("Database unavailable") == 1
