"""Waiting: a run that sleeps holds no worker and wakes at its moment."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta

from tests.kit.bench import Bench, document, step
from tests.kit.lock_waits import until_in_line


async def test_a_delay_holds_no_worker_and_then_goes_on(bench: Bench) -> None:
    made = await bench.dispatch(
        document(step("wait", "delay", {"seconds": 2}), step("after", "test.note"))
    )
    async with bench.worker() as worker:
        run = await bench.until(made.run_id, "waiting")
        assert run["steps"][0]["status"] == "waiting"
        await bench.until_idle(worker)
        assert (await bench.read(made.run_id))["status"] == "waiting"
        done = await bench.until(made.run_id)
    assert done["status"] == "succeeded"
    assert [s["status"] for s in done["steps"]] == ["succeeded", "succeeded"]
    assert (done["finished_at"] - done["started_at"]).total_seconds() >= 2


async def test_a_moment_that_has_passed_does_not_wait(bench: Bench) -> None:
    past = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    run = await bench.run(document(step("wait", "delay", {"until": past})))
    assert run["status"] == "succeeded"
    assert run["steps"][0]["output"]["waited_until"] == past


async def test_time_spent_waiting_does_not_count_against_the_run_s_timeout(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("wait", "delay", {"seconds": 1.5}),
            step("after", "test.echo"),
            execution={"timeout_seconds": 1},
        )
    )
    assert run["status"] == "succeeded", run["error"]


async def test_a_delay_inside_for_each_resumes_at_its_item(bench: Bench) -> None:
    run = await bench.run(
        document(
            step(
                "each",
                "for_each",
                {
                    "items": [1, 2],
                    "steps": [
                        step("before", "test.note", {"mark": "b{{ item }}"}),
                        step("wait", "delay", {"seconds": 0.3}),
                        step("after", "test.note", {"mark": "a{{ item }}"}),
                    ],
                },
            )
        )
    )
    assert run["status"] == "succeeded", run["error"]
    assert bench.outside.order == ["b1", "a1", "b2", "a2"]
    assert run["effects"] == 4


async def test_a_text_that_is_no_moment_fails_with_an_example(bench: Bench) -> None:
    run = await bench.run(document(step("wait", "delay", {"until": "next tuesday"})))
    assert run["error"]["code"] == "not_a_moment"
    assert "2026-03-01" in run["error"]["suggestion"]


async def test_a_heartbeat_that_waited_does_not_put_step_times_before_their_request(
    bench: Bench,
) -> None:
    """The heartbeat's answer carries the time at which its transaction began."""
    database = bench.application.database
    lease = "SELECT max(lease_until) FROM workers"
    async with bench.worker(heartbeat_seconds=1.0, lease_seconds=60.0):
        async with database.transaction() as tx:
            while (before := await tx.fetchval(lease)) is None:
                await asyncio.sleep(0.01)
            await tx.execute("SELECT FROM workers FOR NO KEY UPDATE")
            await until_in_line(database)
            await asyncio.sleep(2.0)
        async with asyncio.timeout(60):
            while await database.fetchval(lease) == before:
                await asyncio.sleep(0.001)
        requested = datetime.now(UTC)
        made = await bench.dispatch(document(step("a", "test.note")))
        run = await bench.until(made.run_id)
    assert run["steps"][0]["finished_at"] >= requested
