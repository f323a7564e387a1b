"""Money: what a run may still spend. Reserve first, settle after.

Decisions here are functions of plain numbers; the run keeps one ``Purse`` while it is
being worked on and its total is written with the run. What calls have promised to spend
over all processes, for the day and for the workspace, stands in ``money``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from mainspring.contracts.errors import OverBudget

ENDLESS = Decimal("Infinity")


@dataclass(slots=True)
class Purse:
    """What one run may spend, has spent, and has promised to calls under way."""

    cap: Decimal
    spent: Decimal = Decimal(0)
    reserved: Decimal = field(default=Decimal(0))
    # What all runs of the automation may spend in one day.
    day_cap: Decimal = ENDLESS

    def reserve(self, amount: Decimal = Decimal(0)) -> None:
        """Refuses a call that could not be paid for; a spent purse refuses every call."""
        if self.spent > self.cap or self.spent + self.reserved + amount > self.cap:
            raise OverBudget(
                f"The run has spent ${self.spent} of its ${self.cap}; this call was not made.",
                code="run_budget",
                suggestion="Raise execution.budget_cap_usd or make the plan cheaper.",
            )
        self.reserved += amount

    def settle(self, reserved: Decimal, spent: Decimal) -> None:
        """Takes back what was promised and books what it really cost."""
        self.reserved -= reserved
        self.spent += spent
