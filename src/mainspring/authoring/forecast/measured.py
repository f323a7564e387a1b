"""What its own runs cost, where an automation has run before.

Runs count when the part of their definition that costs money is the one that is looked at now.
If that was changed only in its words, runs of before still tell more than any reckoning, and it
is said that they are of earlier versions. If other models or other steps are asked, they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from statistics import mean, pstdev
from typing import Any, Final
from uuid import UUID

import orjson

from mainspring.authoring.forecast.amounts import ZERO, CostRange, at_least, at_most, format_usd
from mainspring.authoring.forecast.costs import PricedStep, RunCost, StepCost
from mainspring.authoring.forecast.history import PastRun
from mainspring.authoring.forecast.places import StepFrequency
from mainspring.authoring.forecast.reading import ExecutionBounds
from mainspring.authoring.forecast.typical import FEWEST

# From here on a single run far out says less than the rest of them.
_MANY: Final = 20

# A definition that asks for so many times as much, or as little, is another one.
_FAR: Final = 2


@dataclass(frozen=True, slots=True)
class CostShape:
    """What costs money in a definition: in full, in short, and the tokens that it would take."""

    whole: tuple[tuple[Any, ...], ...]
    brief: tuple[tuple[Any, ...], ...]
    tokens: tuple[int, ...]

    def like(self, other: CostShape) -> bool:
        """Whether the same models are asked at the same places for about as much."""
        pairs = zip(self.tokens, other.tokens, strict=False)
        return self.brief == other.brief and all(
            max(pair) <= _FAR * max(min(pair), 1) for pair in pairs
        )


@dataclass(frozen=True, slots=True)
class MeasuredRuns:
    """Past runs that tell what the next one costs."""

    runs: Sequence[PastRun]
    # Whether some of them followed a definition that asks in other words.
    nearly: bool

    @property
    def ids(self) -> list[UUID]:
        return [run.id for run in self.runs]

    @property
    def cost_money(self) -> bool:
        """Whether any of them did: a program may report what no plan shows."""
        return any(run.cost_usd for run in self.runs)


def shape_of(steps: Sequence[PricedStep | StepFrequency], bounds: ExecutionBounds) -> CostShape:
    """What of a plan costs money, so that two definitions can be compared."""
    whole, brief, tokens = [], [], []
    for step in steps:
        if isinstance(step, StepFrequency):
            continue
        place, model = step.place, bounds.model
        if step.asking is not None:
            model = step.asking.model or ""
            tokens.append(step.asking.usual.read + step.asking.usual.written)
        short = (place.action, model, place.items_open, place.conditional)
        brief.append(short)
        whole.append((*short, place.step_id, _spelled(place.config)))
    return CostShape(tuple(whole), tuple(brief), tuple(tokens))


def _spelled(config: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(config, default=str, option=orjson.OPT_SORT_KEYS)
    except (TypeError, ValueError, RecursionError):
        return b""


def choose(
    runs: Sequence[PastRun], shape: CostShape, shaped: Callable[[Mapping[str, Any]], CostShape]
) -> MeasuredRuns | None:
    """The runs that count; None if they are too few."""
    shapes: dict[int, CostShape] = {}
    same, alike = [], []
    for run in runs:
        if run.document is None:
            continue
        if run.version not in shapes:
            shapes[run.version] = shaped(run.document)
        theirs = shapes[run.version]
        if theirs.like(shape):
            alike.append(run)
            if theirs.whole == shape.whole:
                same.append(run)
    if len(same) >= FEWEST:
        return MeasuredRuns(same, nearly=False)
    found = MeasuredRuns(alike, nearly=len(alike) > len(same))
    # One run that cost money is enough to know that a plan which seems free is not.
    enough = len(alike) >= FEWEST or (not shape.brief and found.cost_money)
    return found if enough else None


def span_of(costs: Sequence[Decimal]) -> CostRange:
    """From the cheapest to the dearest but a few; a month of runs adds up to their average."""
    ranked, usual = sorted(costs), mean(costs)
    cut = len(ranked) // _MANY
    return CostRange(min(ranked[cut], usual), usual, max(ranked[len(ranked) - 1 - cut], usual))


def cost_of_runs(measured: MeasuredRuns, bounds: ExecutionBounds) -> RunCost:
    """What a run costs, after those that there were; what they cost is told as it was."""
    costs = [run.cost_usd for run in measured.runs]
    whole = span_of(costs)
    span = whole.capped(bounds.most_usd)
    why = _told(costs, nearly=measured.nearly)
    if len(costs) >= _MANY:
        why += " The few that lie farthest out are left out of the range."
    if max(costs) > bounds.most_usd:
        why += f" A run may cost {at_most(bounds.most_usd)} now, so no more is reckoned."
    return RunCost(span, "measured", why, pstdev(costs), len(costs))


def _told(costs: Sequence[Decimal], *, nearly: bool) -> str:
    """What runs really cost, all of them."""
    steps = "the same or nearly the same" if nearly else "the same"
    if len(costs) == 1:
        return f"Its last live run with {steps} paid steps cost {format_usd(costs[0])}."
    return (
        f"Its last {len(costs)} live runs with {steps} paid steps cost {format_usd(mean(costs))} on "  # noqa: E501
        f"average, from {at_least(min(costs))} to {at_most(max(costs))}."
    )


def measure_step(
    step: StepCost, spent: Mapping[UUID, Decimal], measured: MeasuredRuns, bounds: ExecutionBounds
) -> StepCost:
    """A step as its own asks of models were on the books; what was not booked stays as it was."""
    if not spent:
        return step
    costs = [spent.get(run.id, ZERO) for run in measured.runs]
    span = span_of(costs).capped(bounds.most_usd)
    return StepCost(step.step_id, span, "measured", _measured_in(len(costs)), step.note)


def _measured_in(runs: int) -> str:
    return "Measured in one run." if runs == 1 else f"Measured in {runs} runs."
