"""The capabilities that the steps of a definition call, with pointers.

The validator derives the same from a complete definition; this reads an unfinished one. Grants of
the validator that are not found here are reported without a step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.review.definition_reader import StepView, listing, read_all_steps
from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.capability import Capability, Effect
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.approval import ASK, AUTOMATIC, can_be_automatic
from mainspring.definition.grants import list_requested_grants, merge_grants
from mainspring.definition.hosts import grant_entry
from mainspring.definition.script import LONGEST
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.tool_patterns import (
    HOSTED,
    MOST_STARS,
    is_pattern,
    match_pattern,
    read_fixed_params,
    read_tool_name,
)

# The maximum for an agent.
MOST_TOOLS: Final = 100
MOST_ASKS: Final = 4_000
_MOST_PATTERNS: Final = 100
_MOST_MATCHED: Final = 1_000
_MOST_OF_ONE: Final = 100


@dataclass(frozen=True, slots=True)
class CapabilityUse:
    """A capability that a step calls or may call."""

    capability: str
    params: Mapping[str, Any]
    # The pointer that names it.
    pointer: str
    step: StepView
    # Via a tool list: the model decides whether and how.
    as_tool: bool = False
    # The pattern that matches it, if it is not named directly.
    pattern: str = ""
    effect: Effect = Effect.READ


def asks_in(steps: Iterable[StepView], vocabulary: Vocabulary) -> tuple[CapabilityUse, ...]:
    """List everything that the steps call, in order."""
    patterns: dict[str, tuple[str, ...]] = {}
    found: dict[tuple[str, str, str], CapabilityUse] = {}
    for step in steps:
        for ask in _of_step(step, vocabulary, patterns):
            hosts = str(ask.params.get("hosts", ""))[:500]
            found.setdefault((step.pointer, ask.capability, hosts), ask)
            if len(found) >= MOST_ASKS:
                return tuple(found.values())
    return tuple(found.values())


def find_unexplained_grants(
    grants: Iterable[Grant], asks: Iterable[CapabilityUse], vocabulary: Vocabulary
) -> tuple[CapabilityUse, ...]:
    """Return validator grants that no step was seen to call, or not with these arguments."""
    hosts: dict[str, set[str]] = {}
    anywhere: set[str] = set()
    for ask in asks:
        named = listing(ask.params.get("hosts"))
        hosts.setdefault(ask.capability, set()).update(map(str, named))
        if not named:
            # Its URL is only known at run time, so it needs all granted hosts.
            anywhere.add(ask.capability)
    found = []
    for grant in grants:
        mine = hosts.get(grant.capability)
        more = [one for one in listing(grant.params.get("hosts")) if str(one) not in (mine or ())]
        if mine is None or (more and grant.capability not in anywhere):
            params = {**grant.params, "hosts": more} if more else grant.params
            effect = effect_of(vocabulary.capabilities.get(grant.capability))
            found.append(CapabilityUse(grant.capability, params, "", NO_STEP, effect=effect))
    return tuple(found)


# Used when the step is unknown.
NO_STEP: Final = StepView("", "", "", "", {}, {}, None, None)


def _of_step(
    step: StepView, vocabulary: Vocabulary, patterns: dict[str, tuple[str, ...]]
) -> Iterator[CapabilityUse]:
    action = join_pointer(step.pointer, "action")
    if step.is_agent:
        yield CapabilityUse(AGENT_RUN, {}, action, step, effect=Effect.READ)
        yield from _of_tools(step, vocabulary, patterns)
        return
    source = step.config.get("source")
    if isinstance(source, str) and len(source) > LONGEST:
        return
    try:
        found = list_requested_grants(step.action, step.config, vocabulary)
    except Exception:  # an action assumes a validated config
        return
    arguments = None if step.known is not None else step.config
    for grant in found[:MOST_ASKS]:
        effect = effect_of(vocabulary.capabilities.get(grant.capability), arguments)
        yield CapabilityUse(grant.capability, grant.params, action, step, effect=effect)


def _of_tools(
    step: StepView, vocabulary: Vocabulary, patterns: dict[str, tuple[str, ...]]
) -> Iterator[CapabilityUse]:
    mine: set[str] = set()
    for place, one in enumerate(listing(step.config.get("tools"))[:MOST_TOOLS]):
        name, at = read_tool_name(one), join_pointer(step.pointer, "config", "tools", place)
        if name is None or name == AGENT_RUN:
            continue
        if not is_pattern(name):
            fixed = read_fixed_params(one)
            # Unfixed arguments are chosen by the model, so the widest effect counts.
            effect = effect_of(
                vocabulary.capabilities.get(name), fixed if "method" in fixed else None
            )
            yield CapabilityUse(name, _bounds(name, fixed), at, step, as_tool=True, effect=effect)
            continue
        if name in mine:
            continue
        mine.add(name)
        if name not in patterns and len(patterns) < _MOST_PATTERNS:
            patterns[name] = matched(name, vocabulary)
        for settled in patterns.get(name, ()):
            effect = effect_of(vocabulary.capabilities.get(settled))
            yield CapabilityUse(settled, {}, at, step, as_tool=True, pattern=name, effect=effect)


def matched(pattern: str, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the capabilities that a pattern matches, up to the limit."""
    if pattern.count("*") > MOST_STARS or len(pattern) > 200:
        return ()
    return tuple(match_pattern(pattern, vocabulary.capabilities))[:_MOST_MATCHED]


def _bounds(name: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    if name not in HOSTED:
        return {}
    host = grant_entry(params.get("url"))
    return {"hosts": [] if host is None else [host]}


def grants_of(document: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """Derive the grants of an incomplete definition."""
    return joined(asks_in(read_all_steps(document, vocabulary), vocabulary))


def joined(asks: Iterable[CapabilityUse]) -> tuple[Grant, ...]:
    """Merge calls into minimal grants."""
    found: dict[str, list[Grant]] = {}
    for ask in asks:
        kept = found.setdefault(ask.capability, [])
        grant = Grant(ask.capability, ask.params)
        if len(kept) < _MOST_OF_ONE and grant not in kept:
            kept.append(grant)
    return tuple(grant for name in sorted(found) for grant in _merge_equal_grants(found[name]))


def _merge_equal_grants(grants: list[Grant]) -> tuple[Grant, ...]:
    try:
        return merge_grants(grants)
    except Exception:  # limits that are not JSON cannot be sorted
        return tuple(grants)


def effect_of(capability: Capability | None, config: Mapping[str, Any] | None = None) -> Effect:
    """Return a call's effect, by its arguments where they decide; unknown ones count as widest."""
    if capability is None:
        return Effect.SEND
    reach = capability.annotations.reach
    if reach is None or config is None:
        return capability.annotations.effect
    try:
        return reach(config)
    except Exception:  # it reads unvalidated arguments
        return capability.annotations.effect


def mode_in(step: StepView, capability: str) -> str | None:
    """Return a step's approval mode for a capability."""
    said = step.whole.get("approval")
    mode = said.get(capability) if isinstance(said, Mapping) else said
    return mode if mode in (ASK, AUTOMATIC) else None


def waits_for_person(
    capability: Capability | None, step: StepView, *, safe_go: bool, effect: Effect = Effect.SEND
) -> bool:
    """Report whether a step's call becomes a draft that needs approval."""
    if capability is None or capability.write is None or effect is Effect.READ:
        return False
    mode = mode_in(step, capability.id)
    if mode is not None:
        return mode == ASK or not can_be_automatic(capability)
    write = capability.write
    return not (write.sent_by_default or (safe_go and write.safe))


def may_go_alone(document: Mapping[str, Any]) -> bool:
    """Report whether safe writes need no approval."""
    execution = document.get("execution")
    policy = execution.get("write_policy") if isinstance(execution, Mapping) else None
    return policy == "auto_confirm_safe"
