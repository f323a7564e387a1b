"""Tolerant reading of an unfinished definition.

A proposal has gaps where a question is open, and its content is untrusted. Nothing here raises;
unreadable values count as missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.definition.model import MONEY_CEILING, MONEY_TEXT, Execution

_EXECUTION: Final = Execution()
_MOST_TOKENS: Final = 2_000_000
_MOST_RETRIES: Final = 10


def entries(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list."""
    given = value if isinstance(value, list | tuple) else ()
    return [entry for entry in given if isinstance(entry, Mapping)]


def text(value: Any) -> str:
    """Return a text, or an empty one."""
    return value if isinstance(value, str) else ""


def whole(value: Any, default: int, least: int, most: int) -> int:
    """Return an integer within its limits."""
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return max(least, min(value, most))


def money(value: Any) -> Decimal | None:
    """Parse an amount in dollars."""
    if isinstance(value, str):
        return Decimal(value) if re.fullmatch(MONEY_TEXT, value) else None
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    # A float's shortest repr is what was typed; a huge integer has no str.
    amount = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    return min(amount, MONEY_CEILING) if amount.is_finite() and amount >= 0 else None


@dataclass(frozen=True, slots=True)
class ExecutionBounds:
    """The limits of every run, and its model."""

    run_usd: Decimal
    day_usd: Decimal
    tokens: int
    retries: int
    model: str

    @property
    def most_usd(self) -> Decimal:
        """The most that one run can spend: at most its daily cap."""
        return min(self.run_usd, self.day_usd)


def bounds_of(document: Mapping[str, Any], space_day_usd: Decimal | None = None) -> ExecutionBounds:
    """Return the limits of a definition, reduced by the workspace's daily budget."""
    given, usual = mapping(document.get("execution")), _EXECUTION
    run, day = money(given.get("budget_cap_usd")), money(given.get("cost_cap_daily_usd"))
    run = usual.budget_cap_usd if run is None else run
    day = usual.cost_cap_daily_usd if day is None else day
    day = day if space_day_usd is None else min(day, space_day_usd)
    return ExecutionBounds(
        run_usd=run,
        day_usd=day,
        tokens=whole(given.get("max_llm_tokens"), usual.max_llm_tokens, 0, _MOST_TOKENS),
        retries=whole(given.get("max_retries"), usual.max_retries, 0, _MOST_RETRIES),
        model=text(given.get("model")),
    )
