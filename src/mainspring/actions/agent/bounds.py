"""What one agent may use, beside what its run may, and what is said when it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from mainspring.contracts.errors import BudgetExceeded

DEFAULT_TURNS: Final = 20
DEFAULT_TOKENS: Final = 4_096


@dataclass(frozen=True, slots=True)
class AgentLimits:
    """The bounds of one agent; None: there is none."""

    turns: int
    # What one answer may be long.
    tokens: int
    total_tokens: int | None
    seconds: float | None
    usd: Decimal | None


def read_bounds(arguments: Mapping[str, Any]) -> AgentLimits:
    """The bounds in the arguments of a call."""
    usd, seconds = arguments.get("max_usd"), arguments.get("max_seconds")
    return AgentLimits(
        turns=int(arguments.get("max_turns", DEFAULT_TURNS)),
        tokens=int(arguments.get("max_tokens", DEFAULT_TOKENS)),
        total_tokens=arguments.get("max_total_tokens"),
        seconds=None if seconds is None else float(seconds),
        usd=None if usd is None else Decimal(str(usd)),
    )


def check_limits(
    bounds: AgentLimits, spent: Decimal, tokens: int, seconds: float
) -> BudgetExceeded | None:
    """Which bound has been reached, if one has."""
    if bounds.usd is not None and spent >= bounds.usd:
        return BudgetExceeded(
            f"The agent has spent ${spent} of its ${bounds.usd}.",
            code="agent_budget",
            suggestion=_suggest_higher_limit("max_usd"),
        )
    if bounds.total_tokens is not None and tokens >= bounds.total_tokens:
        return BudgetExceeded(
            f"The agent has used {tokens} of its {bounds.total_tokens} tokens.",
            code="agent_tokens",
            suggestion=_suggest_higher_limit("max_total_tokens"),
        )
    if bounds.seconds is not None and seconds >= bounds.seconds:
        return BudgetExceeded(
            f"The agent was at work for as long as it may be, {bounds.seconds:g} s.",
            code="agent_seconds",
            suggestion=_suggest_higher_limit("max_seconds"),
        )
    return None


def out_of_turns_error(bounds: AgentLimits) -> BudgetExceeded:
    """It was asked as often as it may be."""
    return BudgetExceeded(
        f"The agent was asked {bounds.turns} times and has not come to an end.",
        code="agent_turns",
        suggestion=_suggest_higher_limit("max_turns"),
    )


def as_own(over: BudgetExceeded, bounds: AgentLimits) -> BudgetExceeded:
    """An ask that the agent's own money does not pay for is told as that."""
    if over.code != "call_budget" or bounds.usd is None:
        return over
    return BudgetExceeded(
        f"The agent may spend ${bounds.usd}, and what is left does not pay for another turn.",
        code="agent_budget",
        suggestion=_suggest_higher_limit("max_usd"),
    )


def _suggest_higher_limit(word: str) -> str:
    return f"Raise {word}, or give it a smaller task."
