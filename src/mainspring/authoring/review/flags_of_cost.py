"""Flags about money: caps far above the usual, models that are asked without number."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from mainspring.authoring.review.reading import StepView, resolves
from mainspring.authoring.review.view import ReviewView
from mainspring.authoring.shapes import ReviewFlag
from mainspring.contracts.capability import Effect

# A cap may be so many times the usual cost before it protects from nothing.
FAR_ABOVE: Final = 20
# What a run may spend when nobody says otherwise is nothing to point at.
_USUAL_CAP: Final = Decimal(1)
MUCH_A_MONTH: Final = Decimal(50)
MUCH_A_RUN: Final = Decimal(5)
# For a message or a look at something.
MUCH_A_MONTH_FOR_LITTLE: Final = Decimal(10)
MUCH_FOR_LITTLE: Final = Decimal(1)
_MESSAGES: Final = frozenset(
    {
        "inbox.post_notification",
        "slack_post",
        "send_email",
        "telegram_push",
        "email.notify_owner",
        "automation_kv.set",
        "automation_kv.delete",
    }
)
MANY_TURNS: Final = 40
MANY_TOKENS: Final = 1_000_000
_MODELS: Final = frozenset({"agent_task", "agent.run", "automation_llm_complete"})


def flags_of_cost(view: ReviewView) -> Iterator[ReviewFlag]:
    yield from _caps(view)
    yield from _costs_much(view)
    yield from _tokens(view)
    for step in view.steps:
        yield from _turns(step)
        if step.depth > 0 and step.action in _MODELS:
            yield ReviewFlag(
                step.pointer,
                "model_for_each_item",
                "A model is asked anew for every item of the list, so the cost grows with it.",
                "note",
                suggestion="Hand the whole list to one step, or bound the list.",
            )


def _caps(view: ReviewView) -> Iterator[ReviewFlag]:
    usual, cap = view.facts.forecast_usd, money(view.execution.get("budget_cap_usd"))
    if usual is None or cap is None or usual <= 0 or cap <= _USUAL_CAP:
        return
    if cap > usual * FAR_ABOVE:
        yield ReviewFlag(
            "/execution/budget_cap_usd",
            "cap_far_above_cost",
            f"A run may spend {format_amount(cap)} USD and is expected to cost about {format_amount(usual)} USD.",  # noqa: E501
            suggestion=f"Lower the cap to about {format_amount(max(usual * 5, Decimal('0.01')))} USD.",  # noqa: E501
        )


def _costs_much(view: ReviewView) -> Iterator[ReviewFlag]:
    """What it will cost, beside what it does."""
    small = _little(view)
    run = _more_than(view.facts.forecast_usd, MUCH_FOR_LITTLE if small else MUCH_A_RUN)
    month = _more_than(view.facts.monthly_usd, MUCH_A_MONTH_FOR_LITTLE if small else MUCH_A_MONTH)
    if run is None and month is None:
        return
    costs = f"{format_amount(month)} USD a month" if month is not None else ""
    costs += " and " if costs and run is not None else ""
    costs += f"{format_amount(run)} USD a run" if run is not None else ""
    yield ReviewFlag(
        "/triggers" if run is None and resolves(view.document, "/triggers") else "/plan",
        "costs_much",
        f"It is expected to cost about {costs}{f', and all it does is {small}' if small else ''}.",
        suggestion="Let it run less often, or let a cheaper model do the work."
        if not small
        else "Let a cheaper model do it, let it read less, or do without a model.",
    )


def _more_than(amount: Decimal | None, bound: Decimal) -> Decimal | None:
    known = amount is not None and amount.is_finite() and amount >= bound
    return amount if known else None


def _little(view: ReviewView) -> str:
    """What a plan comes to that leaves nothing behind but a message, or nothing at all."""
    writes = {ask.capability for ask in view.asks if ask.effect is not Effect.READ}
    if not view.steps or not writes <= _MESSAGES:
        return ""
    return "to leave a message" if writes else "to read"


def _tokens(view: ReviewView) -> Iterator[ReviewFlag]:
    tokens = number(view.execution.get("max_llm_tokens"))
    if tokens is not None and tokens > MANY_TOKENS:
        yield ReviewFlag(
            "/execution/max_llm_tokens",
            "many_tokens",
            f"A run may use {tokens:.0f} tokens, which is more than a million.",
            "note",
            suggestion="The usual bound is 200000.",
        )


def _turns(step: StepView) -> Iterator[ReviewFlag]:
    turns = number(step.config.get("max_turns")) if step.is_agent else None
    if turns is not None and turns > MANY_TURNS:
        yield ReviewFlag(
            step.at("max_turns"),
            "many_turns",
            f"This agent may ask its model {turns:.0f} times in one run.",
            "note",
            suggestion="Most tasks are done within 20 turns.",
        )


def number(value: Any) -> float | None:
    """A number of ordinary size, or nothing."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e12 else None


def money(value: Any) -> Decimal | None:
    """An amount as definitions write it: a number or text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
        return None
    try:
        amount = Decimal(str(value)[:30])
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and abs(amount) < Decimal(10) ** 9 else None


def format_amount(amount: Decimal) -> str:
    """An amount with two places, or more where it would be nothing."""
    places = 2 if amount >= Decimal("0.1") else 4
    return f"{amount:.{places}f}"
