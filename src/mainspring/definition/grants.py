"""Grants: what a plan needs, what a person allowed, and whether a call is within a grant.

These are pure functions over plain values. The gate calls them for every call, and the validator
when a definition is saved. Bounds apply per key:

- a scalar or an object must be equal, and true is not 1;
- a list means that the argument is a member of it, or a list of members;
- ``max_<name>`` is an upper bound of the argument with exactly that name, as in ``max_tokens``;
- ``hosts`` is compared with the host of the argument ``url``.

A call that omits a bounded argument is refused: omitting an argument never widens a grant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.hosts import (
    grant_entry,
    is_host_listed,
    parse_host_entry,
    parse_url_host,
)
from mainspring.definition.model import Definition
from mainspring.definition.polls import list_poll_grants
from mainspring.definition.strict_json import encode_canonical
from mainspring.definition.tool_patterns import HOSTED, is_pattern, match_pattern, read_agent_grants

NEVER_GRANTED: Final = "admin_"


@dataclass(frozen=True, slots=True)
class GrantDecision:
    """Whether a call is allowed; if not, the reason."""

    reason: str | None = None

    def __bool__(self) -> bool:
        return self.reason is None


ALLOWED: Final = GrantDecision()


def decide_call(
    grants: Iterable[Grant], capability: str, arguments: Mapping[str, Any]
) -> GrantDecision:
    """Whether any of the grants allows the call; a refusal has the reason of the closest grant."""
    verdict = GrantDecision(f"{capability} is not granted.")
    for grant in grants:
        if grant.capability == capability:
            verdict = match(grant, capability, arguments)
            if verdict:
                return verdict
    return verdict


def match(grant: Grant, capability: str, arguments: Mapping[str, Any]) -> GrantDecision:
    """Whether one grant allows the call."""
    if grant.capability != capability:
        return GrantDecision(f"{capability} is not granted.")
    if capability.startswith(NEVER_GRANTED):
        return GrantDecision(f"{capability} can never be granted.")
    if capability in HOSTED and "hosts" not in grant.params:
        return GrantDecision(f"The grant for {capability} names no hosts.")
    for key, bound in grant.params.items():
        reason = explain_out_of_bounds(key, bound, arguments)
        if reason is not None:
            return GrantDecision(reason)
    return ALLOWED


def is_covered_by(outer: Grant, inner: Grant) -> bool:
    """Whether everything that ``inner`` allows is allowed by ``outer`` too."""
    if outer.capability != inner.capability or outer.capability.startswith(NEVER_GRANTED):
        return False
    if outer.capability in HOSTED and "hosts" not in outer.params:
        return False
    return all(
        key in inner.params and _bound_covers(key, bound, inner.params[key])
        for key, bound in outer.params.items()
    )


def find_missing_grants(needed: Iterable[Grant], given: Sequence[Grant]) -> tuple[Grant, ...]:
    """The needed grants that are not covered, host by host."""
    return tuple(
        need
        for grant in needed
        for need in _split_by_host(grant)
        if not any(is_covered_by(allowed, need) for allowed in given)
    )


def derive(definition: Definition, vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """The grants that a definition needs.

    They are the union over its plan, nested and on_failure steps, and its poll triggers.
    """
    steps = (*definition.plan, *definition.execution.on_failure)
    needs = [grant for step in steps for grant in _all_needs(step.action, step.config, vocabulary)]
    return merge_grants([*needs, *list_poll_grants(definition.triggers)])


def resolve_effective_grants(definition: Definition, vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """The grants of a run: the written ones, or those that the plan needs."""
    if definition.grants is None:
        found = derive(definition, vocabulary)
    else:
        found = merge_grants(Grant(entry.capability, entry.params) for entry in definition.grants)
    return tuple(_mark_lent(grant, vocabulary) for grant in found)


def list_lent_capabilities(grants: Iterable[Grant], vocabulary: Vocabulary) -> frozenset[str]:
    """The capabilities among these grants that use the accounts of the automation's owner."""
    return frozenset(one.capability for one in grants if _mark_lent(one, vocabulary).lent)


def _mark_lent(grant: Grant, vocabulary: Vocabulary) -> Grant:
    """The grant, marked if it uses the accounts of the automation's owner."""
    known = vocabulary.capabilities.get(grant.capability)
    return replace(grant, lent=known is not None and known.uses_accounts)


def list_needed_grants(
    action: str, config: Mapping[str, Any], vocabulary: Vocabulary
) -> tuple[Grant, ...]:
    """What one step calls itself, read from its unrendered config.

    A pattern is expanded to the capabilities that exist now.
    """
    return tuple(
        Grant(name, grant.params)
        for grant in list_requested_grants(action, config, vocabulary)
        for name in _expand_pattern(grant.capability, vocabulary)
    )


def _expand_pattern(name: str, vocabulary: Vocabulary) -> Iterable[str]:
    return match_pattern(name, vocabulary.capabilities) if is_pattern(name) else (name,)


def list_requested_grants(
    action: str, config: Mapping[str, Any], vocabulary: Vocabulary
) -> tuple[Grant, ...]:
    """Like ``list_needed_grants``, with patterns not expanded."""
    known = vocabulary.actions.get(action)
    if known is not None:
        return tuple(known.uses(config))
    if action not in vocabulary.capabilities:
        return ()
    if action == AGENT_RUN:
        return read_agent_grants(config)
    if action in HOSTED:
        return (build_host_grant(action, config.get("url")),)
    return (Grant(action),)


def build_host_grant(capability: str, url: object) -> Grant:
    """A grant for the host of a URL; without a host when an expression determines it."""
    entry = grant_entry(url)
    return Grant(capability, {"hosts": [] if entry is None else [entry]})


def merge_grants(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """Merge equal grants and their hosts, in a stable order."""
    kept: list[Grant] = []
    for grant in grants:
        joined = grant
        rest = []
        for other in kept:
            union = _union(other, joined)
            if union is None:
                rest.append(other)
            else:
                joined = union
        kept = [*rest, joined]
    return tuple(sorted(kept, key=lambda grant: encode_canonical(grant.as_dict())))


def _union(left: Grant, right: Grant) -> Grant | None:
    """One grant that allows exactly what both allow; None when there is none."""
    if is_covered_by(left, right):
        return left
    if is_covered_by(right, left):
        return right
    if left.capability != right.capability or left.params.keys() != right.params.keys():
        return None
    if {key for key in left.params if not is_same_json(left.params[key], right.params[key])} != {
        "hosts"
    }:
        return None
    hosts = [left.params["hosts"], right.params["hosts"]]
    if not all(isinstance(entries, list) for entries in hosts):
        return None
    together = {str(entry) for entries in hosts for entry in entries}
    return Grant(left.capability, {**left.params, "hosts": sorted(together)})


def _all_needs(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Grant]:
    yield from list_needed_grants(action, config, vocabulary)
    known = vocabulary.actions.get(action)
    if known is None or known.nested is None:
        return
    for step in config.get(known.nested) or ():
        yield from _all_needs(step["action"], step.get("config") or {}, vocabulary)


def _split_by_host(grant: Grant) -> Iterator[Grant]:
    hosts = grant.params.get("hosts")
    if not isinstance(hosts, list) or len(hosts) < 2:
        yield grant
        return
    for host in hosts:
        yield Grant(grant.capability, {**grant.params, "hosts": [host]})


def explain_out_of_bounds(key: str, bound: Any, arguments: Mapping[str, Any]) -> str | None:
    """Why the arguments of a call violate one bound of a grant; None when they do not."""
    if key == "hosts":
        return _outside_hosts(bound, arguments.get("url"))
    if key not in arguments:
        return f"The grant bounds {key}, and the call leaves it out."
    argument = arguments[key]
    if key.startswith("max_"):
        return None if _is_at_most(argument, bound) else f"{key} is above what is granted."
    if isinstance(bound, list):
        inside = _member(argument, bound) or (
            isinstance(argument, list) and all(_member(entry, bound) for entry in argument)
        )
        return None if inside else f"{key} is not among the granted values."
    return None if is_same_json(argument, bound) else f"{key} is not the granted value."


def _outside_hosts(bound: Any, url: Any) -> str | None:
    site = parse_url_host(url)
    if site is None:
        return "The url has no host that can be checked."
    if isinstance(bound, list) and is_host_listed(bound, site):
        return None
    return f"The host {site.host} is not granted."


def _bound_covers(key: str, outer: Any, inner: Any) -> bool:
    if key == "hosts":
        return _hosts_cover(outer, inner)
    if key.startswith("max_"):
        return _is_at_most(inner, outer)
    if not isinstance(outer, list):
        return not isinstance(inner, list) and is_same_json(inner, outer)
    if isinstance(inner, list):
        return all(_member(entry, outer) for entry in inner)
    return _member(inner, outer)


def _hosts_cover(outer: Any, inner: Any) -> bool:
    if not isinstance(outer, list) or not isinstance(inner, list):
        return False
    wide = [site for site in map(parse_host_entry, outer) if site is not None]
    return all(
        any(site.host == entry.host and site.port in (None, entry.port) for site in wide)
        for entry in map(parse_host_entry, inner)
        if entry is not None
    )


def _is_at_most(value: Any, bound: Any) -> bool:
    return _is_number(value) and _is_number(bound) and bool(value <= bound)


def _member(value: Any, allowed: Iterable[Any]) -> bool:
    return any(is_same_json(value, entry) for entry in allowed)


def is_same_json(left: Any, right: Any) -> bool:
    """JSON equality: true is not 1, and 1 equals 1.0."""
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            is_same_json(left[key], right[key]) for key in left
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_same_json, left, right))
    return type(left) is type(right) and bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
