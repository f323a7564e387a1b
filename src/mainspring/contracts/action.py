"""An action: what a step of a plan can run."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant

if TYPE_CHECKING:
    from mainspring.contracts.context import StepContext

ConfigCheck = Callable[[Mapping[str, Any], Mapping[str, Capability]], Sequence[Finding]]
ActionHandler = Callable[["StepContext", Mapping[str, Any]], Awaitable[Any]]


def use_nothing(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """For actions that call no capability."""
    del config
    return ()


def find_nothing(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Sequence[Finding]:
    """For actions that need no check beyond their schema."""
    del config, capabilities
    return ()


@dataclass(frozen=True, slots=True)
class Action:
    """One action of the vocabulary.

    ``uses`` reads an unrendered config and returns the capabilities that the step will call, so
    that a plan's grants can be shown before it runs.
    """

    type: str
    description: str
    config_schema: Mapping[str, Any]
    # None: the step itself declares the schema of its output.
    output_schema: Mapping[str, Any] | None
    handler: ActionHandler
    uses: Callable[[Mapping[str, Any]], tuple[Grant, ...]] = use_nothing
    # Problems of a config beyond its schema, each with a pointer inside the config.
    check: ConfigCheck = find_nothing
    # Warnings for the author; they do not prevent saving.
    doubt: ConfigCheck = find_nothing
    # Its calls are recorded across all of its attempts, so that an attempt after a takeover or a
    # retry continues where the last one was interrupted.
    resumes: bool = False
    # The typical duration of one attempt; only used to choose the queue.
    seconds: float = 1.0
    # It may cost money beyond its calls, which it reports itself.
    reports_usage: bool = False
    # The config key of nested steps, for actions that run steps.
    nested: str | None = None
    # It only waits.
    waits: bool = False
    # It waits for an answer: its value is not known before.
    asks: bool = False
    # It makes one call that may be held for approval, so its step may wait for the decision.
    holds: bool = False
    # Its output is the answer to the caller of a webhook that waits.
    answers: bool = False

    @property
    def is_pure(self) -> bool:
        """Whether it changes nothing, for any config: it computes, waits or asks."""
        return self.asks or (self.uses is use_nothing and not self.reports_usage)


# The pure actions of this process. Stored documents are also compared where no vocabulary is
# available to say which of their steps are pure.
_PURE: Final[set[str]] = set()


def declare_actions(actions: Iterable[Action]) -> None:
    """Register the pure actions of a registry; called when a registry is built."""
    _PURE.update(one.type for one in actions if one.is_pure)


def is_declared_pure(action: str) -> bool:
    """Whether an action of this process is declared pure."""
    return action in _PURE
