"""The rows of many runs in one statement: one journey to the database, and one commit.

While the database is busy with it, the worker has nothing to answer and can work on other runs.
It is for what nearly every step leaves: the step, its call, the end of its run and the event of
that. It writes when every run is still its owner's, and otherwise nothing at all; whoever asked
then goes the longer way, as for everything that this statement does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

from mainspring.gate.record import CALLS_PART, call_row, dumps
from mainspring.runs.events import run_event
from mainspring.runs.rows import RunCommit, RunEnd
from mainspring.store.events import EVENTS_PART
from mainspring.store.parts import StatementPart

# A takeover comes before this lock or after the commit; the longer way takes the same.
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

# Mostly nothing ends in between; the tables of ends are not even looked at then.
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
    """Units that have nothing unusual about them, as parameters of one statement."""

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
        # Whether the one statement is enough for all of them.
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
            # The next one in its lane is let go with it.
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
