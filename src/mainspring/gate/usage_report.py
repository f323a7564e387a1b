"""What a script says of models of its own, booked beside what the gate has seen itself.

A script can say anything, so its word only ever adds: a report is a row and a cost more, under
a name made of its place and its content. The same report again, by a script that was taken over
and starts from its first line, is the same row. One report counts for at most what its run may
use at all, for after that the run is stopped anyway, and others share the day's money.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.context import RunRef
from mainspring.contracts.errors import InternalError, Problem
from mainspring.contracts.model import Usage
from mainspring.gate.budget_reservations import (
    BudgetReservation,
    read_step_spending,
    read_tokens_used,
    refresh_workspace_budget,
    settle_run_budget,
)
from mainspring.gate.run_budget import ENDLESS, RunBudget
from mainspring.gate.usage_meter import UsageRow, read_run_usage, write_usage

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Connection, Database

REPORTED: Final = "script"
LONGEST_MODEL: Final = 200
# A money column takes any number of places; a report gets as many as a price needs.
_PLACES: Final = Decimal("0.000000000001")

_DAY = """
    SELECT coalesce(sum(s.usd), 0) AS spent FROM spend s
    WHERE s.workspace_id = $1 AND s.automation_id = $2
      AND s.day = (now() AT TIME ZONE 'UTC')::date
"""


@dataclass(frozen=True, slots=True)
class UsageReporter:
    """Whose report it is: the place in its run, and the purse it counts toward."""

    workspace_id: UUID
    run: RunRef
    budget: RunBudget
    # Which report of this try it is.
    number: int


async def report_usage(
    database: Database, by: UsageReporter, usage: Usage, now: datetime
) -> Problem | None:
    """Books a report once; which cap of the run has been reached, if one has."""
    counted = _limit_usage(usage, by.budget)
    row = UsageRow(by.workspace_id, _name(by, usage), now, by.run, by.number, REPORTED, counted)

    async def work(link: Connection) -> Decimal | None:
        async with link.transaction():
            return await _book_usage(link, by, row)

    spent = await database.run_retrying(work)
    if spent is not None:
        by.budget.settle(Decimal(0), spent)
    return by.budget.used_up()


async def _book_usage(tx: Transaction, by: UsageReporter, row: UsageRow) -> Decimal | None:
    new = await write_usage(tx, row)
    used, _ = await read_tokens_used(tx, by.workspace_id, by.run.id)
    by.budget.tokens = max(by.budget.tokens, used)
    if not new:
        return None
    usd = row.usage.cost_usd
    if usd:
        reservation = BudgetReservation(
            by.workspace_id, row.id, by.run.automation_id, by.run.id, by.run.step, usd
        )
        await settle_run_budget(tx, by.budget, reservation, usd)
    return usd


async def day_spent(
    database: Database, workspace_id: UUID, automation_id: UUID
) -> tuple[Decimal, bool]:
    """What an automation has spent today, and whether its workspace has spent its all."""

    async def read(link: Connection) -> tuple[Decimal, bool]:
        budget = RunBudget(ENDLESS)
        await refresh_workspace_budget(link, budget, workspace_id)
        spent = await link.fetchval(_DAY, workspace_id, automation_id)
        all_of_it = budget.space_spent > 0 and budget.space_spent >= budget.space_cap
        return Decimal(spent), all_of_it

    return await database.run_retrying(read)


async def load_run_budget(
    database: Database, workspace_id: UUID, run: RunRef, budget: RunBudget
) -> RunBudget:
    """A purse as the ledger knows it, with what other processes have spent for the run."""

    async def read(link: Connection) -> RunBudget:
        used = await read_run_usage(link, workspace_id, run.id)
        today = Decimal(await link.fetchval(_DAY, workspace_id, run.automation_id))
        known = replace(
            budget,
            spent=max(budget.spent, used.settled),
            tokens=max(budget.tokens, used.tokens),
            day_spent=max(budget.day_spent, today),
            bounds=[
                replace(
                    bound,
                    spent=max(
                        bound.spent, await read_step_spending(link, workspace_id, run.id, bound)
                    ),
                )
                for bound in budget.bounds
            ],
        )
        await refresh_workspace_budget(link, known, workspace_id)
        return known

    return await database.run_retrying(read)


def _limit_usage(usage: Usage, budget: RunBudget) -> Usage:
    """The report as far as it counts."""
    usd = usage.cost_usd
    if not usd.is_finite() or usd < 0 or min(usage.input_tokens, usage.output_tokens) < 0:
        raise InternalError("A usage report cannot be negative.", retryable=False)
    most = budget.token_cap
    if most is not None:
        reads = min(usage.input_tokens, most)
        usage = replace(usage, input_tokens=reads, output_tokens=min(usage.output_tokens, most))
    # One that is larger than the cap is more than the cap, however large it was.
    usd = min(usd, budget.cap).quantize(_PLACES)
    return replace(usage, cost_usd=usd, model=usage.model[:LONGEST_MODEL], reported=True)


def _name(by: UsageReporter, usage: Usage) -> UUID:
    """The same report at the same place of a run has the same name, in every try."""
    run = by.run
    text = (
        f"{run.id}/{run.step}/{run.item}/{by.number}/{usage.model}/"
        f"{usage.input_tokens}/{usage.output_tokens}/{usage.cost_usd}"
    )
    return UUID(bytes=hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).digest())
