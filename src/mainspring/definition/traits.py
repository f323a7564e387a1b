"""What the vocabulary declares about the capabilities and steps of a definition.

Definitions and grants are compared as plain values. What a capability or action does is declared in
the registry, so the declarations are read here, where the vocabulary is available, and passed along
with those values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.action import is_declared_pure
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.toolset import Toolset
from mainspring.definition.grants import list_lent_capabilities, list_needed_grants
from mainspring.definition.strict_json import encode_canonical

if TYPE_CHECKING:
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.registry import Vocabulary


# The steps of a definition in one row, each with its context.
#
# What an automation may do is compared step by step. Steps inside of others and those that follow a
# failure count like any other.


_PLAN: Final = "/plan"
_FAILED: Final = "/execution/on_failure"


@dataclass(frozen=True, slots=True)
class FlattenedStep:
    """One step and its position."""

    id: str
    action: str
    pointer: str
    # Its settings, without the steps inside of it.
    config: Mapping[str, Any]
    when: str | None = None
    # The name under which later steps find what it answered.
    output: str = ""
    retries: int | None = None
    # What decides whether and how often it is reached: the steps around it.
    around: tuple[bytes, ...] = ()
    # The approval mode of its outside writes, as it is written.
    approval: Any = None
    # Whether the run waits for a write of it that is held, as it is written.
    on_hold: Any = None

    @property
    def after_failure(self) -> bool:
        return self.pointer.startswith(_FAILED)

    def does_as(self, other: FlattenedStep) -> bool:
        """Whether it does what the other does, and no more often."""
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


@dataclass(frozen=True, slots=True)
class DefinitionTraits:
    """The declarations that apply to one definition."""

    # The capabilities that use the accounts of the automation's author.
    lent: frozenset[str] = frozenset()
    # The pointers of the steps that change nothing; None when no vocabulary was available.
    pure: frozenset[str] | None = None
    # The pointers of the steps that send something; None when no vocabulary was available.
    sends: frozenset[str] | None = None
    # What the granted capabilities are called, for people.
    labels: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The traits as they are stored with a version."""
        return {
            "lent": sorted(self.lent),
            "pure": None if self.pure is None else sorted(self.pure),
            "sends": None if self.sends is None else sorted(self.sends),
            "labels": dict(self.labels),
        }


_SCRIPT: Final = "script"
# The traits of a definition that was not checked against a vocabulary.
UNDECLARED: Final = DefinitionTraits()


def read_traits(
    document: Mapping[str, Any], grants: Iterable[Grant], vocabulary: Vocabulary
) -> DefinitionTraits:
    """Read the declarations for an accepted definition."""
    grants = tuple(grants)
    return DefinitionTraits(
        list_lent_capabilities(grants, vocabulary),
        find_pure_steps(document, vocabulary),
        find_sending_steps(document, vocabulary),
        _read_labels(grants, vocabulary),
    )


def _read_labels(grants: Iterable[Grant], vocabulary: Vocabulary) -> dict[str, str]:
    """The labels of granted capabilities.

    The label of a connected tool is left out: its server wrote it, and it would be read as a
    description by Mainspring.
    """
    found = {one.capability: vocabulary.capabilities.get(one.capability) for one in grants}
    return {
        name: one.label
        for name, one in sorted(found.items())
        if one is not None and one.annotations.toolset is not Toolset.CONNECTED
    }


def read_stored_traits(
    stored: Mapping[str, Any] | None, document: Mapping[str, Any]
) -> DefinitionTraits:
    """The traits that were stored with a version.

    None: the version was saved before traits were stored. Every step that is not known to be pure
    then counts as one that sends, so that a question never shrinks for want of a declaration.
    """
    if stored is None:
        steps = flatten_steps(document)
        return DefinitionTraits(
            sends=frozenset(one.pointer for one in steps if not is_declared_pure(one.action))
        )
    pure, sends = stored["pure"], stored["sends"]
    return DefinitionTraits(
        frozenset(stored["lent"]),
        None if pure is None else frozenset(pure),
        None if sends is None else frozenset(sends),
        stored.get("labels", {}),
    )


def find_sending_steps(document: Mapping[str, Any], vocabulary: Vocabulary) -> frozenset[str]:
    """The pointers of the steps whose settings are, or determine, what is sent."""
    return frozenset(
        one.pointer for one in flatten_steps(document) if _sends(one.action, one.config, vocabulary)
    )


def _sends(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> bool:
    called = vocabulary.capabilities.get(action)
    if called is not None:
        reach = called.annotations.reach
        if reach is not None:
            # A read-only request is not a write, although other requests of the capability are.
            return reach(config) is Effect.SEND
        effect = called.annotations.effect
        return action != AGENT_RUN and (called.write is not None or effect is Effect.SEND)
    asked = list_needed_grants(action, config, vocabulary)
    if any(one.capability == AGENT_RUN for one in asked):
        # Text written by a model is filled in during the run.
        return False
    return any(_may_send(one, vocabulary, by_script=action == _SCRIPT) for one in asked)


def _may_send(grant: Grant, vocabulary: Vocabulary, *, by_script: bool) -> bool:
    """Whether a step with this grant sends data; a script without a granted method only reads."""
    known = vocabulary.capabilities.get(grant.capability)
    if known is None:
        return False
    if known.write is not None:
        return True
    reach, method = known.annotations.reach, grant.params.get("method")
    if by_script and reach is not None:
        methods = method if isinstance(method, list) else [method]
        return any(one is not None and reach({"method": one}) is Effect.SEND for one in methods)
    return known.annotations.effect is Effect.SEND


def find_pure_steps(document: Mapping[str, Any], vocabulary: Vocabulary) -> frozenset[str]:
    """The pointers of the steps that change nothing themselves.

    Nested steps are listed separately.
    """
    return frozenset(
        one.pointer
        for one in flatten_steps(document)
        if is_pure(one.action, one.config, vocabulary)
    )


def is_pure(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> bool:
    """Whether a step only computes, waits, asks a person or reads data of the workspace."""
    known = vocabulary.actions.get(action)
    if known is None and action not in vocabulary.capabilities:
        return False
    if known is not None and known.asks:
        return True
    if known is not None and known.reports_usage:
        return False
    called = (
        vocabulary.capabilities.get(one.capability)
        for one in list_needed_grants(action, config, vocabulary)
    )
    return all(one is not None and _only_reads(one) for one in called)


def _only_reads(capability: Capability) -> bool:
    """Whether it only reads workspace data: no account, host, model or cost."""
    declared = capability.annotations
    return (
        declared.effect is Effect.READ
        and declared.reach is None
        and declared.route is None
        and declared.hosts is None
        and not (declared.asks_outside or declared.pin or declared.side_effects)
        and not (capability.write is not None or capability.may_cost or capability.uses_accounts)
    )
