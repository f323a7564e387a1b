"""Runs that may not overlap: dropping, queueing in order of arrival, keys, cancelling."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.contracts.ids import generate_id
from tests.kit.bench import Bench, document, step


async def test_drop_if_running_records_the_firing_it_dropped(bench: Bench) -> None:
    plan = document(step("a", "test.hang"), execution={"concurrency": "drop_if_running"})
    async with bench.worker():
        first = await bench.dispatch(plan)
        await bench.outside.started.wait()
        second = await bench.dispatch(plan)
        assert (second.status, second.reason) == ("skipped", "dropped")
        bench.outside.release.set()
        assert (await bench.until(first.run_id))["status"] == "succeeded"
        dropped = await bench.read(second.run_id)
        assert (dropped["status"], dropped["outcome"]) == ("skipped", "nothing_to_do")
        third = await bench.dispatch(plan)
        assert (await bench.until(third.run_id))["status"] == "succeeded"


async def test_queue_runs_one_at_a_time_in_the_order_of_arrival(bench: Bench) -> None:
    plan = document(
        step("a", "test.note", {"mark": "in {{ inputs.n }}"}),
        step("wait", "delay", {"seconds": 0.02}),
        step("b", "test.note", {"mark": "out {{ inputs.n }}"}),
        inputs={"schema": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        execution={"concurrency": "queue"},
    )
    runs = [await bench.dispatch(plan, inputs={"n": n}) for n in range(5)]
    async with bench.worker(), bench.worker():
        for made in runs:
            assert (await bench.until(made.run_id))["status"] == "succeeded"
    assert bench.outside.order == [f"{word} {n}" for n in range(5) for word in ("in", "out")]


async def test_runs_with_different_keys_do_not_wait_for_each_other(bench: Bench) -> None:
    plan = document(
        step("a", "test.hang", when="inputs.who == 'slow'"),
        step("b", "test.echo"),
        inputs={"schema": {"type": "object", "properties": {"who": {"type": "string"}}}},
        execution={"concurrency": "queue", "concurrency_key": "{{ inputs.who }}"},
    )
    async with bench.worker():
        slow = await bench.dispatch(plan, inputs={"who": "slow"})
        behind = await bench.dispatch(plan, inputs={"who": "slow"})
        quick = await bench.dispatch(plan, inputs={"who": "quick"})
        assert (await bench.until(quick.run_id))["status"] == "succeeded"
        assert (await bench.read(behind.run_id))["status"] == "pending"
        bench.outside.release.set()
        await bench.until(slow.run_id)
        assert (await bench.until(behind.run_id))["status"] == "succeeded"


async def test_allow_parallel_runs_side_by_side(bench: Bench) -> None:
    plan = document(step("a", "test.hang"), execution={"concurrency": "allow_parallel"})
    async with bench.worker() as worker:
        runs = [await bench.dispatch(plan) for _ in range(3)]
        async with asyncio.timeout(60):
            while len(bench.outside.tries) < 3:
                await asyncio.sleep(0.01)
        assert worker.in_flight == 3
        bench.outside.release.set()
        for made in runs:
            await bench.until(made.run_id)


async def test_cancelling_a_running_run_stops_its_step_and_lets_the_next_one_go(
    bench: Bench,
) -> None:
    plan = document(
        step("a", "test.hang", when="inputs.hang"),
        step("b", "test.echo"),
        inputs={"schema": {"type": "object", "properties": {"hang": {"type": "boolean"}}}},
    )
    async with bench.worker():
        first = await bench.dispatch(plan, inputs={"hang": True})
        second = await bench.dispatch(plan, inputs={"hang": False})
        await bench.outside.started.wait()
        output = await bench.application.control.cancel(
            bench.application.workspace_id, first.run_id
        )
        assert output == "cancelling"
        run = await bench.until(first.run_id)
        assert (run["status"], run["reason"]) == ("cancelled", "cancelled")
        assert len(bench.outside.stopped) == 1
        assert (await bench.until(second.run_id))["status"] == "succeeded"


async def test_cancelling_a_run_that_waits_ends_it_at_once(bench: Bench) -> None:
    made = await bench.dispatch(document(step("a", "test.note")))
    control, space = bench.application.control, bench.application.workspace_id
    assert await control.cancel(space, made.run_id) == "cancelled"
    with pytest.raises(Conflict, match="already ended"):
        await control.cancel(space, made.run_id)
    with pytest.raises(NotFound):
        await control.cancel(space, generate_id())
    async with bench.worker():
        later = await bench.dispatch(document(step("a", "test.echo")))
        await bench.until(later.run_id)
    assert not bench.outside.keys
