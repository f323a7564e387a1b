"""What a script says of models of its own, gathered into few bookings.

Each booking is a transaction, and a script may print thousands of marks. The first ones are
booked as they come. Later ones are gathered until they matter beside what is booked already,
so that a cap is still noticed in time. What is gathered follows from the marks alone and not
from the clock: a script that is taken over says them again, and none is counted twice.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from mainspring.contracts.model import Usage

_ONE_BY_ONE: Final = 100
# Gathered marks are booked once they come to this part of what was booked before.
_PART: Final = 10
_SEVERAL: Final = "several"


class UsageAccumulator:
    """The usage of one try, on its way to the ledger."""

    def __init__(self) -> None:
        self._booked = 0
        self._tokens, self._cost = 0, Decimal(0)
        self._held: Usage | None = None

    def add(self, usage: Usage) -> Usage | None:
        """Takes one mark; answers what is to be booked now."""
        if not _count_tokens(usage) and not usage.cost_usd:
            return None
        self._held = usage if self._held is None else _add_usage(self._held, usage)
        enough = (
            self._booked < _ONE_BY_ONE
            or (0 < _count_tokens(self._held) * _PART >= self._tokens)
            or (0 < self._held.cost_usd * _PART >= self._cost)
        )
        return self.rest() if enough else None

    def rest(self) -> Usage | None:
        """What is held still, to be booked now."""
        held, self._held = self._held, None
        if held is not None:
            self._booked += 1
            self._tokens += _count_tokens(held)
            self._cost += held.cost_usd
        return held


def _count_tokens(usage: Usage) -> int:
    return usage.input_tokens + usage.output_tokens


def _add_usage(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.model if one.model == other.model else _SEVERAL,
        one.input_tokens + other.input_tokens,
        one.output_tokens + other.output_tokens,
        one.cost_usd + other.cost_usd,
        reported=one.reported,
    )
