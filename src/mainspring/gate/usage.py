"""The ledger of models: a row for every ask, written where its cost is booked.

A row says who asked, which model, how many tokens and what they came to, at the price of that
moment. It holds nothing of what was asked or answered, so it is kept longer than the run.
Rows are named: one that is sent twice, because nobody knew whether it had arrived, counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.context import RunRef
from mainspring.contracts.model import Usage
from mainspring.gate.record import dumps

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ADD = """
    INSERT INTO llm_usage (workspace_id, id, at, automation_id, run_id, step, item, attempt, call,
        caller, provider, model, input_tokens, output_tokens, cached_tokens, cost_usd, price, ms,
        reported)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        $17::text::jsonb, $18, $19)
    ON CONFLICT (workspace_id, id) DO NOTHING
    RETURNING id
"""
_OF_RUN = """
    SELECT id, at, step, item, attempt, call, caller, provider, model, input_tokens,
        output_tokens, cached_tokens, cost_usd, price, ms, reported
    FROM llm_usage WHERE workspace_id = $1 AND run_id = $2 ORDER BY at, id
"""
# What is settled outlives neither its day by much nor its run; what a call has cost stands in
# its record too. The larger of the two is the truth after a crash between them.
_USED = """
    SELECT u.tokens, u.reported, coalesce((
        SELECT sum(m.spent) FROM reservations m WHERE m.workspace_id = $1 AND m.run_id = $2
        ), 0) AS settled
    FROM (
        SELECT coalesce(sum(input_tokens + output_tokens), 0)::int8 AS tokens,
            coalesce(sum(cost_usd) FILTER (WHERE reported), 0) AS reported
        FROM llm_usage WHERE workspace_id = $1 AND run_id = $2
    ) AS u
"""


@dataclass(frozen=True, slots=True)
class UsageRow:
    """One ask of a model with its place."""

    workspace_id: UUID
    id: UUID
    at: datetime
    run: RunRef | None
    call: int
    # What asked: a capability's id, or what reported it.
    caller: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class RunModelUsage:
    """What a run has used of models so far, whoever worked on it."""

    tokens: int = 0
    # What the run itself said that it cost, which stands in no record of a call.
    reported: Decimal = Decimal(0)
    # What is booked for its calls and its reports together.
    settled: Decimal = Decimal(0)


async def write_usage(tx: Transaction, row: UsageRow) -> bool:
    """Adds a row inside the caller's transaction; whether it is new."""
    run, used = row.run, row.usage
    place = ("", "", 1) if run is None else (run.step, run.item, run.attempt)
    made = await tx.fetchrow(
        _ADD,
        row.workspace_id,
        row.id,
        row.at,
        None if run is None else run.automation_id,
        None if run is None else run.id,
        *place,
        row.call,
        row.caller,
        used.provider,
        used.model,
        used.input_tokens,
        used.output_tokens,
        used.cached_tokens,
        used.cost_usd,
        dumps(used.price),
        used.ms,
        used.reported,
    )
    return made is not None


async def read_usage(tx: Transaction, workspace_id: UUID, run_id: UUID) -> Sequence[dict[str, Any]]:
    """Every ask of a run, in the order in which they were answered."""
    return [dict(row) for row in await tx.fetch(_OF_RUN, workspace_id, run_id)]


async def read_run_usage(tx: Transaction, workspace_id: UUID, run_id: UUID) -> RunModelUsage:
    """What a run has used, for whoever takes it over."""
    row = await tx.fetchrow(_USED, workspace_id, run_id)
    return RunModelUsage(row["tokens"], row["reported"], row["settled"])
