"""Recording: the rows of many runs in one durable transaction.

The transaction first locks the run rows whose fence still holds; whatever belongs to any
other unit is left out, and its owner is told that it lost the run. A takeover needs a
stronger lock on the same row, so it happens before or after, never in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from mainspring.contracts.limits import Limits
from mainspring.gate.record import dumps, write_calls
from mainspring.runs.events import run_event
from mainspring.runs.lanes import Lane, lock_lanes, release_lanes
from mainspring.runs.output import write_output
from mainspring.runs.rows import RunCommit, RunEnd, StepRow
from mainspring.runs.together import ONCE_RECORDED, STILL_OWNED, BatchStatement
from mainspring.store.events import EventRow, append_events

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Connection

_HOLD = f"""
    SELECT u.n
    FROM unnest($1::uuid[], $2::uuid[], $3::int4[]) WITH ORDINALITY
        AS u(workspace_id, run_id, fence, n),
    {STILL_OWNED}
"""

INSERT_STEPS = f"""
    INSERT INTO steps (workspace_id, run_id, fence, run_attempt, step, item, attempt, status,
        ms, output, error, until, finished_at)
    SELECT s.workspace_id, s.run_id, s.fence, s.run_attempt, s.step, s.item, s.attempt,
        s.status, s.ms, s.output::json, s.error::json, s.until, s.finished_at
    FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::int2[], $5::text[], $6::text[],
        $7::int2[], $8::text[], $9::int4[], $10::text[], $11::text[], $12::timestamptz[],
        $13::timestamptz[])
        AS s(workspace_id, run_id, fence, run_attempt, step, item, attempt, status, ms,
            output, error, until, finished_at)
    {ONCE_RECORDED}
"""

END_RUNS = """
    UPDATE runs r
    SET status = e.status, reason = e.reason, outcome = e.outcome,
        output = e.output::json, error = e.error::json,
        effects = e.effects, drafts = e.drafts, cost_usd = e.cost_usd,
        active_ms = e.active_ms, worker = NULL,
        -- Whoever asked to cancel does not wait until a sleeping run wakes up by itself.
        due_at = CASE WHEN (r.cancel_at IS NOT NULL OR r.nudged_at IS NOT NULL) AND NOT e.final
            THEN now() ELSE coalesce(e.due_at, r.due_at) END,
        -- An answer that came before the run slept has woken it by that.
        nudged_at = CASE WHEN e.status = 'pending' THEN r.nudged_at END,
        finished_at = CASE WHEN e.final THEN now() END
    FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::text[], $5::text[], $6::text[],
        $7::text[], $8::text[], $9::int4[], $10::int4[], $11::numeric[], $12::int8[],
        $13::timestamptz[], $14::bool[])
        AS e(workspace_id, run_id, fence, status, reason, outcome, output, error, effects,
            drafts, cost_usd, active_ms, due_at, final)
    WHERE r.workspace_id = e.workspace_id AND r.id = e.run_id AND r.fence = e.fence
      AND r.status = 'running'
"""

_TRIALS = """
    UPDATE runs r SET trial = true
    FROM unnest($1::uuid[], $2::uuid[]) AS t(workspace_id, run_id)
    WHERE r.workspace_id = t.workspace_id AND r.id = t.run_id
"""

# After a broken connection: an end that did commit is known by its fence and status.
_ENDED_BEFORE = """
    SELECT u.n
    FROM unnest($1::uuid[], $2::uuid[], $3::int4[], $4::text[]) WITH ORDINALITY
        AS u(workspace_id, run_id, fence, status, n),
    LATERAL (
        SELECT 1 FROM runs r
        WHERE r.workspace_id = u.workspace_id AND r.id = u.run_id AND r.fence = u.fence
          AND r.status = u.status
    ) AS there
"""


class RunRecorder:
    """Turns units into rows; one instance serves every run of a process."""

    def __init__(self, limits: Limits, tell: Callable[[], None] = lambda: None) -> None:
        self._limits = limits
        # Says to the readers of the event log that there is news, after the commit.
        self._tell = tell

    async def flush(self, connection: Connection, units: Sequence[RunCommit]) -> Sequence[bool]:
        """Writes what still belongs to its owner; answers which units those were."""
        together = BatchStatement(units, self._limits.call_result_bytes)
        if together.fits and await connection.fetchval(together.statement, *together.parameters()):
            if together.ends:
                self._tell()
            return [True] * len(units)
        return await self._one_after_another(connection, units)

    async def _one_after_another(
        self, connection: Connection, units: Sequence[RunCommit]
    ) -> Sequence[bool]:
        """The longer way: for what is unusual, and where somebody has lost a run."""
        lanes = sorted({lane for lane in map(_freed_lane, units) if lane is not None})
        async with connection.transaction():
            await lock_lanes(connection, lanes)
            held = await self._held(connection, units)
            kept = [unit for unit, yes in zip(units, held, strict=True) if yes]
            await self._write(connection, kept)
            await release_lanes(connection, lanes)
        if any(unit.end is not None for unit in kept):
            self._tell()
        if all(held):
            return held
        return await self._or_ended_before(connection, units, held)

    async def _held(self, tx: Transaction, units: Sequence[RunCommit]) -> list[bool]:
        rows = await tx.fetch(
            _HOLD,
            [unit.run.workspace_id for unit in units],
            [unit.run.id for unit in units],
            [unit.run.fence for unit in units],
        )
        there = {row["n"] for row in rows}
        return [n in there for n in range(1, len(units) + 1)]

    async def _write(self, tx: Transaction, units: Sequence[RunCommit]) -> None:
        calls = [(unit.run.workspace_id, call) for unit in units for call in unit.calls]
        if calls:
            await write_calls(tx, calls, self._limits.call_result_bytes)
        output = [(unit.run.workspace_id, piece) for unit in units for piece in unit.output]
        if output:
            await write_output(tx, output)
        steps = [(unit, step) for unit in units for step in unit.steps]
        if steps:
            await tx.execute(INSERT_STEPS, *step_columns(steps))
        trials = [unit.run for unit in units if unit.trial]
        if trials:
            spaces = [run.workspace_id for run in trials]
            await tx.execute(_TRIALS, spaces, [run.id for run in trials])
        ends = [(unit, unit.end) for unit in units if unit.end is not None]
        if ends:
            await tx.execute(END_RUNS, *end_columns(ends))
            await append_events(tx, [event for event in map(event_row, ends) if event])

    async def _or_ended_before(
        self, tx: Transaction, units: Sequence[RunCommit], held: list[bool]
    ) -> list[bool]:
        rows = await tx.fetch(
            _ENDED_BEFORE,
            [unit.run.workspace_id for unit in units],
            [unit.run.id for unit in units],
            [unit.run.fence for unit in units],
            [unit.end.status if unit.end else "" for unit in units],
        )
        before = {row["n"] for row in rows}
        return [yes or n in before for n, yes in enumerate(held, start=1)]


def _freed_lane(unit: RunCommit) -> Lane | None:
    if unit.run.lane is None or unit.end is None or not unit.end.final:
        return None
    return unit.run.workspace_id, unit.run.lane


def event_row(ending: tuple[RunCommit, RunEnd]) -> EventRow | None:
    """The event of a run's end."""
    unit, end = ending
    run = unit.run
    return run_event(run.workspace_id, run.id, run.automation_id, unit.automation, end, run.mode)


def step_columns(steps: Sequence[tuple[RunCommit, StepRow]]) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in range(13)]
    for unit, step in steps:
        run = unit.run
        values = (
            run.workspace_id,
            run.id,
            run.fence,
            run.attempt,
            step.step,
            step.item,
            step.attempt,
            step.status,
            step.ms,
            step.output_text or dumps(step.output),
            dumps(step.error),
            step.until,
            step.at,
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns


def end_columns(ends: Sequence[tuple[RunCommit, RunEnd]]) -> list[list[Any]]:
    columns: list[list[Any]] = [[] for _ in range(14)]
    for unit, end in ends:
        run = unit.run
        values = (
            run.workspace_id,
            run.id,
            run.fence,
            end.status,
            end.reason,
            end.outcome,
            dumps(end.output),
            dumps(end.error),
            end.effects,
            end.drafts,
            end.cost_usd,
            end.active_ms,
            end.due_at,
            end.final,
        )
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return columns
