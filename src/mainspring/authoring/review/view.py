"""A definition as every family of flags looks at it: read once, with what goes with it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.authoring.places import mapping
from mainspring.authoring.review.facts import Facts
from mainspring.authoring.review.grants import Ask, asks_in, joined, unexplained
from mainspring.authoring.review.reading import (
    ReadStep,
    ReadTrigger,
    read_all_steps,
    read_all_triggers,
)
from mainspring.authoring.review.secrets import Use, secrets_in
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary


@dataclass(frozen=True, slots=True)
class View:
    """Everything that a flag may depend on."""

    document: Mapping[str, Any]
    grants: tuple[Grant, ...]
    words: Vocabulary
    facts: Facts
    steps: tuple[ReadStep, ...]
    triggers: tuple[ReadTrigger, ...]
    # What the steps call, and what was granted for them though none was seen to call it.
    asks: tuple[Ask, ...]
    # The same with grants that were written beside the steps, needed or not.
    reach: tuple[Ask, ...]
    secrets: tuple[Use, ...]

    @property
    def execution(self) -> Mapping[str, Any]:
        return mapping(self.document.get("execution"))

    @property
    def armed(self) -> tuple[ReadTrigger, ...]:
        return tuple(trigger for trigger in self.triggers if trigger.enabled)

    @property
    def agents(self) -> tuple[ReadStep, ...]:
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
    document: Mapping[str, Any], grants: Iterable[Grant], words: Vocabulary, facts: Facts
) -> View:
    """Reads a definition once for all families."""
    document = mapping(document)
    steps = read_all_steps(document, words)
    seen = asks_in(steps, words)
    given = tuple(grants) or joined(seen)
    reach = (*seen, *unexplained(given, seen, words))
    asks = seen if isinstance(document.get("grants"), list) else reach
    return View(
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
