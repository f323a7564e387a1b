"""How often each step of a plan runs, and which caps limit it.

A step in a loop runs once per item, a conditional one perhaps never, and a failing one is retried.
Steps after a failure only count at the upper end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from mainspring.authoring.forecast.assumptions import ITEMS
from mainspring.authoring.forecast.definition_view import (
    ExecutionBounds,
    entries,
    money,
    text,
    whole,
)
from mainspring.authoring.json_pointers import mapping
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary

_DEEPEST: Final = 8
_HALF: Final = Decimal("0.5")
_ONE: Final = Decimal(1)
_ZERO: Final = Decimal(0)


@dataclass(frozen=True, slots=True)
class StepFrequency:
    """The frequency of a leaf step."""

    step_id: str
    action: str
    config: Mapping[str, Any]
    # How often it runs per run.
    low: Decimal = _ONE
    usual: Decimal = _ONE
    high: Decimal = _ONE
    # Its own caps and those of the enclosing loops.
    caps: tuple[Decimal, ...] = ()
    conditional: bool = False
    # The number of items is only known at run time.
    items_open: bool = False


@dataclass(frozen=True, slots=True)
class _StepFrequencyWalk:
    vocabulary: Vocabulary
    limits: Limits
    retries: int

    def steps(self, value: Any, around: StepFrequency, depth: int = 0) -> Iterator[StepFrequency]:
        for entry in entries(value)[: self.limits.steps]:
            place = self._place(entry, around)
            nested = self._nested(place.action)
            if nested is None:
                tries = whole(entry.get("max_retries"), self.retries, 0, 10) + 1
                yield replace(place, high=place.high * tries)
            elif depth < _DEEPEST:
                inside = self._loop(place)
                yield from self.steps(place.config.get(nested), inside, depth + 1)

    def _place(self, entry: Mapping[str, Any], around: StepFrequency) -> StepFrequency:
        cap = money(entry.get("budget_cap_usd"))
        may_skip = bool(entry.get("when"))
        return replace(
            around,
            step_id=text(entry.get("step_id"))[:64],
            action=text(entry.get("action")),
            config=mapping(entry.get("config")),
            low=around.low * (_HALF if may_skip else _ONE),
            caps=around.caps if cap is None else (*around.caps, cap),
            conditional=around.conditional or may_skip,
        )

    def _nested(self, action: str) -> str | None:
        known = self.vocabulary.actions.get(action)
        return None if known is None else known.nested

    def _loop(self, place: StepFrequency) -> StepFrequency:
        items = place.config.get("items")
        if isinstance(items, list | tuple):
            many = Decimal(min(len(items), self.limits.for_each_items))
            return replace(
                place, low=place.low * many, usual=place.usual * many, high=place.high * many
            )
        return replace(
            place,
            low=_ZERO,
            usual=place.usual * ITEMS.value,
            high=place.high * self.limits.for_each_items,
            items_open=True,
        )


def count_step_frequencies(
    document: Mapping[str, Any], bounds: ExecutionBounds, vocabulary: Vocabulary, limits: Limits
) -> list[StepFrequency]:
    """List every leaf step in order, nested ones included."""
    walk = _StepFrequencyWalk(vocabulary, limits, bounds.retries)
    failed = StepFrequency("", "", {}, low=_ZERO, usual=_ZERO)
    after = mapping(document.get("execution")).get("on_failure")
    found = [*islice(walk.steps(document.get("plan"), StepFrequency("", "", {})), limits.steps)]
    return [*found, *islice(walk.steps(after, failed), limits.steps)]


def all_conditional(document: Mapping[str, Any]) -> bool:
    """Report whether every step is conditional, so that a run may cost nothing."""
    plan = entries(document.get("plan"))
    return bool(plan) and all(step.get("when") for step in plan)
