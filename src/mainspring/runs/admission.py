"""Admission: reasons why a firing becomes a record instead of work.

The decisions are functions of plain values; the queries beside them fetch those values.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import BudgetExceeded, Conflict, LimitExceeded, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.model import Execution
from mainspring.gate.policy import Mode
from mainspring.workspace.departed_members import OWNER_LEFT

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


@dataclass(frozen=True, slots=True)
class AdmissionRefusal:
    """How the run is recorded when it may not start."""

    status: str
    reason: str
    outcome: str
    problem: Problem | None = None


# A person may still start it by hand.
PAUSED = AdmissionRefusal("skipped", "paused", "nothing_to_do")
DROPPED = AdmissionRefusal("skipped", "dropped", "nothing_to_do")
# What arrives until somebody takes the automation over is kept, and can be replayed then.
LEFT = AdmissionRefusal(
    "skipped",
    OWNER_LEFT,
    "blocked",
    Conflict(
        "It is stopped because its owner, or the member who made its webhook token, left.",
        code=OWNER_LEFT,
        suggestion="Take it over under Settings, Members, or with `mainspring members takeover`; "
        "then replay this run.",
    ),
)


@dataclass(slots=True)
class ChainLength:
    """How many runs a chain has; shared by all who join it in one batch."""

    runs: int


@dataclass(frozen=True, slots=True)
class RunChain:
    """Where new runs would stand: their first ancestor, their depth, how many there are."""

    root_id: UUID | None = None
    depth: int = 0
    length: ChainLength = field(default_factory=lambda: ChainLength(0))
    # What the parent may do; whatever it starts may do no more.
    mode: Mode = "live"

    def refusal(self, limits: Limits) -> AdmissionRefusal | None:
        """Automations that start each other are stopped, with a record."""
        if self.depth > limits.chain_depth:
            return _chain_refusal("chain_depth", f"{limits.chain_depth} runs deep")
        if self.length.runs >= limits.chain_runs:
            return _chain_refusal("chain_runs", f"{limits.chain_runs} runs long")
        return None

    def grow(self) -> None:
        """Counts a run that is about to join."""
        self.length.runs += 1


def _chain_refusal(reason: str, bound: str) -> AdmissionRefusal:
    problem = LimitExceeded(
        f"Runs have started runs until the chain was {bound}; it ends here.",
        code=reason,
        retryable=False,
    )
    return AdmissionRefusal("skipped", reason, "blocked", problem)


@dataclass(frozen=True, slots=True)
class CostAllowance:
    """What an automation has spent today, and what a run of it usually costs."""

    spent_today: Decimal = Decimal(0)
    usual: Decimal | None = None
    # Whether the workspace has spent all that it may spend in a day.
    space_spent: bool = False

    def refusal(self, execution: Execution) -> AdmissionRefusal | None:
        """A day's cap that is reached, or a run that would cost more than it may."""
        if self.spent_today and self.spent_today >= execution.cost_cap_daily_usd:
            return _costly(
                "day_budget",
                f"Today's runs have spent ${self.spent_today} of ${execution.cost_cap_daily_usd} "
                "(the day is counted in UTC).",
            )
        if self.space_spent:
            return _costly(
                "workspace_budget",
                "The workspace has spent what it may spend today (the day is counted in UTC).",
            )
        if self.usual is not None and self.usual > execution.budget_cap_usd:
            return _costly(
                "estimate_over_budget",
                f"Its last runs cost ${self.usual:.4f} on average; "
                f"a run may spend ${execution.budget_cap_usd}.",
            )
        return None


def _costly(reason: str, detail: str) -> AdmissionRefusal:
    return AdmissionRefusal("skipped", reason, "over_budget", BudgetExceeded(detail, code=reason))


_CHAINS = """
    SELECT p.id, coalesce(p.root_id, p.id) AS root_id, p.depth + 1 AS depth, p.mode,
        (SELECT count(*) FROM runs c
         WHERE c.workspace_id = p.workspace_id AND c.root_id = coalesce(p.root_id, p.id)) AS runs
    FROM runs p WHERE p.workspace_id = $1 AND p.id = ANY($2::uuid[])
"""
_TRIALS = """
    SELECT id FROM runs WHERE workspace_id = $1 AND id = ANY($2::uuid[]) AND mode <> 'live'
"""


async def read_chains(
    tx: Transaction, workspace_id: UUID, parents: Sequence[UUID]
) -> dict[UUID, RunChain]:
    """The chain each parent stands in."""
    if not parents:
        return {}
    rows = await tx.fetch(_CHAINS, workspace_id, list(parents))
    lengths = {row["root_id"]: ChainLength(row["runs"]) for row in rows}
    return {
        row["id"]: RunChain(row["root_id"], row["depth"], lengths[row["root_id"]], row["mode"])
        for row in rows
    }


async def trials_among(
    tx: Transaction, workspace_id: UUID, runs: Collection[UUID | None]
) -> set[UUID]:
    """Those of the runs that only try things out."""
    if not runs:
        return set()
    return {row["id"] for row in await tx.fetch(_TRIALS, workspace_id, list(runs))}
