"""Records the rows of many runs in one durable transaction.

The transaction first locks the run rows whose fencing token is still valid; other commits are left
out, and their owners learn that they lost the run. A takeover needs a stronger lock on the same
row, so it happens before or after, never in between.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import dumps
from mainspring.gate.call_records import CALLS_PART, call_row, write_calls
from mainspring.runs.output import write_output
from mainspring.runs.rows import RunCommit, RunEnd, StepRow, run_event
from mainspring.runs.run_requests import Lane, lock_lanes, release_lanes
from mainspring.store.events import EVENTS_PART, EventRow, append_events
from mainspring.store.statement_parts import StatementPart

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Connection


# The rows of many runs in one statement: one round trip and one commit.

# A takeover happens before this lock or after the commit; the slow path takes the same lock.
STILL_OWNED: Final = """LATERAL (
        SELECT 1 FROM runs r
        WHERE r.workspace_id = u.workspace_id AND r.id = u.run_id AND r.fence = u.fence
          AND r.status = 'running'
        FOR KEY SHARE
    ) AS held"""
# A waiting step is the one record that changes: it becomes done when its time has come.
ONCE_RECORDED: Final = """ON CONFLICT (workspace_id, run_id, step, item, attempt) DO UPDATE
        SET status = excluded.status, ms = excluded.ms, output = excluded.output,
            error = excluded.error, until = excluded.until, fence = excluded.fence,
            finished_at = excluded.finished_at
        WHERE steps.status = 'waiting'"""
_HELD = f"""
    SELECT count(*) = cardinality($1::uuid[]) AS yes
    FROM unnest($1::uuid[], $2::uuid[], $3::int4[]) AS u(workspace_id, run_id, fence),
    {STILL_OWNED}
"""
_STEPS = """
    INSERT INTO steps (workspace_id, run_id, fence, run_attempt, step, item, attempt, status,
        ms, output, error, until, finished_at)
    SELECT ($1::uuid[])[s.n], ($2::uuid[])[s.n], ($3::int4[])[s.n], ($4::int2[])[s.n], s.step,
        coalesce(s.item, ''), coalesce(s.attempt, 1::int2), coalesce(s.status, 'succeeded'),
        coalesce(s.ms, 0), s.output::json, s.error::json, s.until, s.finished_at
    FROM unnest({}::int4[], {}::text[], {}::text[], {}::int2[], {}::text[], {}::int4[],
        {}::text[], {}::text[], {}::timestamptz[], {}::timestamptz[])
        AS s(n, step, item, attempt, status, ms, output, error, until, finished_at)
"""
_STEPS_PART: Final = StatementPart(
    _STEPS,
    (None, None, "", 1, "succeeded", 0, None, None, None, None),
    ONCE_RECORDED,
)
_ENDS = """
    UPDATE runs r
    SET status = coalesce(e.status, 'succeeded'), reason = e.reason, outcome = e.outcome,
        output = e.output::json, error = e.error::json, effects = coalesce(e.effects, 0),
        drafts = coalesce(e.drafts, 0), cost_usd = coalesce(e.cost_usd, 0),
        active_ms = coalesce(e.active_ms, 0), worker = NULL,
        due_at = CASE WHEN (r.cancel_at IS NOT NULL OR r.nudged_at IS NOT NULL)
            AND NOT coalesce(e.final, true) THEN now() ELSE coalesce(e.due_at, r.due_at) END,
        nudged_at = CASE WHEN e.status = 'pending' THEN r.nudged_at END,
        finished_at = CASE WHEN coalesce(e.final, true) THEN now() END
    FROM unnest({}::int4[], {}::text[], {}::text[], {}::text[], {}::text[], {}::text[],
        {}::int4[], {}::int4[], {}::numeric[], {}::int8[], {}::timestamptz[], {}::bool[])
        AS e(n, status, reason, outcome, output, error, effects, drafts, cost_usd, active_ms,
            due_at, final)
"""
_ENDS_PART: Final = StatementPart(
    _ENDS,
    (None, "succeeded", None, None, None, None, 0, 0, Decimal(0), 0, None, True),
    """AND r.workspace_id = ($1::uuid[])[e.n] AND r.id = ($2::uuid[])[e.n]
       AND r.fence = ($3::int4[])[e.n] AND r.status = 'running'""",
)

# Most commits end no run; the statements for ends are then skipped.
_ON_THE_WAY: Final = (_STEPS_PART, CALLS_PART)
_AT_THE_END: Final = (_STEPS_PART, CALLS_PART, _ENDS_PART, EVENTS_PART)


def _build_statement(parts: Sequence[StatementPart]) -> str:
    named, first = [f"held AS MATERIALIZED ({_HELD})"], 5
    for number, part in enumerate(parts):
        text = part.numbered(first, "(SELECT yes FROM held)")
        named.append(f"part_{number} AS ({text})")
        first += len(part.usual)
    return f"WITH {', '.join(named)} SELECT yes FROM held"


_STEPS_ALONE: Final = _build_statement(_ON_THE_WAY)
_WITH_ENDS: Final = _build_statement(_AT_THE_END)


class BatchStatement:
    """Commits without special cases, as parameters of one statement."""

    def __init__(self, units: Sequence[RunCommit], call_result_bytes: int) -> None:
        runs = [unit.run for unit in units]
        self._runs = [
            [run.workspace_id for run in runs],
            [run.id for run in runs],
            [run.fence for run in runs],
            [run.attempt for run in runs],
        ]
        self.ends = False
        self._steps: list[tuple[Any, ...]] = []
        self._calls: list[tuple[Any, ...]] = []
        self._ended: list[tuple[Any, ...]] = []
        self._events: list[tuple[Any, ...]] = []
        # Whether the single statement is sufficient for all of them.
        self.fits = all(
            self._take(n, unit, call_result_bytes) for n, unit in enumerate(units, start=1)
        )

    def _take(self, n: int, unit: RunCommit, most_bytes: int) -> bool:
        if unit.trial or unit.output:
            return False
        for call in unit.calls:
            row = call_row(n, call, most_bytes)
            if row is None:
                return False
            self._calls.append(row)
        for step in unit.steps:
            self._steps.append(
                (
                    n,
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
            )
        return unit.end is None or self._end(n, unit, unit.end)

    def _end(self, n: int, unit: RunCommit, end: RunEnd) -> bool:
        run, final = unit.run, end.final
        if final and run.lane is not None:
            # The next run in its lane is released with it.
            return False
        self.ends = True
        self._ended.append(
            (
                n,
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
                final,
            )
        )
        event = run_event(
            run.workspace_id, run.id, run.automation_id, unit.automation, end, run.mode
        )
        if event is not None:
            self._events.append((n, event.id, event.type, event.source_id, event.payload))
        return True

    @property
    def statement(self) -> str:
        return _WITH_ENDS if self.ends else _STEPS_ALONE

    def parameters(self) -> list[Any]:
        found = [*self._runs, *_STEPS_PART.columns(self._steps), *CALLS_PART.columns(self._calls)]
        if self.ends:
            found += _ENDS_PART.columns(self._ended)
            found += EVENTS_PART.columns(self._events)
        return found


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

# After a broken connection: an end that did commit is recognised by its fencing token and status.
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
    """Writes commits as rows; one instance serves every run of a process."""

    def __init__(self, limits: Limits, tell: Callable[[], None] = lambda: None) -> None:
        self._limits = limits
        # Notifies the readers of the event log after the commit.
        self._tell = tell

    async def flush(self, connection: Connection, units: Sequence[RunCommit]) -> Sequence[bool]:
        """Write what still belongs to its owner; returns which commits those were."""
        together = BatchStatement(units, self._limits.call_result_bytes)
        if together.fits and await connection.fetchval(together.statement, *together.parameters()):
            if together.ends:
                self._tell()
            return [True] * len(units)
        return await self._one_after_another(connection, units)

    async def _one_after_another(
        self, connection: Connection, units: Sequence[RunCommit]
    ) -> Sequence[bool]:
        """The slow path: for special cases, and when an owner has lost a run."""
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
