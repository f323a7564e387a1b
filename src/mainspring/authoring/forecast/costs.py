"""What each step of a run costs, and the run as a whole.

A step is free, or it has a price, or it asks a model. What is known about it decides what its
number rests on: its own runs, the workspace's own asks of the same model, the bounds of the
definition, or nothing but the caps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from statistics import mean
from typing import Any, Final

from mainspring.authoring.forecast.amounts import (
    BASES,
    ZERO,
    Basis,
    CostRange,
    at_most,
    format_usd,
    plain,
    sum_ranges,
)
from mainspring.authoring.forecast.asks import ModelUseEstimate, TokenEstimate, asking_of
from mainspring.authoring.forecast.places import StepFrequency
from mainspring.authoring.forecast.reading import ExecutionBounds
from mainspring.authoring.forecast.typical import (
    ANSWER_TOKENS,
    FEWEST,
    ITEMS,
    SCRIPT_ASK_TOKENS,
)
from mainspring.contracts.agency import AGENT_RUN, AGENT_TASK
from mainspring.contracts.capability import Capability
from mainspring.contracts.grant import Grant
from mainspring.contracts.model import Price
from mainspring.contracts.registry import Vocabulary

_SCRIPT: Final = "script"
_FREE: Final = "It calls nothing that costs money."
_NOTHING: Final = "It costs nothing: no step asks a model or calls anything that costs money."
# A script may have a model of its own, which nobody here can see.
_MARKS: Final = " What a script reports itself comes on top."
_TYPICAL_ASK: Final = TokenEstimate(SCRIPT_ASK_TOKENS.value, ANSWER_TOKENS.value)
# Others' conversations are not this one: it may well take twice as much as the longest of them.
_MARGIN: Final = 2


@dataclass(frozen=True, slots=True)
class PastConversation:
    """A conversation that this workspace has had with a model: what each ask read and wrote."""

    caller: str
    model: str
    asks: tuple[tuple[int, int, int], ...]

    def cost(self, price: Price) -> Decimal:
        return sum((price.cost(*ask) for ask in self.asks), ZERO)


@dataclass(frozen=True, slots=True)
class CostEvidence:
    """What has been looked up: prices by the name that was asked for, and what happened before."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    # For a model without a price: why, in a sentence.
    unpriced: Mapping[str, str] = field(default_factory=dict)
    # The names under which the ledger may know a model.
    called: Mapping[str, str] = field(default_factory=dict)
    talks: Sequence[PastConversation] = ()

    def like(self, asking: ModelUseEstimate) -> list[PastConversation]:
        """Conversations of the same kind with the same model."""
        name = self.called.get(asking.model or "", asking.model or "")
        return [
            one for one in self.talks if one.caller == asking.caller and same_model(one.model, name)
        ]


@dataclass(frozen=True, slots=True)
class StepCost:
    """What one step costs in one run."""

    step_id: str
    span: CostRange
    basis: Basis
    why: str
    note: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "step_id": self.step_id,
            "usual": plain(self.span.usual),
            "high": plain(self.span.high),
            "basis": self.basis,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class PricedStep:
    """A step that may cost money: it asks a model, calls something with a price, or may do so."""

    place: StepFrequency
    asking: ModelUseEstimate | None = None
    priced: Capability | None = None


def paying_of(
    places: Iterable[StepFrequency],
    bounds: ExecutionBounds,
    words: Vocabulary,
    grants: Sequence[Grant],
) -> list[PricedStep | StepFrequency]:
    """Each step, marked if it may cost money."""
    return [_sorted(place, bounds, words, grants) for place in places]


def _sorted(
    place: StepFrequency, bounds: ExecutionBounds, words: Vocabulary, grants: Sequence[Grant]
) -> PricedStep | StepFrequency:
    called = words.capabilities.get(AGENT_RUN if place.action == AGENT_TASK else place.action)
    if called is not None:
        if called.annotations.asks_models:
            asking = asking_of(called.id, place.config, bounds.model, bounds.tokens, words)
            return PricedStep(place, asking=asking)
        return PricedStep(place, priced=called) if called.may_cost else place
    if place.action not in words.actions:
        return PricedStep(place)
    used = _used(place, words, grants)
    costly = any(name in words.capabilities and words.capabilities[name].may_cost for name in used)
    return PricedStep(place) if costly else place


def _used(place: StepFrequency, words: Vocabulary, grants: Sequence[Grant]) -> list[str]:
    """What an action may call; one that cannot say so may call whatever is granted."""
    try:
        return [grant.capability for grant in words.actions[place.action].uses(place.config)]
    except Exception:  # another room's reading of a text that is not finished
        return [grant.capability for grant in grants]


def cost_of(
    step: PricedStep | StepFrequency,
    bounds: ExecutionBounds,
    words: Vocabulary,
    known: CostEvidence,
) -> StepCost:
    """What one step costs in a run, below every cap that holds for it."""
    if isinstance(step, StepFrequency):
        return StepCost(
            step.step_id, CostRange(), "free", _FREE + (_MARKS if step.action == _SCRIPT else "")
        )
    place = step.place
    if step.asking is not None:
        made = _asked(place, step.asking, known, bounds)
    elif step.priced is not None:
        made = _priced(place, step.priced, bounds)
    elif place.action in words.actions:
        made = _program(place, bounds, known)
    else:
        made = _open(place, bounds, "What it does is still open, so its cost is not known.")
    span = made.span.times(place.low, place.usual, place.high)
    return replace(
        made, span=span.capped(bounds.most_usd, *place.caps), why=made.why + _often(place)
    )


def _often(place: StepFrequency) -> str:
    if not place.items_open:
        return ""
    return f" How many items there are is only known in the run; {ITEMS.value} are reckoned with."


def _asked(
    place: StepFrequency, asking: ModelUseEstimate, known: CostEvidence, bounds: ExecutionBounds
) -> StepCost:
    if asking.model is None:
        return _open(place, bounds, "Which model it asks is only decided in the run.")
    price = known.prices.get(asking.model)
    if price is None:
        reason = known.unpriced.get(asking.model, "The model it asks is not known here.")
        return replace(_open(place, bounds, "What its model costs is not known."), note=reason)
    bound = asking.bound(price)
    note = _too_dear(place, asking, price, bounds)
    talks = known.like(asking)
    if len(talks) >= FEWEST:
        costs = [talk.cost(price) for talk in talks]
        high = min(max(costs) * _MARGIN, bound)
        span = CostRange(min(costs), mean(costs), high).capped(bound)
        why = (
            f"After {len(costs)} conversations of this workspace with the same model, which "
            f"would come to {format_usd(mean(costs))} each on average at today's price."
        )
        return StepCost(place.step_id, span, "similar", why, note)
    span = CostRange(asking.low.cost(price), asking.usual.cost(price), bound).capped(bound)
    turns = f" in {asking.turns} turns" if asking.turns > 1 else ""
    why = (
        f"Too little like it has run here to go by: about {asking.usual.read} tokens to read and "
        f"{asking.usual.written} to write{turns}, and at most what its bounds allow."
    )
    return StepCost(place.step_id, span, "bounded", why, note)


def _too_dear(
    place: StepFrequency, asking: ModelUseEstimate, price: Price, bounds: ExecutionBounds
) -> str:
    """Money is set aside for the most that an ask can cost; without it nothing is asked."""
    caps = [bounds.most_usd, *place.caps]
    # With a cap of its own a call is cut to what that affords.
    most = price.most(asking.first.read, 0 if asking.max_usd is not None else asking.first.written)
    if most <= min(caps):
        return ""
    return (
        f"One ask of step {place.step_id!r} can cost {format_usd(most)}, which is more than its cap of "  # noqa: E501
        f"{format_usd(min(caps))} allows, so it would be refused."
    )


def _priced(place: StepFrequency, capability: Capability, bounds: ExecutionBounds) -> StepCost:
    price = capability.annotations.price
    try:
        most = None if price is None else price(place.config)
    except Exception:  # a price may need an argument that is still missing
        most = None
    if most is None or not most.is_finite() or most < 0:
        return _open(place, bounds, "What a call costs follows from what is still open.")
    span = CostRange(most, most, most)
    return StepCost(place.step_id, span, "bounded", f"A call costs at most {at_most(most)}.")


def _program(place: StepFrequency, bounds: ExecutionBounds, known: CostEvidence) -> StepCost:
    """A script may ask a model as often as it likes; its caps alone hold it back."""
    price = known.prices.get(bounds.model)
    usual = ZERO if price is None else _TYPICAL_ASK.cost(price)
    why = "It may ask a model as often as it likes; one ask is reckoned with."
    return StepCost(place.step_id, CostRange(ZERO, usual, bounds.most_usd), "unknown", why)


def _open(place: StepFrequency, bounds: ExecutionBounds, why: str) -> StepCost:
    return StepCost(place.step_id, CostRange(ZERO, ZERO, bounds.most_usd), "unknown", why)


def same_model(one: str, other: str) -> bool:
    """Whether two names mean one model: a provider adds its date, a definition its connection."""
    mine, theirs = one.rpartition("/")[2], other.rpartition("/")[2]
    if not mine or not theirs:
        return False
    short, long = sorted((mine, theirs), key=len)
    return long == short or (long.startswith(f"{short}-") and long[len(short) + 1 :].isdigit())


@dataclass(frozen=True, slots=True)
class RunCost:
    """What one run costs."""

    span: CostRange
    basis: Basis
    why: str
    # Of measured runs: how far they lie from their average, and how many they are.
    spread: Decimal = ZERO
    measured: int = 0

    def of_many(self, low: int, usual: int, high: int) -> CostRange:
        """What so many runs cost together.

        Where runs were measured, cheap ones and dear ones even out; the fewer were measured,
        the less is known of their average. Nothing is known to even out what was not.
        """
        one = self.span
        widest = one.times(Decimal(low), Decimal(usual), Decimal(high))
        if not self.measured:
            return widest
        return CostRange(
            max(widest.low, low * (one.usual - self._off(low))),
            widest.usual,
            min(widest.high, high * (one.usual + self._off(high))),
        )

    def _off(self, runs: int) -> Decimal:
        """Twice the usual error of the average of so many runs."""
        if not runs:
            return ZERO
        return 2 * self.spread * (Decimal(1) / runs + Decimal(1) / self.measured).sqrt()


def cost_of_run(
    steps: Sequence[StepCost], bounds: ExecutionBounds, *, may_do_nothing: bool = False
) -> RunCost:
    """All steps together, as sure as the least sure of them."""
    paid = [step for step in steps if step.basis != "free"]
    span = sum_ranges(step.span for step in paid).capped(bounds.most_usd)
    if not paid:
        marks = any(step.why.endswith(_MARKS) for step in steps)
        return RunCost(CostRange(), "free", _NOTHING + (_MARKS if marks else ""))
    basis = max((step.basis for step in paid), key=BASES.index)
    if may_do_nothing:
        why = f"{_WHYS[basis]} Every step has a condition, so a run may cost nothing."
        return RunCost(replace(span, low=ZERO), basis, why)
    return RunCost(span, basis, _WHYS[basis])


_WHYS: Final[Mapping[Basis, str]] = {
    "measured": "Measured in its own runs.",
    "similar": "After what this workspace lately asked of the same models; it has not run often "
    "enough itself.",
    "bounded": "Too little like it has run here to go by: reckoned from its texts and its bounds.",
    "unknown": "A part of it cannot be known before it runs; its caps hold all the same.",
}
