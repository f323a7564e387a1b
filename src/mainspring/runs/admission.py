"""Admission: reasons why a firing is recorded instead of executed.

The decisions are functions of plain values; the queries next to them fetch those values.
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


# A person may still start it manually.
PAUSED = AdmissionRefusal("skipped", "paused", "nothing_to_do")
DROPPED = AdmissionRefusal("skipped", "dropped", "nothing_to_do")
# What arrives while the automation has no owner is kept, and can be replayed later.
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
    """The number of runs in a chain; shared by all that join it in one batch."""

    runs: int


@dataclass(frozen=True, slots=True)
class RunChain:
    """The chain of new runs: their root, their depth, and its length."""

    root_id: UUID | None = None
    depth: int = 0
    length: ChainLength = field(default_factory=lambda: ChainLength(0))
    # What the parent may do; the runs that it starts may do no more.
    mode: Mode = "live"

    def refusal(self, limits: Limits) -> AdmissionRefusal | None:
        """Stop automations that keep starting each other, with a record."""
        if self.depth > limits.chain_depth:
            return _chain_refusal("chain_depth", f"{limits.chain_depth} runs deep")
        if self.length.runs >= limits.chain_runs:
            return _chain_refusal("chain_runs", f"{limits.chain_runs} runs long")
        return None

    def grow(self) -> None:
        """Count a run that is about to join."""
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
    """What an automation has spent today, and the usual cost of a run."""

    spent_today: Decimal = Decimal(0)
    usual: Decimal | None = None
    # Whether the workspace has reached its daily cap.
    space_spent: bool = False

    def refusal(self, execution: Execution) -> AdmissionRefusal | None:
        """A daily cap that is reached, or a run that would exceed it."""
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
    """The chain of each parent."""
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
    """The runs among these that are trials."""
    if not runs:
        return set()
    return {row["id"] for row in await tx.fetch(_TRIALS, workspace_id, list(runs))}
