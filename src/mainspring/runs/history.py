"""Reading runs: lists, one run, its steps and its calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Missing
from mainspring.runs.output import read_end

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

COLUMNS = """r.id, a.name AS automation, r.automation_id, r.version, r.status, r.reason,
        r.outcome, r.trigger_type, r.trigger_id, r.created_at, r.started_at, r.finished_at,
        r.effects, r.drafts, r.cost_usd, r.attempt, r.replay_of, r.parent_id, r.mode"""
# Each part that was not asked for is true for every row.
_LIST = f"""
    SELECT {COLUMNS}
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND ($2::text IS NULL OR r.status = $2)
      AND ($3::text IS NULL OR a.name = $3) AND ($4::uuid IS NULL OR r.automation_id = $4)
      AND ($5::uuid IS NULL OR r.trigger_id = $5) AND ($6::uuid IS NULL OR r.id < $6)
      AND r.rehearsal_id IS NOT DISTINCT FROM $8::uuid
      AND ($9::text IS NULL OR r.mode = $9)
    ORDER BY r.id DESC LIMIT $7
"""
_ONE = f"""
    SELECT {COLUMNS}, nullif(r.due_at, 'infinity') AS due_at, r.takeovers, r.queue, r.root_id,
        r.depth, r.inputs, r.payload, r.output, r.error
    FROM runs r JOIN automations a ON a.workspace_id = r.workspace_id AND a.id = r.automation_id
    WHERE r.workspace_id = $1 AND r.id = $2
"""
# A try that said something has at least one piece; the last of them tells how it ended.
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
    "step", "item", "attempt", "run_attempt", "status", "ms", "finished_at", "until", "output",
    "error",
)  # fmt: skip
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
    tx: Transaction, workspace_id: UUID, *, status: str | None = None,
    automation: str | None = None, automation_id: UUID | None = None,
    trigger_id: UUID | None = None, before: UUID | None = None, most: int = 20,
    rehearsal_id: UUID | None = None, mode: str | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """The newest runs first; ``before`` goes on where a page ended.

    Those of a rehearsal are listed only for whoever names it.
    """
    rows = await tx.fetch(
        _LIST, workspace_id, status, automation, automation_id, trigger_id, before, most,
        rehearsal_id, mode,
    )  # fmt: skip
    return [dict(row) for row in rows]


async def read_run(tx: Transaction, workspace_id: UUID, run_id: UUID) -> dict[str, Any]:
    """One run with its steps and calls, in the order they happened."""
    row = await tx.fetchrow(_ONE, workspace_id, run_id)
    if row is None:
        raise Missing("There is no such run.", code="no_run")
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
    """A run by its id, or by the first characters of it when they name one run only."""
    digits = text.replace("-", "").lower()
    try:
        low = UUID(digits.ljust(32, "0"))
        high = UUID(digits.ljust(32, "f"))
    except ValueError:
        raise Missing(f"{text[:40]!r} is not the id of a run.", code="no_run") from None
    rows = await tx.fetch(_BY_PREFIX, workspace_id, low, high)
    if len(rows) != 1:
        found = "There is no run" if not rows else "There are several runs"
        raise Missing(f"{found} whose id begins with {text[:40]!r}.", code="no_run")
    return UUID(str(rows[0]["id"]))
