"""The floor: the rows of a run written by bare asyncpg, in groups, with durable commits.

The rows, the tables and the statements are those of the engine, which sends them as one where
it can; what is missing is the engine. Each group of runs is claimed in one commit, each step of
the group is one commit, and the last step shares its commit with the end of the runs.
"""

from __future__ import annotations

import time
from decimal import Decimal
from uuid import UUID

from mainspring.app import Application
from mainspring.contracts.context import RunRef
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.gate.call_records import INSERT_CALLS, CallRecord, call_columns
from mainspring.runs import queue
from mainspring.runs.record import END_RUNS, INSERT_STEPS, end_columns, event_row, step_columns
from mainspring.runs.rows import ClaimedRun, RunCommit, RunEnd, StepRow
from mainspring.runs.run_requests import NewRun, RunRequest, insert_runs
from mainspring.store.events import append_events

GROUP = 128


async def fill(application: Application, automation: tuple[UUID, int], runs: int) -> None:
    """Puts runs into the queue, the same way for the floor and for the engine."""
    automation_id, version = automation
    for start in range(0, runs, 1000):
        request = RunRequest(application.workspace_id, automation_id)
        new = [
            NewRun(generate_id(), request, version, "fast", {}, None, False, None, None, 0)
            for _ in range(min(1000, runs - start))
        ]
        async with application.database.transaction() as tx:
            await insert_runs(tx, new)


async def drain_bare(application: Application, steps: int) -> tuple[int, float]:
    """Writes what a drain of the queue writes; answers the runs and the seconds."""
    connection = await application.database.dedicated(
        settings={"enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"}
    )
    place = queue.WorkerRegistration("floor", "floor", 0, ("fast",), GROUP)
    worker = await queue.register(connection, place, 3600)
    done, began = 0, time.perf_counter()
    while claimed := await queue.claim(connection, ["fast"], GROUP, worker):
        for number in range(steps):
            units = [_unit(run, number, last=number == steps - 1) for run in claimed]
            await _write(connection, units)
        done += len(claimed)
    seconds = time.perf_counter() - began
    await queue.leave(connection, worker)
    await connection.close()
    return done, seconds


async def _write(connection: object, units: list[RunCommit]) -> None:
    async with connection.transaction():  # type: ignore[attr-defined]
        calls = [(unit.run.workspace_id, call) for unit in units for call in unit.calls]
        columns, _ = call_columns(calls, Limits().call_result_bytes)
        await connection.execute(INSERT_CALLS, *columns)  # type: ignore[attr-defined]
        steps = [(unit, step) for unit in units for step in unit.steps]
        await connection.execute(INSERT_STEPS, *step_columns(steps))  # type: ignore[attr-defined]
        ends = [(unit, unit.end) for unit in units if unit.end is not None]
        if ends:
            await connection.execute(END_RUNS, *end_columns(ends))  # type: ignore[attr-defined]
            events = [event for event in map(event_row, ends) if event is not None]
            await append_events(connection, events)  # type: ignore[arg-type]


def _unit(run: ClaimedRun, number: int, *, last: bool) -> RunCommit:
    name = f"step_{number}"
    value = {"said": "1 of many"}
    call = CallRecord(
        RunRef(run.id, run.automation_id, name),
        1,
        "bench.noop",
        "read",
        {"say": "1 of many"},
        bytes(16),
        0,
        run.started_at,
    )
    end = RunEnd("succeeded", None, "answer_only", value, cost_usd=Decimal(0)) if last else None
    return RunCommit(
        run, [StepRow(name, "", 1, "succeeded", 0, run.started_at, value)], [call], end
    )
