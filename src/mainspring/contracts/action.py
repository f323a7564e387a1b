"""An action: what a step of a plan may name."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mainspring.contracts.grant import Grant

if TYPE_CHECKING:
    from mainspring.contracts.context import StepContext

ActionHandler = Callable[["StepContext", Mapping[str, Any]], Awaitable[Any]]


def uses_nothing(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """For actions that touch nothing outside the run."""
    del config
    return ()


@dataclass(frozen=True, slots=True)
class Action:
    """One entry of the vocabulary of plans.

    ``uses`` reads an unrendered config and says which capabilities the step will call,
    so that a plan's grants can be shown before it ever runs.
    """

    type: str
    description: str
    config_schema: Mapping[str, Any]
    # None: the step itself declares the shape of its output.
    output_schema: Mapping[str, Any] | None
    handler: ActionHandler
    uses: Callable[[Mapping[str, Any]], tuple[Grant, ...]] = uses_nothing
    # How long one attempt usually takes; only the choice of queue reads it.
    seconds: float = 1.0
    # The key of the config that holds nested steps, for actions that walk steps.
    nested: str | None = None
    # Its only work is to wait.
    waits: bool = False
