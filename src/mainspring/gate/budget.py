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
DAY_WAY_OUT = (
    "Raise execution.cost_cap_daily_usd or wait for the next day, which begins at midnight UTC."
)


@dataclass(slots=True)
class Purse:
    """What one run may spend, has spent, and has promised to calls under way."""

    cap: Decimal
    spent: Decimal = Decimal(0)
    reserved: Decimal = field(default=Decimal(0))
    # What all runs of the automation may spend in one day, and have spent as far as is known.
    day_cap: Decimal = ENDLESS
    day_spent: Decimal = Decimal(0)
    # Tokens the run may use of models, read and written together, and has used; None: no cap.
    token_cap: int | None = None
    tokens: int = 0

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

    def out_of_tokens(self) -> OverBudget | None:
        """The problem of a run that has used all its tokens."""
        if self.token_cap is not None and self.tokens >= self.token_cap:
            return tokens_used_up(self.tokens, self.token_cap)
        return None

    def used_up(self) -> OverBudget | None:
        """Which cap has been reached; after that a program is not let go on."""
        gone = self.out_of_tokens()
        if gone is not None:
            return gone
        if self.spent and self.spent >= self.cap:
            return OverBudget(
                f"The run has spent ${self.spent} of its ${self.cap}; it ends here.",
                code="run_budget",
                suggestion="Raise execution.budget_cap_usd or make the plan cheaper.",
            )
        if self.day_spent and self.day_spent >= self.day_cap:
            return OverBudget(
                f"Today's runs have spent ${self.day_spent} of ${self.day_cap}; this ends here.",
                code="day_budget",
                suggestion=DAY_WAY_OUT,
            )
        return None


def tokens_used_up(used: int, cap: int, asked: int | None = None) -> OverBudget:
    """A run has no tokens left, or not as many as one more ask of a model takes."""
    need = "" if asked is None else f", and the next ask reads up to {asked}"
    return OverBudget(
        f"The run may use {cap} tokens of models, {used} of them are used or promised{need}.",
        code="llm_tokens",
        suggestion="Raise execution.max_llm_tokens, ask for less, or use a smaller text.",
    )
