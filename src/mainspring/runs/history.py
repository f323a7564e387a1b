"""Reading runs: lists, one run, its steps and its calls."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.runs.output import read_end

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

COLUMNS = """r.id, a.name AS automation, r.automation_id, r.version, r.status, r.reason,
        r.outcome, r.trigger_type, r.trigger_id, r.created_at, r.started_at, r.finished_at,
        r.effects, r.drafts, r.cost_usd, r.attempt, r.replay_of, r.parent_id, r.mode,
        CASE WHEN r.finished_at IS NULL THEN (SELECT h.reason
            FROM halting(r.workspace_id, r.automation_id) AS h ORDER BY h.halted_at LIMIT 1)
            END AS halted"""
# Select the page first, along the primary key; join the names afterwards.
_LIST = f"""
    WITH picked AS MATERIALIZED (
        SELECT r.* FROM runs r WHERE r.workspace_id = $1 AND {{parts}}
        ORDER BY r.id DESC LIMIT $2
    ), named AS MATERIALIZED (
        SELECT a.id, a.name
        FROM (SELECT DISTINCT p.automation_id AS id FROM picked p) AS of_page,
        LATERAL (SELECT n.id, n.name FROM automations n
                 WHERE n.workspace_id = $1 AND n.id = of_page.id) AS a
    )
    SELECT {COLUMNS}
    FROM picked r JOIN named a ON a.id = r.automation_id
    ORDER BY r.id DESC
"""
# Only the conditions in use are written: a plan that allows for all of them reads every run.
_PARTS: Final[Mapping[str, str]] = {
    "status": "r.status = {}",
    "automation": """r.automation_id IN (
        SELECT a.id FROM automations a WHERE a.workspace_id = $1 AND a.name = {})""",
    "automation_id": "r.automation_id = {}",
    "trigger_id": "r.trigger_id = {}",
    "before": "r.id < {}",
    "rehearsal_id": "r.rehearsal_id = {}",
    "mode": "r.mode = {}",
}
_ONE = f"""
    SELECT {COLUMNS}, nullif(coalesce(r.parked_due_at, r.due_at), 'infinity') AS due_at,
        r.takeovers, r.queue, r.root_id,
        r.depth, r.inputs, r.payload, r.output, r.error
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""
# An attempt with output has at least one chunk; the last of them contains how it ended.
_STEPS = """
    SELECT s.step, s.item, s.attempt, s.run_attempt, s.status, s.ms, s.finished_at, s.until,
        s.output, s.error, said.pieces, said.out_bytes, said.err_bytes, said.ended
    FROM steps s CROSS JOIN LATERAL (
        SELECT count(*) FILTER (WHERE o.stream <> 'agent') AS pieces,
            coalesce(sum(octet_length(o.text)) FILTER (WHERE o.stream = 'out'), 0) AS out_bytes,
            coalesce(sum(octet_length(o.text)) FILTER (WHERE o.stream = 'err'), 0) AS err_bytes,
            (array_agg(o.text ORDER BY o.seq DESC) FILTER (WHERE o.stream = 'end'))[1] AS ended
        FROM run_output o
        WHERE o.workspace_id = s.workspace_id AND o.run_id = s.run_id AND o.step = s.step
          AND o.item = s.item AND o.attempt = s.attempt
    ) AS said
    WHERE s.workspace_id = $1 AND s.run_id = $2
    ORDER BY s.finished_at, s.attempt
"""
_STEP = (
    "step",
    "item",
    "attempt",
    "run_attempt",
    "status",
    "ms",
    "finished_at",
    "until",
    "output",
    "error",
)
_CALLS = """
    SELECT step, item, attempt, call, capability, outcome, at, ms, cost_usd, arguments, result,
        result_id, error
    FROM calls WHERE workspace_id = $1 AND run_id = $2
    ORDER BY at, step, item, attempt, call
"""
_BY_PREFIX = """
    SELECT id FROM runs
    WHERE workspace_id = $1 AND id >= $2 AND id <= $3 ORDER BY id LIMIT 2
"""


async def list_runs(
    tx: Transaction,
    workspace_id: UUID,
    *,
    status: str | None = None,
    automation: str | None = None,
    automation_id: UUID | None = None,
    trigger_id: UUID | None = None,
    before: UUID | None = None,
    most: int = 20,
    rehearsal_id: UUID | None = None,
    mode: str | None = None,
) -> list[dict[str, Any]]:
    """The newest runs first; ``before`` continues after a page.

    Runs of a rehearsal are only listed when it is named.
    """
    asked = {
        "status": status,
        "automation": automation,
        "automation_id": automation_id,
        "trigger_id": trigger_id,
        "before": before,
        "rehearsal_id": rehearsal_id,
        "mode": mode,
    }
    given = {name: value for name, value in asked.items() if value is not None}
    rows = await tx.fetch(_list(tuple(given)), workspace_id, most, *given.values())
    return [dict(row) for row in rows]


@cache
def _list(names: tuple[str, ...]) -> str:
    parts = [_PARTS[name].format(f"${place}") for place, name in enumerate(names, 3)]
    if "rehearsal_id" not in names:
        parts.append("r.rehearsal_id IS NULL")
    return _LIST.format(parts=" AND ".join(parts))


async def read_run(tx: Transaction, workspace_id: UUID, run_id: UUID) -> dict[str, Any]:
    """One run with its steps and calls, in the order they happened."""
    row = await tx.fetchrow(_ONE, workspace_id, run_id)
    if row is None:
        raise NotFound("There is no such run.", code="no_run")
    run = dict(row)
    run["steps"] = [_step(row) for row in await tx.fetch(_STEPS, workspace_id, run_id)]
    run["calls"] = [dict(call) for call in await tx.fetch(_CALLS, workspace_id, run_id)]
    return run


def _step(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {name: row[name] for name in _STEP}
    end = read_end(row["ended"])
    process = {
        "exit_code": end.get("exit_code"),
        "reason": end.get("reason"),
        "cpu_ms": end.get("cpu_ms"),
        "peak_kb": end.get("peak_kb"),
        "out_bytes": row["out_bytes"],
        "err_bytes": row["err_bytes"],
    }
    return {**shown, "process": process if row["pieces"] else None}


async def find_run(tx: Transaction, workspace_id: UUID, text: str) -> UUID:
    """A run by its id, or by a unique prefix of it."""
    digits = text.replace("-", "").lower()
    try:
        low = UUID(digits.ljust(32, "0"))
        high = UUID(digits.ljust(32, "f"))
    except ValueError:
        raise NotFound(f"{text[:40]!r} is not the id of a run.", code="no_run") from None
    rows = await tx.fetch(_BY_PREFIX, workspace_id, low, high)
    if len(rows) != 1:
        found = "There is no run" if not rows else "There are several runs"
        raise NotFound(f"{found} whose id begins with {text[:40]!r}.", code="no_run")
    return UUID(str(rows[0]["id"]))
