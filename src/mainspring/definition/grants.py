"""Grants: what a plan needs, what a person allowed, and whether a call stays inside.

These are pure decisions over plain values; the gate asks them at every call and the
validator when a definition is saved. Bounds are read per key:

- a scalar or an object must be equal, and true is not 1;
- a list means that the argument is a member of it, or a list of members;
- ``max_<name>`` bounds the argument of that very name from above, as in ``max_tokens``;
- ``hosts`` is compared with the host of the argument ``url``.

An argument that a grant bounds and a call leaves out is refused: a call never widens
its grant by being silent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from mainspring.contracts.agency import AGENT_RUN
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.hosts import grant_entry, listed_site, lists, site_of
from mainspring.definition.json_text import canonical
from mainspring.definition.model import Definition
from mainspring.definition.tool_patterns import HOSTED, grants_of_agent, is_pattern, matching

NEVER_GRANTED: Final = "admin_"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call is allowed; if not, the sentence that says why."""

    reason: str | None = None

    def __bool__(self) -> bool:
        return self.reason is None


ALLOWED: Final = Verdict()


def permits(grants: Iterable[Grant], capability: str, arguments: Mapping[str, Any]) -> Verdict:
    """Whether any of the grants allows the call; the reason is that of the nearest one."""
    verdict = Verdict(f"{capability} is not granted.")
    for grant in grants:
        if grant.capability == capability:
            verdict = match(grant, capability, arguments)
            if verdict:
                return verdict
    return verdict


def match(grant: Grant, capability: str, arguments: Mapping[str, Any]) -> Verdict:
    """Whether one grant allows the call."""
    if grant.capability != capability:
        return Verdict(f"{capability} is not granted.")
    if capability.startswith(NEVER_GRANTED):
        return Verdict(f"{capability} can never be granted.")
    if capability in HOSTED and "hosts" not in grant.params:
        return Verdict(f"The grant for {capability} names no hosts.")
    for key, bound in grant.params.items():
        reason = outside(key, bound, arguments)
        if reason is not None:
            return Verdict(reason)
    return ALLOWED


def covers(outer: Grant, inner: Grant) -> bool:
    """Whether everything that ``inner`` allows is allowed by ``outer`` too."""
    if outer.capability != inner.capability or outer.capability.startswith(NEVER_GRANTED):
        return False
    if outer.capability in HOSTED and "hosts" not in outer.params:
        return False
    return all(
        key in inner.params and _bound_covers(key, bound, inner.params[key])
        for key, bound in outer.params.items()
    )


def missing(needed: Iterable[Grant], given: Sequence[Grant]) -> tuple[Grant, ...]:
    """What is needed and not covered, host by host."""
    return tuple(
        need
        for grant in needed
        for need in _by_host(grant)
        if not any(covers(allowed, need) for allowed in given)
    )


def derive(definition: Definition, vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """What a definition needs: the union over its plan, nested and failure steps."""
    steps = (*definition.plan, *definition.execution.on_failure)
    return merged(
        grant for step in steps for grant in _all_needs(step.action, step.config, vocabulary)
    )


def effective(definition: Definition, vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """The grants a run is given: those the author wrote, else those the plan needs."""
    if definition.grants is None:
        found = derive(definition, vocabulary)
    else:
        found = merged(Grant(entry.capability, entry.params) for entry in definition.grants)
    return tuple(_told(grant, vocabulary) for grant in found)


def lent_by(grants: Iterable[Grant], vocabulary: Vocabulary) -> frozenset[str]:
    """The capabilities among these grants that reach the accounts of the automation's maker."""
    return frozenset(one.capability for one in grants if _told(one, vocabulary).lent)


def _told(grant: Grant, vocabulary: Vocabulary) -> Grant:
    """The same grant, with whether it reaches the accounts of the automation's maker."""
    known = vocabulary.capabilities.get(grant.capability)
    return replace(grant, lent=known is not None and known.uses_accounts)


def needs(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """What one step calls by itself, read from its config before it is rendered.

    A pattern is settled here, into what there is at this moment.
    """
    return tuple(
        Grant(name, grant.params)
        for grant in asks_for(action, config, vocabulary)
        for name in _settled(grant.capability, vocabulary)
    )


def _settled(name: str, vocabulary: Vocabulary) -> Iterable[str]:
    return matching(name, vocabulary.capabilities) if is_pattern(name) else (name,)


def asks_for(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> tuple[Grant, ...]:
    """The same with patterns as they stand."""
    known = vocabulary.actions.get(action)
    if known is not None:
        return tuple(known.uses(config))
    if action not in vocabulary.capabilities:
        return ()
    if action == AGENT_RUN:
        return grants_of_agent(config)
    if action in HOSTED:
        return (host_grant(action, config.get("url")),)
    return (Grant(action),)


def host_grant(capability: str, url: object) -> Grant:
    """A grant for the host of a URL; no host at all when an expression decides it."""
    entry = grant_entry(url)
    return Grant(capability, {"hosts": [] if entry is None else [entry]})


def merged(grants: Iterable[Grant]) -> tuple[Grant, ...]:
    """The same permission in the fewest grants: hosts joined, in a stable order."""
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
    return tuple(sorted(kept, key=lambda grant: canonical(grant.as_dict())))


def _union(left: Grant, right: Grant) -> Grant | None:
    """One grant that allows what both allow, and nothing else; None when there is none."""
    if covers(left, right):
        return left
    if covers(right, left):
        return right
    if left.capability != right.capability or left.params.keys() != right.params.keys():
        return None
    if {key for key in left.params if not same(left.params[key], right.params[key])} != {"hosts"}:
        return None
    hosts = [left.params["hosts"], right.params["hosts"]]
    if not all(isinstance(entries, list) for entries in hosts):
        return None
    together = {str(entry) for entries in hosts for entry in entries}
    return Grant(left.capability, {**left.params, "hosts": sorted(together)})


def _all_needs(action: str, config: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Grant]:
    yield from needs(action, config, vocabulary)
    known = vocabulary.actions.get(action)
    if known is None or known.nested is None:
        return
    for step in config.get(known.nested) or ():
        yield from _all_needs(step["action"], step.get("config") or {}, vocabulary)


def _by_host(grant: Grant) -> Iterator[Grant]:
    hosts = grant.params.get("hosts")
    if not isinstance(hosts, list) or len(hosts) < 2:
        yield grant
        return
    for host in hosts:
        yield Grant(grant.capability, {**grant.params, "hosts": [host]})


def outside(key: str, bound: Any, arguments: Mapping[str, Any]) -> str | None:
    """Why the arguments of a call are outside one bound of a grant; None when they are not."""
    if key == "hosts":
        return _outside_hosts(bound, arguments.get("url"))
    if key not in arguments:
        return f"The grant bounds {key}, and the call leaves it out."
    argument = arguments[key]
    if key.startswith("max_"):
        return None if _at_most(argument, bound) else f"{key} is above what is granted."
    if isinstance(bound, list):
        inside = _member(argument, bound) or (
            isinstance(argument, list) and all(_member(entry, bound) for entry in argument)
        )
        return None if inside else f"{key} is not among the granted values."
    return None if same(argument, bound) else f"{key} is not the granted value."


def _outside_hosts(bound: Any, url: Any) -> str | None:
    site = site_of(url)
    if site is None:
        return "The url has no host that can be checked."
    if isinstance(bound, list) and lists(bound, site):
        return None
    return f"The host {site.host} is not granted."


def _bound_covers(key: str, outer: Any, inner: Any) -> bool:
    if key == "hosts":
        return _hosts_cover(outer, inner)
    if key.startswith("max_"):
        return _at_most(inner, outer)
    if not isinstance(outer, list):
        return not isinstance(inner, list) and same(inner, outer)
    if isinstance(inner, list):
        return all(_member(entry, outer) for entry in inner)
    return _member(inner, outer)


def _hosts_cover(outer: Any, inner: Any) -> bool:
    if not isinstance(outer, list) or not isinstance(inner, list):
        return False
    wide = [site for site in map(listed_site, outer) if site is not None]
    return all(
        any(site.host == entry.host and site.port in (None, entry.port) for site in wide)
        for entry in map(listed_site, inner)
        if entry is not None
    )


def _at_most(value: Any, bound: Any) -> bool:
    return _is_number(value) and _is_number(bound) and bool(value <= bound)


def _member(value: Any, allowed: Iterable[Any]) -> bool:
    return any(same(value, entry) for entry in allowed)


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values, where true is not 1 and 1 is 1.0."""
    if _is_number(left) and _is_number(right):
        return bool(left == right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)
