"""Step conditions for biweekly schedules, which cron cannot express."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from mainspring.authoring.models import ProposalQuestion, QuestionChoice
from mainspring.definition.strict_json import join_pointer

# Placeholder for a choice's condition until the steps are known.
ANY_STEP = "/when"


def on_steps(
    questions: Iterable[ProposalQuestion], steps: Sequence[Any]
) -> tuple[ProposalQuestion, ...]:
    """Apply each choice's condition to every step of the plan."""
    return tuple(
        replace(one, choices=tuple(_on_steps(choice, steps) for choice in one.choices))
        for one in questions
    )


def _on_steps(choice: QuestionChoice, steps: Sequence[Any]) -> QuestionChoice:
    also: list[tuple[str, Any]] = []
    for pointer, value in choice.also:
        if pointer != ANY_STEP:
            also.append((pointer, value))
            continue
        for place, step in enumerate(steps):
            there = step.get("when") if isinstance(step, Mapping) else None
            also.append((join_pointer("/plan", place, "when"), both(value, there)))
    return QuestionChoice(choice.label, choice.value, tuple(also))


def both(one: str, other: Any) -> str:
    """Combine two conditions."""
    if not isinstance(other, str) or not other:
        return one
    return f"{{{{ ({_bare(one)}) and ({_bare(other)}) }}}}"


def _bare(condition: str) -> str:
    plain = condition.strip()
    return plain[2:-2].strip() if plain.startswith("{{") and plain.endswith("}}") else plain
