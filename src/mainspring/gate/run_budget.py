"""The caps of steps, read from a definition: which of them hold for a call from one step.

Whoever calls with the token of a run is in another process than the run itself, and has
nothing but the definition to go by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from mainspring.contracts.display_text import format_usd
from mainspring.contracts.errors import BudgetExceeded

# Money: what a run may still spend. Reserve first, settle after.

ENDLESS = Decimal("Infinity")
RUN_WAY_OUT = "Raise execution.budget_cap_usd or make the plan cheaper."
STEP_WAY_OUT = "Raise budget_cap_usd of the step, or make it do less."
DAY_WAY_OUT = (
    "Raise execution.cost_cap_daily_usd or wait for the next day, which starts at midnight UTC."
)
SPACE_WAY_OUT = (
    "Ask an owner to raise the workspace's daily cap, or wait for the next day, which starts at "
    "midnight UTC."
)


@dataclass(slots=True)
class StepBudget:
    """What one step of a run may spend, with its retries, its items and what stands inside."""

    step: str
    cap: Decimal
    # The step itself and the steps inside it.
    covers: tuple[str, ...]
    spent: Decimal = field(default=Decimal(0))

    def over(self) -> BudgetExceeded:
        return BudgetExceeded(
            f"Step {self.step!r} spent {format_usd(self.spent)} of its {format_usd(self.cap)} "
            "budget and was stopped.",
            code="step_budget",
            suggestion=STEP_WAY_OUT,
        )


@dataclass(slots=True)
class RunBudget:
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
    # The same for the day of the whole workspace, once a call of the run has been booked.
    space_cap: Decimal = ENDLESS
    space_spent: Decimal = Decimal(0)
    # The steps under way that have a cap of their own, the outermost first. Steps come one
    # after the other, so whatever is spent or promised meanwhile is within all of them.
    bounds: list[StepBudget] = field(default_factory=list)
    # Money and tokens used when the last words began; None: they have not.
    parted: tuple[Decimal, int] | None = None

    def part(self) -> None:
        """The plan is over: what costs nothing may still be said, whatever was spent."""
        if self.parted is None:
            self.parted = (self.spent, self.tokens)

    def reserve(self, amount: Decimal = Decimal(0)) -> None:
        """Refuses a call that could not be paid for; a spent purse refuses every call."""
        if self.parted is not None and not amount:
            return
        if self.spent > self.cap or self.spent + self.reserved + amount > self.cap:
            raise _over_budget_error(
                "The run", self.spent, self.cap, amount, "run_budget", RUN_WAY_OUT
            )
        for bound in self.bounds:
            if bound.spent > bound.cap or bound.spent + self.reserved + amount > bound.cap:
                who = f"Step {bound.step!r}"
                raise _over_budget_error(
                    who, bound.spent, bound.cap, amount, "step_budget", STEP_WAY_OUT
                )
        self.reserved += amount

    def settle(self, reserved: Decimal, spent: Decimal) -> None:
        """Takes back what was promised and books what it really cost."""
        self.reserved -= reserved
        self.spent += spent
        for bound in self.bounds:
            bound.spent += spent

    def out_of_tokens(self) -> BudgetExceeded | None:
        """The problem of a run that has used all its tokens."""
        if self.token_cap is not None and self.tokens >= self.token_cap:
            return tokens_exhausted_error(self.tokens, self.token_cap)
        return None

    def find_crossed_cap(self) -> BudgetExceeded | None:
        """Which cap has been crossed; after that no other step begins."""
        gone = self.out_of_tokens()
        if gone is not None:
            return gone
        if self.day_spent > self.day_cap:
            return self._day_over()
        return self._space_over() if self.space_spent > self.space_cap else None

    def step_crossed(self) -> BudgetExceeded | None:
        """The outermost step under way that has spent more than its own cap."""
        return next((bound.over() for bound in self.bounds if bound.spent > bound.cap), None)

    def used_up(self) -> BudgetExceeded | None:
        """Which cap has been reached; after that a program is not let go on."""
        if self.parted is not None and (self.spent, self.tokens) == self.parted:
            return None
        gone = self.out_of_tokens()
        if gone is not None:
            return gone
        if self.spent and self.spent >= self.cap:
            return BudgetExceeded(
                f"The run spent {format_usd(self.spent)} of its {format_usd(self.cap)} budget "
                "and was stopped.",
                code="run_budget",
                suggestion=RUN_WAY_OUT,
            )
        for bound in self.bounds:
            if bound.spent and bound.spent >= bound.cap:
                return bound.over()
        if self.day_spent and self.day_spent >= self.day_cap:
            return self._day_over()
        # What others spend stops nobody who has spent nothing.
        if self.spent and self.space_spent >= self.space_cap:
            return self._space_over()
        return None

    def _day_over(self) -> BudgetExceeded:
        return BudgetExceeded(
            f"Today's runs spent {format_usd(self.day_spent)} of {format_usd(self.day_cap)}; "
            "this run was stopped.",
            code="day_budget",
            suggestion=DAY_WAY_OUT,
        )

    def _space_over(self) -> BudgetExceeded:
        return BudgetExceeded(
            f"The workspace spent {format_usd(self.space_spent)} of its daily limit of "
            f"{format_usd(self.space_cap)}; this run was stopped.",
            code="workspace_budget",
            suggestion=SPACE_WAY_OUT,
        )


def _over_budget_error(
    who: str, spent: Decimal, cap: Decimal, amount: Decimal, code: str, way_out: str
) -> BudgetExceeded:
    need = f", and this call can cost {format_usd(amount)}; it" if amount else "; this call"
    return BudgetExceeded(
        f"{who} spent {format_usd(spent)} of its {format_usd(cap)} budget{need} was not made.",
        code=code,
        suggestion=way_out,
    )


def tokens_exhausted_error(used: int, cap: int, asked: int | None = None) -> BudgetExceeded:
    """A run has no tokens left, or not as many as one more ask of a model takes."""
    need = "" if asked is None else f", and the next request can read up to {asked}"
    return BudgetExceeded(
        f"The run may use {cap} model tokens; {used} are used or reserved{need}.",
        code="llm_tokens",
        suggestion="Raise execution.max_llm_tokens, ask for less, or use a shorter text.",
    )


# The one action that has steps inside, and where they stand.
_LOOP: Final = "for_each"
_INSIDE: Final = "steps"


@dataclass(frozen=True, slots=True)
class StepBudgets:
    """Where a step stands in its definition, as far as money goes."""

    # The steps around it, and itself, that have a cap: the outermost first.
    bounds: tuple[StepBudget, ...] = ()
    # It runs after the plan has failed.
    last_words: bool = False


def find_step_budgets(document: Mapping[str, Any], step: str) -> StepBudgets:
    """The place of a step in a definition that has been judged before."""
    execution = document.get("execution")
    after = execution.get("on_failure") if isinstance(execution, Mapping) else None
    for part, last_words in ((document.get("plan"), False), (after, True)):
        for entry in _steps(part):
            chain = _chain(entry, step)
            if chain is not None:
                return StepBudgets(tuple(_bounds(chain)), last_words)
    return StepBudgets()


def _chain(entry: Mapping[str, Any], step: str) -> list[Mapping[str, Any]] | None:
    """The way down from one step to another, both included."""
    if entry.get("step_id") == step:
        return [entry]
    for inner in _inside(entry):
        found = _chain(inner, step)
        if found is not None:
            return [entry, *found]
    return None


def _bounds(chain: list[Mapping[str, Any]]) -> Iterator[StepBudget]:
    for entry in chain:
        cap = entry.get("budget_cap_usd")
        if cap is not None:
            yield StepBudget(str(entry["step_id"]), Decimal(str(cap)), tuple(_covered_steps(entry)))


def _covered_steps(entry: Mapping[str, Any]) -> Iterator[str]:
    yield str(entry.get("step_id"))
    for inner in _inside(entry):
        yield from _covered_steps(inner)


def _inside(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    config = entry.get("config")
    if entry.get("action") == _LOOP and isinstance(config, Mapping):
        yield from _steps(config.get(_INSIDE))


def _steps(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list | tuple):
        yield from (entry for entry in value if isinstance(entry, Mapping))
