"""Flattens the steps of a definition, each with its enclosing steps.

Authority is compared step by step. Nested steps and on_failure steps count like any other step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.definition.strict_json import encode_canonical

_PLAN: Final = "/plan"
_FAILED: Final = "/execution/on_failure"


@dataclass(frozen=True, slots=True)
class FlattenedStep:
    """One step with its position in the definition."""

    id: str
    action: str
    pointer: str
    # Its config without nested steps.
    config: Mapping[str, Any]
    when: str | None = None
    # The name under which later steps read its output.
    output: str = ""
    retries: int | None = None
    # The enclosing steps, which determine whether and how often it runs.
    around: tuple[bytes, ...] = ()
    # The approval mode of its outside writes, as written.
    approval: Any = None
    # Whether the run waits while a write of it is held, as written.
    on_hold: Any = None

    @property
    def after_failure(self) -> bool:
        return self.pointer.startswith(_FAILED)

    def does_as(self, other: FlattenedStep) -> bool:
        """Whether it does the same as the other step, and no more often."""
        return (
            self.action == other.action
            and self.around == other.around
            and (self.when == other.when or other.when is None)
            and encode_canonical(self.config) == encode_canonical(other.config)
        )


def flatten_steps(document: Mapping[str, Any]) -> tuple[FlattenedStep, ...]:
    """All steps in the order in which they are written."""
    last = (document.get("execution") or {}).get("on_failure")
    return (*_walk(document.get("plan"), _PLAN, ()), *_walk(last, _FAILED, ()))


def _walk(steps: Any, at: str, around: tuple[bytes, ...]) -> Iterator[FlattenedStep]:
    for place, step in enumerate(steps if isinstance(steps, list | tuple) else ()):
        if not isinstance(step, Mapping):
            continue
        whole = step.get("config")
        whole = whole if isinstance(whole, Mapping) else {}
        own = {key: value for key, value in whole.items() if key != "steps"}
        when, here = step.get("when"), f"{at}/{place}"
        name = str(step.get("step_id") or "")
        yield FlattenedStep(
            name,
            str(step.get("action") or ""),
            here,
            own,
            when,
            str(step.get("output_as") or name),
            step.get("max_retries"),
            around,
            step.get("approval"),
            step.get("on_hold"),
        )
        frame = encode_canonical([step.get("action"), when, own])
        yield from _walk(whole.get("steps"), f"{here}/config/steps", (*around, frame))
