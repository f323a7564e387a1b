"""Run rate of an automation in thirty days.

A schedule's fire times are counted. For event triggers the rate is that of recent matching events;
for webhooks and manual starts it is that of past runs. Otherwise it is unknown and never guessed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from math import ceil, floor, sqrt
from statistics import fmean, pstdev
from typing import Any, Final, Literal

from mainspring.authoring.forecast.definition_view import text
from mainspring.contracts.errors import Invalid
from mainspring.definition.schedules import TIME_KEYS, describe_schedule, parse_schedule

RateBasis = Literal["schedule", "observed", "by_hand", "unknown"]

DAYS: Final = 30
# Upper bound for an event that was not seen (rule of three).
_UNSEEN: Final = 3
_DAY: Final = timedelta(days=1)
_HOUR: Final = timedelta(hours=1)
_MINUTE: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class RunRate:
    """Runs in thirty days."""

    low: int
    usual: int
    high: int
    basis: RateBasis
    why: str
    # The rate is unbounded, so that only the caps limit a month.
    open_ended: bool = False

    def as_dict(self) -> dict[str, Any]:
        return {
            "low": self.low,
            "usual": self.usual,
            "high": self.high,
            "basis": self.basis,
            "why": self.why,
        }


def unknown(why: str) -> RunRate:
    """An unknown rate."""
    return RunRate(0, 0, 0, "unknown", why, open_ended=True)


def by_schedule(config: Mapping[str, Any], now: datetime) -> RunRate:
    """Count a schedule's fire times in the next thirty days."""
    zone = text(config.get("timezone"))
    if not zone or not any(config.get(key) for key in TIME_KEYS):
        return unknown("When it runs is still open.")
    start = now.astimezone(UTC)
    try:
        schedule = parse_schedule(config)
        moments = schedule.count(start, start + DAYS * _DAY)
    except Invalid:
        return unknown("Its schedule cannot be read.")
    told = describe_schedule(schedule)
    why = f"{told[:1].upper()}{told[1:]} ({zone}): {_times(moments)} in the next {DAYS} days."
    return RunRate(moments, moments, moments, "schedule", why)


def rate_from_history(
    timestamps: Sequence[datetime], since: datetime, now: datetime, what: str
) -> RunRate:
    """Estimate a rate from the times observed in a period."""
    watched = max(now - since, timedelta())
    if watched >= _DAY:
        return by_count(daily(timestamps, since, now), what)
    times = len(timestamps)
    message = f"{what} {_times(times)}, looking back less than {_short(watched)}"
    if not times:
        return unknown(f"{message}, which is too little to tell how often it will.")
    # A period below a day counts as a day: a burst is not extrapolated.
    why = f"{message}; that is reckoned as if it were a day."
    return replace(by_count([times], what), why=why, open_ended=True)


def by_count(counts: Sequence[int], what: str) -> RunRate:
    """Estimate a rate from daily counts, with their variation."""
    days, total = len(counts), sum(counts)
    message = f"{what} {_times(total)} in the last {_some_days(days)}"
    if not total:
        most = ceil(_UNSEEN * DAYS / days)
        return RunRate(0, 0, most, "observed", f"{message}; that it is rare does not mean never.")
    usual = fmean(counts)
    # Poisson: counts of rare events vary by their square root, however even the sample.
    varies = max(pstdev(counts), sqrt(usual)) * DAYS * sqrt(1 / DAYS + 1 / days)
    low, high = floor(usual * DAYS - 2 * varies), ceil(usual * DAYS + 2 * varies)
    return RunRate(max(low, 0), round(usual * DAYS), high, "observed", f"{message}.")


def daily(timestamps: Sequence[datetime], since: datetime, now: datetime) -> list[int]:
    """Count the times per whole day back from now; a partial first day is dropped."""
    counts = [0] * ((now - since) // _DAY)
    for moment in timestamps:
        ago = max((now - moment) // _DAY, 0)
        if ago < len(counts):
            counts[ago] += 1
    return counts


def together(rates: Sequence[RunRate]) -> RunRate:
    """Combine triggers, each of which starts its own runs; the least certain basis counts."""
    if not rates:
        return RunRate(
            0,
            0,
            0,
            "by_hand",
            "Nothing starts it but a person, as often as they like.",
            open_ended=True,
        )
    order: tuple[RateBasis, ...] = ("schedule", "observed", "by_hand", "unknown")
    basis = max((rate.basis for rate in rates), key=order.index)
    return RunRate(
        low=sum(rate.low for rate in rates),
        usual=sum(rate.usual for rate in rates),
        high=sum(rate.high for rate in rates),
        basis=basis,
        why=" ".join(_whys(rates)),
        open_ended=any(rate.open_ended for rate in rates),
    )


def _whys(rates: Sequence[RunRate]) -> list[str]:
    """The basis of each trigger; equal ones are merged."""
    counted = Counter((rate.why, rate.basis == "unknown") for rate in rates)
    return [
        why if many == 1 or nobody_knows else f"Each of {many} triggers: {why}"
        for (why, nobody_knows), many in counted.items()
    ]


def _short(watched: timedelta) -> str:
    """Round a period below a day up to whole hours or minutes."""
    unit, name = (_HOUR, "hour") if watched >= _HOUR else (_MINUTE, "minute")
    many = watched // unit + 1
    return f"{many} {name}" + ("s" if many > 1 else "")


def _times(number: int) -> str:
    return {0: "not once", 1: "once", 2: "twice"}.get(number, f"{number} times")


def _some_days(days: int) -> str:
    return "day" if days == 1 else f"{days} days"
