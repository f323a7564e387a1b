"""Cost ranges, as data and formatted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Final, Literal

from mainspring.definition.model import MONEY_CEILING, show_money

Basis = Literal["free", "measured", "similar", "bounded", "unknown"]
# From most to least certain; a run is as certain as its least certain step.
BASES: Final[tuple[Basis, ...]] = ("free", "measured", "similar", "bounded", "unknown")
ZERO: Final = Decimal(0)
_PLACES: Final = Decimal("0.000001")
_CENT: Final = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class CostRange:
    """A cost range: low, usual and high."""

    low: Decimal = ZERO
    usual: Decimal = ZERO
    high: Decimal = ZERO

    def capped(self, *caps: Decimal) -> CostRange:
        """Apply caps to the range."""
        top = max(min(self.high, *caps), ZERO)
        usual = min(self.usual, top)
        return CostRange(min(self.low, usual), usual, top)

    def times(self, low: Decimal, usual: Decimal, high: Decimal) -> CostRange:
        made = (self.low * low, self.usual * usual, self.high * high)
        return CostRange(*(min(one, MONEY_CEILING) for one in made))

    def as_dict(self) -> dict[str, str]:
        return {"low": plain(self.low), "usual": plain(self.usual), "high": plain(self.high)}


def sum_ranges(spans: Iterable[CostRange]) -> CostRange:
    """Sum several ranges."""
    all_of_them = tuple(spans)
    return CostRange(
        sum((one.low for one in all_of_them), ZERO),
        sum((one.usual for one in all_of_them), ZERO),
        sum((one.high for one in all_of_them), ZERO),
    )


def plain(amount: Decimal) -> str:
    """Format with at most six decimals; a positive amount never becomes zero."""
    rounded = amount.quantize(_PLACES, ROUND_HALF_UP)
    return show_money(_PLACES if amount > 0 and not rounded else rounded)


def format_usd(amount: Decimal, rounding: str = ROUND_HALF_UP) -> str:
    """Format for people: cents, or two significant digits below ten cents."""
    if not amount:
        return "$0"
    if amount < _PLACES:
        return "$0.000001" if rounding == ROUND_CEILING else "less than $0.000001"
    if amount >= 100:
        return f"${amount.quantize(Decimal(1), rounding):,}"
    if amount >= _CENT * 10:
        cents = amount.quantize(_CENT, rounding)
        return f"${cents.quantize(Decimal(1))}" if cents == cents.to_integral() else f"${cents}"
    step = Decimal(1).scaleb(amount.adjusted() - 1)
    return f"${show_money(amount.quantize(step, rounding))}"


def at_most(amount: Decimal) -> str:
    """Format an upper bound, rounded up."""
    return format_usd(amount, ROUND_CEILING)


def at_least(amount: Decimal) -> str:
    """Format a lower bound, rounded down."""
    return "$0" if amount < _PLACES else format_usd(amount, ROUND_FLOOR)
