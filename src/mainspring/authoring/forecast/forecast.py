"""The forecast result: run rate, cost per run, monthly cost, caps, and a summary sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from mainspring.authoring.forecast.amounts import CostRange, at_least, at_most, format_usd, plain
from mainspring.authoring.forecast.costs import RunCost, StepCost
from mainspring.authoring.forecast.definition_view import ExecutionBounds
from mainspring.authoring.forecast.rates import DAYS, RunRate


@dataclass(frozen=True, slots=True)
class ForecastCaps:
    """The caps on spending."""

    run: Decimal
    day: Decimal
    month: Decimal
    # The monthly cap follows from the schedule: manual runs come on top.
    by_schedule: bool = False

    def said(self, within: str = "") -> str:
        """The monthly cap in words."""
        top = f"at most {at_most(self.month)} by its caps{within}"
        return f"{top} on its schedule; manual runs come on top" if self.by_schedule else top

    def as_dict(self) -> dict[str, str]:
        return {
            "usd_per_run": plain(self.run),
            "usd_per_day": plain(self.day),
            "usd_per_month": plain(self.month),
        }


@dataclass(frozen=True, slots=True)
class CostForecast:
    """A forecast and its basis."""

    rate: RunRate
    run: RunCost
    month: CostRange
    caps: ForecastCaps
    steps: tuple[StepCost, ...]
    notes: tuple[str, ...]
    sentence: str

    def as_dict(self) -> dict[str, Any]:
        run = {**self.run.span.as_dict(), "basis": self.run.basis, "why": self.run.why}
        return {
            "runs_per_month": self.rate.as_dict(),
            "usd_per_run": run,
            "usd_per_month": self.month.as_dict(),
            "caps": self.caps.as_dict(),
            "steps": [step.as_dict() for step in self.steps],
            "notes": list(self.notes),
            "sentence": self.sentence,
        }


def caps_of(bounds: ExecutionBounds, rate: RunRate) -> ForecastCaps:
    """Compute the caps for thirty days.

    Only a schedule's fire times are known in advance, so only they bound a month by its runs;
    recent history bounds nothing. A run may start on one day and spend on the next, so its own cap
    applies and not one day's.
    """
    month = bounds.day_usd * DAYS
    scheduled = bounds.run_usd * rate.high
    if rate.basis == "schedule" and rate.high and scheduled < month:
        return ForecastCaps(bounds.run_usd, bounds.day_usd, scheduled, by_schedule=True)
    return ForecastCaps(bounds.run_usd, bounds.day_usd, month)


def build_forecast(
    rate: RunRate,
    run: RunCost,
    steps: Sequence[StepCost],
    caps: ForecastCaps,
    notes: Sequence[str],
    space_day_usd: Decimal | None = None,
) -> CostForecast:
    """Assemble the forecast; a month never exceeds its caps."""
    month = _month(rate, run, caps)
    told = [*notes, *_notes(rate, run, caps, space_day_usd)]
    sentence = _sentence(rate, run, month, caps)
    return CostForecast(rate, run, month, caps, tuple(steps), tuple(told), sentence)


def _month(rate: RunRate, run: RunCost, caps: ForecastCaps) -> CostRange:
    if run.basis == "free":
        return CostRange()
    if rate.open_ended and not rate.usual:
        # The rate is unknown: at least one run, at most the caps.
        return CostRange(run.span.low, run.span.usual, caps.month).capped(caps.month)
    made = run.of_many(rate.low, rate.usual, rate.high)
    high = caps.month if rate.open_ended else made.high
    return CostRange(made.low, made.usual, high).capped(caps.month)


def _notes(
    rate: RunRate, run: RunCost, caps: ForecastCaps, space_day_usd: Decimal | None
) -> list[str]:
    found = []
    if rate.open_ended and rate.usual:
        runs = "1 run is" if rate.usual == 1 else f"{rate.usual:,} runs are"
        found.append(f"{runs} foreseen; how many more may come is not known.")
    if run.basis != "free":
        wanted = run.span.usual * rate.usual
        if wanted > caps.month:
            found.append(
                f"Its runs would usually cost {format_usd(wanted)} in {DAYS} days, which is more than "  # noqa: E501
                "its caps allow, so some of them would end early or not begin."
            )
        elif run.span.usual >= caps.run > 0:
            found.append(
                f"A run would usually cost as much as its cap of {format_usd(caps.run)}, so it may end "  # noqa: E501
                "before it is done."
            )
        if space_day_usd is not None and space_day_usd <= caps.day:
            found.append(
                f"The whole workspace may spend {format_usd(space_day_usd)} a day, which others share."  # noqa: E501
            )
    return found


def _sentence(rate: RunRate, run: RunCost, month: CostRange, caps: ForecastCaps) -> str:
    if run.basis == "free":
        return run.why
    open_price = run.basis == "unknown" and not run.span.usual
    each, within = f"{format_usd(run.span.usual)} a run", f" in {DAYS} days"
    if not rate.high and not rate.open_ended:
        cost = "what a run costs is not known before it runs" if open_price else f"about {each}"
        return f"Not due in the next {DAYS} days; {cost}, at most {at_most(caps.run)} by its cap."
    if open_price:
        return f"What it costs is not known before it runs; {caps.said(within)}."
    if rate.open_ended and not rate.usual:
        often = (
            "it runs when a person starts it"
            if rate.basis == "by_hand"
            else "how often it runs is not known"
        )
        return f"About {each}, and {often}; {caps.said(within)}."
    runs = "1 run" if rate.usual == 1 else f"{rate.usual:,} runs"
    ends = f", between {at_least(month.low)} and {at_most(month.high)}"
    between = "" if month.low == month.high else ends
    return f"About {format_usd(month.usual)} a month{between} ({each}, {runs}), {caps.said()}."
