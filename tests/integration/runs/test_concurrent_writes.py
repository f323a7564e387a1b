"""Rows that are written together: somebody else may be at the same runs meanwhile."""

from __future__ import annotations

import asyncio
from decimal import Decimal

from mainspring.contracts.context import RunRef
from mainspring.gate.call_records import CallRecord
from mainspring.runs import queue
from mainspring.runs.record import RunRecorder
from mainspring.runs.rows import ClaimedRun, RunCommit, RunEnd, StepRow
from tests.kit.bench import Bench, document, step
from tests.kit.postgres import LOCK_WAITS

_PLACE = queue.WorkerRegistration("here", "here", 0, ("fast",), 8)
PLAN = document(step("a", "test.note", {"mark": "a"}), execution={"concurrency": "allow_parallel"})


def _unit(run: ClaimedRun, *, item: str = "") -> RunCommit:
    call = CallRecord(
        RunRef(run.id, run.automation_id, "a", item),
        1,
        "test.note",
        "read",
        {"mark": "a"},
        bytes(16),
        3,
        run.started_at,
        cost=Decimal("0.25"),
    )
    row = StepRow("a", item, 1, "succeeded", 7, run.started_at, {"noted": True})
    end = RunEnd("succeeded", None, "answer_only", {"noted": True}, active_ms=7)
    return RunCommit(run, [row], [call], end, "some automation")


async def _claimed(bench: Bench, runs: int) -> list[ClaimedRun]:
    for _ in range(runs):
        await bench.dispatch(PLAN)
    async with bench.application.database.transaction() as tx:
        worker = await queue.register(tx, _PLACE, 3600)
        return await queue.claim(tx, ["fast", "medium", "long"], runs, worker)


async def _until_it_waits(bench: Bench) -> None:
    async with asyncio.timeout(60):
        while not await bench.application.database.fetchval(LOCK_WAITS):
            await asyncio.sleep(0.01)


async def test_rows_are_whole_and_a_change_meanwhile_is_waited_for(bench: Bench) -> None:
    database, recorder = bench.application.database, RunRecorder(bench.application.limits)
    first, second, third = await _claimed(bench, 3)
    connection = await database.dedicated()
    try:
        # Somebody asks to cancel: the end waits for that, and then is written all the same.
        async with database.transaction() as other:
            await other.execute("UPDATE runs SET cancel_at = now() WHERE id = $1", first.id)
            writing = asyncio.create_task(recorder.flush(connection, [_unit(first, item="2")]))
            await _until_it_waits(bench)
        assert list(await writing) == [True]
        run = await bench.read(first.id)
        assert (run["status"], run["outcome"]) == ("succeeded", "answer_only")
        (stored,), (call,) = run["steps"], run["calls"]
        assert (stored["step"], stored["item"], stored["status"], stored["ms"]) == (
            "a",
            "2",
            "succeeded",
            7,
        )
        assert (call["item"], call["outcome"], call["cost_usd"]) == ("2", "read", Decimal("0.25"))
        result = await database.fetch("SELECT type FROM events WHERE run_id = $1", first.id)
        assert [row["type"] for row in result] == ["automation.run.succeeded"]

        # Another worker takes one over: nothing of it is written, and the others lose nothing.
        async with database.transaction() as other:
            await other.execute("SELECT FROM runs WHERE id = $1 FOR UPDATE", second.id)
            await other.execute("UPDATE runs SET fence = fence + 1 WHERE id = $1", second.id)
            both = [_unit(second), _unit(third)]
            writing = asyncio.create_task(recorder.flush(connection, both))
            await _until_it_waits(bench)
        assert list(await writing) == [False, True]
        lost, kept_run = await bench.read(second.id), await bench.read(third.id)
        assert (lost["status"], lost["steps"], lost["calls"]) == ("running", [], [])
        assert (kept_run["status"], len(kept_run["steps"])) == ("succeeded", 1)

        # Sent once more, as after a connection that broke: known by its fence, and once only.
        assert list(await recorder.flush(connection, [_unit(third)])) == [True]
        events = "SELECT count(*) FROM events WHERE run_id = $1"
        assert await database.fetchval(events, third.id) == 1
    finally:
        await connection.close()
