"""The caps of steps, read from a definition: which of them hold for a call from one step.

Whoever calls with the token of a run is in another process than the run itself, and has
nothing but the definition to go by.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from mainspring.gate.budget import StepBudget

# The one action that has steps inside, and where they stand.
_LOOP: Final = "for_each"
_INSIDE: Final = "steps"


@dataclass(frozen=True, slots=True)
class StepBudgets:
    """Where a step stands in its definition, as far as money goes."""

    # The steps around it, and itself, that have a cap: the outermost first.
    bounds: tuple[StepBudget, ...] = ()
    # It runs after the plan has failed.
    last_words: bool = False


def find_step_budgets(document: Mapping[str, Any], step: str) -> StepBudgets:
    """The place of a step in a definition that has been judged before."""
    execution = document.get("execution")
    after = execution.get("on_failure") if isinstance(execution, Mapping) else None
    for part, last_words in ((document.get("plan"), False), (after, True)):
        for entry in _steps(part):
            chain = _chain(entry, step)
            if chain is not None:
                return StepBudgets(tuple(_bounds(chain)), last_words)
    return StepBudgets()


def _chain(entry: Mapping[str, Any], step: str) -> list[Mapping[str, Any]] | None:
    """The way down from one step to another, both included."""
    if entry.get("step_id") == step:
        return [entry]
    for inner in _inside(entry):
        found = _chain(inner, step)
        if found is not None:
            return [entry, *found]
    return None


def _bounds(chain: list[Mapping[str, Any]]) -> Iterator[StepBudget]:
    for entry in chain:
        cap = entry.get("budget_cap_usd")
        if cap is not None:
            yield StepBudget(str(entry["step_id"]), Decimal(str(cap)), tuple(_covered_steps(entry)))


def _covered_steps(entry: Mapping[str, Any]) -> Iterator[str]:
    yield str(entry.get("step_id"))
    for inner in _inside(entry):
        yield from _covered_steps(inner)


def _inside(entry: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    config = entry.get("config")
    if entry.get("action") == _LOOP and isinstance(config, Mapping):
        yield from _steps(config.get(_INSIDE))


def _steps(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, list | tuple):
        yield from (entry for entry in value if isinstance(entry, Mapping))
