"""A check: what is done, what came of it, and whether that is what was promised.

A check answers a verdict made of figures. Each figure says what was counted or measured, what
was found, and what is wanted; the verdict is kept when every figure is.
"""

from __future__ import annotations

import importlib
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

T = TypeVar("T")
Size = Literal["check", "quick", "full"]
# How many times longer something may take where other parts of the check use the machine too.
_SLACK: Final = 4


@dataclass(frozen=True, slots=True)
class Figure:
    """One number against its criterion."""

    what: str
    found: str
    criterion: str
    met: bool

    def __str__(self) -> str:
        return f"{self.what} {self.found} ({self.criterion})"


@dataclass(frozen=True, slots=True)
class Verdict:
    """All figures of a check, and the offences one by one."""

    figures: Sequence[Figure]
    offences: Sequence[str] = ()

    @property
    def passed(self) -> bool:
        return bool(self.figures) and all(figure.met for figure in self.figures)


@dataclass(frozen=True, slots=True)
class CheckOptions:
    """The size and the seed that a check is run with."""

    size: Size
    seed: int

    def of(self, quick: T, full: T, *, check: T | None = None) -> T:
        """What is used in this size; in the size of the check, what the quick one has or less."""
        if self.size == "full":
            return full
        return quick if check is None or self.size == "quick" else check

    def at_most(self, what: str, seconds: float, most: float, unit: str = "s") -> Figure:
        """A time against its limit, or one time in proportion to another."""
        return at_most(what, seconds, most * (_SLACK if self.is_shared else 1), unit)

    def slowest(self, found: Sequence[float]) -> float:
        """The time that is compared with one measured before; on a shared machine the median.

        The slowest of a hundred is late whenever another process is busy at that instant. Work that
        waits for another tenant's is late in most cases, and the median shows that.
        """
        return percentile(found, 0.5 if self.is_shared else 0.99)

    @property
    def is_shared(self) -> bool:
        """Whether other processes use the processors meanwhile."""
        return self.size == "check"

    def chance(self) -> random.Random:
        return random.Random(self.seed)


@dataclass(frozen=True, slots=True)
class Check:
    """One numbered check."""

    number: str
    # What is done, and how much of it in either size.
    sentence: str
    quick: str
    full: str
    # Module below tests, and function. A check is loaded when it is run: each needs other parts
    # of the product.
    place: str
    # What is smaller in the size of the check.
    check: str = ""
    # Seconds after which a check has failed, whatever it is doing.
    patience: tuple[float, float] = (600.0, 5_400.0)

    @property
    def run(self) -> Callable[[CheckOptions], Awaitable[Verdict]]:
        module, _, name = self.place.rpartition(".")
        found: Callable[[CheckOptions], Awaitable[Verdict]] = getattr(
            importlib.import_module(f"tests.{module}"), name
        )
        return found

    def size(self, size: Size) -> str:
        if size == "full":
            return self.full
        return self.check or self.quick if size == "check" else self.quick


def none_of(what: str, offences: Sequence[str]) -> Figure:
    """How many offences there are; none is allowed."""
    return Figure(what, str(len(offences)), "0", not offences)


def exactly(what: str, found: object, wanted: object) -> Figure:
    return Figure(what, str(found), str(wanted), found == wanted)


def at_most(what: str, found: float, most: float, unit: str = "") -> Figure:
    return Figure(what, _said(found, unit), f"≤ {_said(most, unit)}", found <= most)


def at_least(what: str, found: float, least: float, unit: str = "") -> Figure:
    return Figure(what, _said(found, unit), f"≥ {_said(least, unit)}", found >= least)


def within(what: str, found: Sequence[float], least: float, most: float, unit: str = "") -> Figure:
    """The smallest and the largest of some measures, both inside of two bounds."""
    if not found:
        return Figure(what, "none measured", "some", False)
    low, high = min(found), max(found)
    return Figure(
        what,
        f"{_said(low, '')} to {_said(high, unit)}",
        f"{_said(least, '')} to {_said(most, unit)}",
        least <= low and high <= most,
    )


def told(what: str, found: object) -> Figure:
    """A number that no criterion is set for."""
    return Figure(what, str(found), "told", True)


def percentile(found: Sequence[float], part: float) -> float:
    """The value that so large a part does not exceed."""
    ordered = sorted(found)
    return ordered[min(int(len(ordered) * part), len(ordered) - 1)] if ordered else 0.0


def _said(number: float, unit: str) -> str:
    text = f"{number:,}" if isinstance(number, int) else f"{number:,.2f}".rstrip("0").rstrip(".")
    return f"{text} {unit}".strip()
