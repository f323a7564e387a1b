"""An action: what a step of a plan may name."""

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
    """For actions that touch nothing outside the run."""
    del config
    return ()


def find_nothing(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Sequence[Finding]:
    """For actions whose schema says all there is to say."""
    del config, capabilities
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
    uses: Callable[[Mapping[str, Any]], tuple[Grant, ...]] = use_nothing
    # What is wrong with a config beyond its schema, each with a pointer inside the config.
    check: ConfigCheck = find_nothing
    # What its author may want to think over; it keeps nobody from saving.
    doubt: ConfigCheck = find_nothing
    # Its calls are answered from the record over all of its tries, so that one which is taken
    # over or tried again goes on where the last try was interrupted.
    resumes: bool = False
    # How long one attempt usually takes; only the choice of queue reads it.
    seconds: float = 1.0
    # It may cost money beyond what its calls cost, by what it reports itself.
    reports_usage: bool = False
    # The key of the config that holds nested steps, for actions that walk steps.
    nested: str | None = None
    # Its only work is to wait.
    waits: bool = False
    # What it waits for is an answer: its value is not known before somebody gave one.
    asks: bool = False
    # It makes one call that may be held for a person, so a step of it may wait for the answer.
    holds: bool = False

    @property
    def is_pure(self) -> bool:
        """Whether it changes nothing, whatever its config says: it computes, waits or asks."""
        return self.asks or (self.uses is use_nothing and not self.reports_usage)


# The pure actions of this process. A stored document is compared also where no vocabulary is at
# hand to say which of its steps are pure.
_PURE: Final[set[str]] = set()


def declare_actions(actions: Iterable[Action]) -> None:
    """Makes the actions of a registry known; each registry does so when it is built."""
    _PURE.update(one.type for one in actions if one.is_pure)


def is_declared_pure(action: str) -> bool:
    """Whether an action of this process declares that it changes nothing."""
    return action in _PURE
