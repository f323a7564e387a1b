"""What making one proposal may cost: asks of models that share one sum of money.

The gate promises and books each ask by itself; here their sum is held to what the person allowed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import BudgetExceeded, Problem
from mainspring.contracts.model import ModelCatalog, ModelReply, ModelRequest, Price, is_refusal

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


@dataclass(slots=True)
class ProposalBudget:
    """Asks models for one call, and counts what that came to."""

    ctx: CallContext
    models: ModelCatalog
    cap: Decimal
    spent: Decimal = Decimal(0)
    # What the last model that answered is called.
    model: str = ""

    async def __call__(self, request: ModelRequest) -> ModelReply:
        """Asks once, for no more than what is left."""
        left = self.cap - self.spent
        if left <= 0:
            raise BudgetExceeded(
                f"This proposal may cost ${self.cap}, and ${self.spent} are spent.",
                code="proposal_budget",
                suggestion="Allow more with max_usd, or do without a model.",
            )
        most = left if request.max_usd is None else min(left, request.max_usd)
        price = await self._price(self.ctx.actor.workspace_id, request.model)
        try:
            reply = await self.ctx.complete(replace(request, max_usd=most))
        except Problem as problem:
            if not (problem.unsent or is_refusal(problem)):
                # Nobody knows what it came to, and the ledger has it at its most.
                self.spent += most
            raise
        self.model = reply.model or request.model
        self.spent += price.cost(
            reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.stored_tokens
        )
        return reply

    async def _price(self, workspace_id: UUID, name: str) -> Price:
        found = await self.models.find(workspace_id, name)
        # Without a price the gate refuses the ask, and nothing is counted.
        return found.price or Price(Decimal(0), Decimal(0))
