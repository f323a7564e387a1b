"""What a compiled recipe really asks for, beside what its envelope says it asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import find_missing_grants, is_covered_by
from mainspring.definition.hosts import parse_host_entry
from mainspring.definition.json_text import encode_canonical
from mainspring.definition.pointers import join_pointer
from mainspring.definition.script.grants import KV
from mainspring.definition.secret_use import find_script_secrets, find_secret_uses
from mainspring.definition.words import suggest_nearest

_PUBLISHER: Final = re.compile(r"\{\{-?\s*publisher\.([A-Za-z0-9_]{1,64})\s*-?\}\}")
_OF_PUBLISHER: Final = "publisher."
_FETCH: Final = "http_fetch"


@dataclass(frozen=True, slots=True)
class CompiledNeeds:
    """What a run of it may call, where that goes, and what it takes from whoever installs."""

    grants: tuple[Grant, ...]
    hosts: frozenset[str]
    secrets: frozenset[str]
    publisher_secrets: frozenset[str]
    # Without these it does not work; the others are used where they are there.
    connections: frozenset[str]
    connections_used: frozenset[str]
    # Capabilities that go over a connection which nothing in the recipe names.
    unnamed: frozenset[str]


def compute_needs(
    template: Mapping[str, Any],
    document: Mapping[str, Any],
    grants: tuple[Grant, ...],
    vocabulary: Vocabulary,
    limits: Limits,
) -> CompiledNeeds:
    """What a definition that was judged before asks for, given the grants of its runs."""
    named = {use.secret for use in find_secret_uses(document, limits)} | find_script_secrets(
        document
    )
    secrets = {one for one in named if not one.startswith(_OF_PUBLISHER)}
    published = {one.removeprefix(_OF_PUBLISHER) for one in named - secrets}
    needed, used, unnamed = _collect_connections(document, grants, vocabulary)
    return CompiledNeeds(
        grants=grants,
        hosts=frozenset(_iterate_hosts(grants)),
        secrets=frozenset(secrets),
        publisher_secrets=frozenset({*published, *_iterate_publisher_secrets(template)}),
        connections=frozenset(needed),
        connections_used=frozenset(used),
        unnamed=frozenset(unnamed),
    )


def find_undeclared_needs(filled: Mapping[str, Any], needs: CompiledNeeds) -> Iterator[Finding]:
    """Where the envelope says less than the template asks for, or more."""
    yield from _compare_grants(filled.get("grants", ()), needs)
    yield from _compare_hosts(filled.get("hosts", ()), needs)
    requires = filled.get("requires", {})
    told = _list_names(requires.get("secrets", ()), "name")
    yield from _compare_names("secret", "/requires/secrets", "name", told, needs.secrets)
    told = _list_names(requires.get("publisher_secrets", ()), "name")
    at = "/requires/publisher_secrets"
    yield from _compare_names("secret of the publisher", at, "name", told, needs.publisher_secrets)
    told = _list_names(requires.get("connections", ()), "integration")
    at, used = "/requires/connections", needs.connections_used
    yield from _compare_names("connection", at, "integration", told, needs.connections, used)
    for name in sorted(needs.unnamed):
        detail = f"{name} goes over a connection, and the recipe does not say which one."
        hint = f'Bound the grant for {name}, as in "params": {{"source": "gmail"}}.'
        yield Finding("/grants", detail, "hidden_connection", hint)


def _compare_grants(
    declared: Iterable[Mapping[str, Any]], needs: CompiledNeeds
) -> Iterator[Finding]:
    told = [Grant(one["capability"], one.get("params", {})) for one in declared]
    # What every automation has of its own frightens nobody and may go without saying.
    asked = (one for one in needs.grants if one.capability not in KV)
    for need in find_missing_grants(asked, told):
        detail = f"It would be able to call {_format_grant(need)}, and the recipe does not say so."
        hint = "Add this to grants, or narrow what the template asks for."
        yield Finding("/grants", detail, "hidden_grant", hint)
    for number, one in enumerate(told):
        if is_listed_twice(one, told[:number]):
            detail = f"{_format_grant(one)} is declared already."
            yield Finding(join_pointer("/grants", number), detail, "grant_twice")
        elif spare := find_missing_grants([one], needs.grants):
            detail = (
                f"The recipe asks for {_format_grant(spare[0])}, which its template does not need."
            )
            yield Finding(join_pointer("/grants", number), detail, "unused_grant", "Leave it out.")


def is_listed_twice(one: Grant, others: Iterable[Grant]) -> bool:
    return any(is_covered_by(other, one) for other in others)


def _format_grant(grant: Grant) -> str:
    if not grant.params:
        return grant.capability
    return f"{grant.capability} with {encode_canonical(dict(grant.params)).decode()}"


def _compare_hosts(declared: Collection[Any], needs: CompiledNeeds) -> Iterator[Finding]:
    bad = False
    for number, host in enumerate(declared):
        if parse_host_entry(host) is None:
            bad = True
            detail = "A host is a bare name, without scheme, path or wildcard."
            hint = 'Write it like "api.example.com".'
            yield Finding(join_pointer("/hosts", number), detail, "bad_host", hint)
    if bad:
        return
    told = Grant(_FETCH, {"hosts": list(declared)})
    for host in sorted(needs.hosts):
        if not is_covered_by(told, Grant(_FETCH, {"hosts": [host]})):
            detail = f"It would be able to reach {host}, and the recipe does not say so."
            yield Finding("/hosts", detail, "hidden_host", "Add it to hosts.")
    reached = Grant(_FETCH, {"hosts": sorted(needs.hosts)})
    for number, host in enumerate(declared):
        if not is_covered_by(reached, Grant(_FETCH, {"hosts": [host]})):
            detail = f"The recipe names {host}, which its template does not reach."
            yield Finding(join_pointer("/hosts", number), detail, "unused_host", "Leave it out.")


def _compare_names(
    what: str,
    at: str,
    key: str,
    told: list[str],
    needed: Collection[str],
    used: Collection[str] = (),
) -> Iterator[Finding]:
    code = what.partition(" ")[0]
    for name in sorted(set(needed) - set(told)):
        detail = f"It uses the {what} {name!r}, and the recipe does not say so."
        yield Finding(at, detail, f"hidden_{code}", f"Add it to {at[1:].replace('/', '.')}.")
    for number, name in enumerate(told):
        if name not in needed and name not in used:
            detail = f"The recipe asks for the {what} {name!r}, which its template does not use."
            hint = suggest_nearest(name, sorted(set(needed) - set(told))) or "Leave it out."
            yield Finding(join_pointer(at, number, key), detail, f"unused_{code}", hint)


def _list_names(entries: Iterable[Mapping[str, Any]], key: str) -> list[str]:
    return [str(one[key]) for one in entries]


def _iterate_hosts(grants: Iterable[Grant]) -> Iterator[str]:
    for grant in grants:
        hosts = grant.params.get("hosts")
        yield from (str(host) for host in hosts) if isinstance(hosts, list) else ()


def _iterate_publisher_secrets(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _PUBLISHER.findall(value)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _iterate_publisher_secrets(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iterate_publisher_secrets(part)


def _collect_connections(
    document: Mapping[str, Any], grants: Iterable[Grant], vocabulary: Vocabulary
) -> tuple[set[str], set[str], set[str]]:
    needed: set[str] = set()
    used: set[str] = set()
    unnamed: set[str] = set()
    for grant in grants:
        known = vocabulary.capabilities.get(grant.capability)
        if known is None:
            continue
        route = known.annotations.route
        if route is not None and route.connection != "none":
            (needed if route.connection == "needed" else used).add(route.integration)
        if known.annotations.pin:
            needed.add(grant.capability.partition(".")[0])
        for argument in known.annotations.connected:
            named = _list_argument_values(argument, grant, known, document)
            needed |= named
            if not named:
                unnamed.add(grant.capability)
    return needed, used, unnamed


def _list_argument_values(
    argument: str, grant: Grant, known: Capability, document: Mapping[str, Any]
) -> set[str]:
    """What an argument may be: as the grant bounds it, else as the steps spell it."""
    bound = grant.params.get(argument)
    if bound is not None:
        values = bound if isinstance(bound, list) else [bound]
        return {value for value in values if isinstance(value, str)}
    spelt = [*_iterate_argument_values(document, known.id, argument)]
    # A step whose argument an expression decides may go over any connection.
    fixed = all(isinstance(value, str) and "{" not in value for value in spelt)
    return {str(value) for value in spelt} if spelt and fixed else set()


def _iterate_argument_values(value: Any, action: str, argument: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        config = value.get("config")
        if value.get("action") == action and isinstance(config, Mapping):
            yield config.get(argument)
        for part in value.values():
            yield from _iterate_argument_values(part, action, argument)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _iterate_argument_values(part, action, argument)
