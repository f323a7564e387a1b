"""Money over all processes: a call that costs is promised its most, then settled.

A promise is made under a lock of the workspace, where everything spent and everything
promised is added up, so that no two calls are promised the same money. It is made at four
places at once: the run, the steps under way that have a cap of their own, the automation's
day and the day of the whole workspace bound it. Settling books what a call really came to,
also when that is more, and gives back the rest. A call that never came back keeps its
promise for a while; an ask of a model keeps it until it is booked (``lost_asks``), since a
provider may charge for what nobody heard. A day is a day in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import format_usd
from mainspring.contracts.errors import BudgetExceeded, InternalError
from mainspring.gate.capability_call import CapabilityCall
from mainspring.gate.run_budget import (
    DAY_WAY_OUT,
    RUN_WAY_OUT,
    SPACE_WAY_OUT,
    STEP_WAY_OUT,
    RunBudget,
    StepBudget,
    tokens_exhausted_error,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_LOCK = "SELECT cost_cap_daily_usd AS cap FROM workspaces WHERE workspace_id = $1 FOR NO KEY UPDATE"
# A promise that still stands: those to models have tokens, and do not run out by themselves.
_HOLDS: Final = "(r.expires_at > now() OR r.tokens > 0)"
# What a person's own call came to belongs to no automation, so its promise is its record.
_SUMS = f"""
    WITH today AS (SELECT (now() AT TIME ZONE 'UTC')::date AS day), booked AS (
        SELECT coalesce(sum(s.usd), 0) AS space,
            coalesce(sum(s.usd) FILTER (WHERE s.automation_id = $2), 0) AS automation
        FROM spend s, today WHERE s.workspace_id = $1 AND s.day = today.day
    ), promised AS (
        SELECT
            coalesce(sum(r.usd) FILTER (WHERE r.spent IS NULL), 0)
                + coalesce(sum(r.spent) FILTER (WHERE r.automation_id IS NULL), 0) AS space,
            coalesce(sum(r.usd) FILTER (WHERE r.spent IS NULL AND r.automation_id = $2), 0)
                AS automation
        FROM reservations r, today
        WHERE r.workspace_id = $1 AND r.day = today.day
          AND (r.spent IS NOT NULL OR {_HOLDS})
    ), run AS (
        SELECT coalesce(sum(r.spent), 0) AS spent,
            coalesce(sum(r.usd) FILTER (WHERE r.spent IS NULL AND {_HOLDS}), 0) AS held
        FROM reservations r WHERE r.workspace_id = $1 AND r.run_id = $3
    )
    SELECT booked.space + promised.space AS space, booked.automation + promised.automation
        AS automation, run.spent AS run_spent, run.held AS run_held
    FROM booked, promised, run
"""
_PROMISE = """
    INSERT INTO reservations (workspace_id, id, automation_id, run_id, step, day, usd, expires_at,
        tokens)
    VALUES ($1, $2, $3, $4, $5, (now() AT TIME ZONE 'UTC')::date, $6, now() + $7::interval, $8)
"""
# Booked once, however often it is sent: a promise that was settled stays as it is.
_SETTLE = """
    WITH settled AS (
        INSERT INTO reservations (workspace_id, id, automation_id, run_id, step, day, usd, spent,
            expires_at)
        VALUES ($1, $2, $3, $4, $5, (now() AT TIME ZONE 'UTC')::date, $6, $7, now())
        ON CONFLICT (workspace_id, id) DO UPDATE SET spent = excluded.spent
            WHERE reservations.spent IS NULL
        RETURNING workspace_id, automation_id, day, spent
    )
    INSERT INTO spend (workspace_id, automation_id, day, usd)
    SELECT workspace_id, automation_id, day, spent FROM settled WHERE automation_id IS NOT NULL
    ON CONFLICT (workspace_id, automation_id, day) DO UPDATE SET usd = spend.usd + excluded.usd
    RETURNING usd
"""
# What the calls of a run have used of models, and what those under way may still use.
_TOKENS = """
    SELECT coalesce((
            SELECT sum(u.input_tokens + u.output_tokens) FROM llm_usage u
            WHERE u.workspace_id = $1 AND u.run_id = $2), 0)::int8 AS used,
        coalesce((
            SELECT sum(r.tokens) FROM reservations r
            WHERE r.workspace_id = $1 AND r.run_id = $2 AND r.spent IS NULL), 0)::int8 AS held
"""
# What one step of a run has spent with all that stands inside it, and what is promised to it.
_STEP = f"""
    SELECT coalesce(sum(r.spent), 0) AS spent,
        coalesce(sum(r.usd) FILTER (WHERE r.spent IS NULL AND {_HOLDS}), 0) AS held
    FROM reservations r
    WHERE r.workspace_id = $1 AND r.run_id = $2 AND r.step = ANY($3::text[])
"""
# Promises are forgotten before a run that waits for long, the records of its calls are not.
_STEP_SPENT = """
    SELECT greatest(
        (SELECT coalesce(sum(r.spent), 0) FROM reservations r
         WHERE r.workspace_id = $1 AND r.run_id = $2 AND r.step = ANY($3::text[])),
        (SELECT coalesce(sum(c.cost_usd), 0) FROM calls c
         WHERE c.workspace_id = $1 AND c.run_id = $2 AND c.step = ANY($3::text[]))
        + (SELECT coalesce(sum(u.cost_usd), 0) FROM llm_usage u
           WHERE u.workspace_id = $1 AND u.run_id = $2 AND u.step = ANY($3::text[])
             AND u.reported)) AS spent
"""
# A workspace without a cap of its own has no row here.
_SPACE = """
    SELECT w.cost_cap_daily_usd AS cap, (
            SELECT coalesce(sum(s.usd), 0) FROM spend s
            WHERE s.workspace_id = $1 AND s.day = (now() AT TIME ZONE 'UTC')::date)
        + (SELECT coalesce(sum(r.spent), 0) FROM reservations r
            WHERE r.workspace_id = $1 AND r.day = (now() AT TIME ZONE 'UTC')::date
              AND r.automation_id IS NULL) AS spent
    FROM workspaces w WHERE w.workspace_id = $1 AND w.cost_cap_daily_usd IS NOT NULL
"""
_FREE = "DELETE FROM reservations WHERE workspace_id = $1 AND id = $2 AND spent IS NULL"


@dataclass(frozen=True, slots=True)
class BudgetReservation:
    """Money set aside for one call; none at all for a call that has no price."""

    workspace_id: UUID
    id: UUID
    automation_id: UUID | None
    run_id: UUID | None
    step: str
    usd: Decimal
    # Tokens of models that it may use.
    tokens: int = 0


def build_reservation(ask: CapabilityCall, reservation_id: UUID, usd: Decimal) -> BudgetReservation:
    """The promise that a call asks for."""
    run, space = ask.run, ask.actor.workspace_id
    if run is None:
        return BudgetReservation(space, reservation_id, ask.automation_id, None, "", usd)
    return BudgetReservation(space, reservation_id, run.automation_id, run.id, run.step, usd)


def validate_price(capability: str, usd: Any) -> Decimal:
    """The most a call can cost, as its capability says."""
    if not isinstance(usd, Decimal) or not usd.is_finite() or usd < 0:
        raise InternalError(
            f"The price of {capability} is not an amount of money.", retryable=False
        )
    return usd


async def reserve_budget(
    tx: Transaction, promise: BudgetReservation, ask: CapabilityCall, lasts: timedelta
) -> None:
    """Sets money aside inside the caller's short transaction, or says at which level it is gone."""
    space = await tx.fetchrow(_LOCK, promise.workspace_id)
    sums = await tx.fetchrow(_SUMS, promise.workspace_id, promise.automation_id, promise.run_id)
    _check(promise, ask, sums, None if space is None else space["cap"])
    for bound in ask.budget.bounds:
        await _check_step(tx, promise, bound)
    await tx.execute(
        _PROMISE,
        promise.workspace_id,
        promise.id,
        promise.automation_id,
        promise.run_id,
        promise.step,
        promise.usd,
        lasts,
        promise.tokens,
    )


async def find_available_tokens(
    tx: Transaction, ask: CapabilityCall, reads: int, writes: int
) -> int:
    """How much of what a model should write there is room for in the run, but never nothing.

    The ledger of the workspace is held from here to the end of the transaction, so that no two
    asks find the same room.
    """
    run, budget = ask.run, ask.budget
    if run is None or budget.token_cap is None:
        return writes
    await tx.fetchrow(_LOCK, ask.actor.workspace_id)
    used, held = await read_tokens_used(tx, ask.actor.workspace_id, run.id)
    budget.tokens = max(budget.tokens, used)
    taken = budget.tokens + held
    room = budget.token_cap - taken - reads
    if room < 1:
        raise tokens_exhausted_error(taken, budget.token_cap, reads)
    return min(writes, room)


async def read_tokens_used(tx: Transaction, workspace_id: UUID, run_id: UUID) -> tuple[int, int]:
    """Tokens that a run has used, and those promised to asks that are under way."""
    row = await tx.fetchrow(_TOKENS, workspace_id, run_id)
    return row["used"], row["held"]


async def settle_reservation(
    tx: Transaction, reservation: BudgetReservation, spent: Decimal
) -> Decimal | None:
    """Books what a call came to and gives back what was promised beyond it.

    Answers what the automation has spent on that day, when this was news.
    """
    if spent == 0:
        await tx.execute(_FREE, reservation.workspace_id, reservation.id)
        return None
    row = await tx.fetchrow(
        _SETTLE,
        reservation.workspace_id,
        reservation.id,
        reservation.automation_id,
        reservation.run_id,
        reservation.step,
        reservation.usd,
        spent,
    )
    return None if row is None else Decimal(row["usd"])


async def settle_run_budget(
    tx: Transaction, budget: RunBudget, reservation: BudgetReservation, spent: Decimal
) -> None:
    """Settles, and lets the budget know how far its day and that of its workspace have gone."""
    today = await settle_reservation(tx, reservation, spent)
    if today is not None:
        budget.day_spent = max(budget.day_spent, today)
    if spent and reservation.run_id is not None:
        await refresh_workspace_budget(tx, budget, reservation.workspace_id)


async def refresh_workspace_budget(tx: Transaction, budget: RunBudget, workspace_id: UUID) -> None:
    """Lets a budget know what the workspace may spend in a day, and has spent."""
    row = await tx.fetchrow(_SPACE, workspace_id)
    if row is not None:
        budget.space_cap, budget.space_spent = Decimal(row["cap"]), Decimal(row["spent"])


async def read_step_spending(
    tx: Transaction, workspace_id: UUID, run_id: UUID, bound: StepBudget
) -> Decimal:
    """What a step of a run has spent so far, whoever worked on it."""
    row = await tx.fetchrow(_STEP_SPENT, workspace_id, run_id, list(bound.covers))
    return Decimal(row["spent"])


def _check(
    reservation: BudgetReservation, ask: CapabilityCall, sums: Any, space_cap: Decimal | None
) -> None:
    if reservation.run_id is not None:
        # The run's own budget knows of calls that are older than these records.
        used = max(sums["run_spent"], ask.budget.spent) + sums["run_held"]
        _refuse_over(reservation.usd, used, ask.budget.cap, "The run", "run_budget", RUN_WAY_OUT)
        _refuse_over(
            reservation.usd,
            sums["automation"],
            ask.budget.day_cap,
            "Today's runs",
            "day_budget",
            DAY_WAY_OUT,
        )
    if space_cap is not None:
        _refuse_over(
            reservation.usd,
            sums["space"],
            space_cap,
            "The workspace",
            "workspace_budget",
            SPACE_WAY_OUT,
        )


async def _check_step(tx: Transaction, reservation: BudgetReservation, bound: StepBudget) -> None:
    row = await tx.fetchrow(_STEP, reservation.workspace_id, reservation.run_id, list(bound.covers))
    used = max(row["spent"], bound.spent) + row["held"]
    _refuse_over(
        reservation.usd, used, bound.cap, f"Step {bound.step!r}", "step_budget", STEP_WAY_OUT
    )


def _refuse_over(
    asked: Decimal, used: Decimal, cap: Decimal, who: str, code: str, way_out: str
) -> None:
    if used + asked <= cap:
        return
    raise BudgetExceeded(
        f"{who} may spend {format_usd(cap)}. {format_usd(used)} of it is spent or reserved, and "
        f"this call can cost {format_usd(asked)}; it was not made.",
        code=code,
        suggestion=way_out,
    )
