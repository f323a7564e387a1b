"""A definition as every family of flags looks at it: read once, with what goes with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.authoring.places import mapping
from mainspring.authoring.review.facts import ReviewFacts
from mainspring.authoring.review.grants import (
    CapabilityUse,
    asks_in,
    find_unexplained_grants,
    joined,
)
from mainspring.authoring.review.reading import (
    StepView,
    TriggerView,
    read_all_steps,
    read_all_triggers,
)
from mainspring.authoring.review.secrets import SecretUse, secrets_in
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary


@dataclass(frozen=True, slots=True)
class ReviewView:
    """Everything that a flag may depend on."""

    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    words: Vocabulary
    facts: ReviewFacts
    steps: tuple[StepView, ...]
    triggers: tuple[TriggerView, ...]
    # What the steps call, and what was granted for them though none was seen to call it.
    asks: tuple[CapabilityUse, ...]
    # The same with grants that were written beside the steps, needed or not.
    reach: tuple[CapabilityUse, ...]
    secrets: tuple[SecretUse, ...]

    @property
    def execution(self) -> Mapping[str, Any]:
        return mapping(self.document.get("execution"))

    @property
    def armed(self) -> tuple[TriggerView, ...]:
        return tuple(trigger for trigger in self.triggers if trigger.enabled)

    @property
    def agents(self) -> tuple[StepView, ...]:
        return tuple(step for step in self.steps if step.is_agent)

    @property
    def purpose(self) -> tuple[str, str]:
        """What it is for, and what says so.

        Whoever asked for it knows best. A name and a goal may be a model's own words, with which
        it could speak for anything that it put into the plan.
        """
        if self.facts.request.strip():
            return self.facts.request[:8_000], "the request"
        parts = [
            value[:8_000]
            for key in ("name", "goal", "intent", "description")
            if isinstance(value := self.document.get(key), str)
        ]
        return "\n".join(parts), "what is said of its goal"


def view_of(
    document: Mapping[str, Any], grants: Iterable[Grant], words: Vocabulary, facts: ReviewFacts
) -> ReviewView:
    """Reads a definition once for all families."""
    document = mapping(document)
    steps = read_all_steps(document, words)
    seen = asks_in(steps, words)
    given = tuple(grants) or joined(seen)
    reach = (*seen, *find_unexplained_grants(given, seen, words))
    asks = seen if isinstance(document.get("grants"), list) else reach
    return ReviewView(
        document,
        given,
        words,
        facts,
        steps,
        read_all_triggers(document),
        asks,
        reach,
        secrets_in(steps),
    )
