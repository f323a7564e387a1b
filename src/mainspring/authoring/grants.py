"""Validation of a script's grants on save.

A tool that does not exist, is reserved for people or administrators, or calls out without naming
hosts is rejected before anything is stored. A person has acknowledged each host that the script may
reach by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from mainspring.contracts.capability import Audience
from mainspring.contracts.errors import Finding
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.grants import NEVER_GRANTED
from mainspring.definition.hosts import parse_host_entry
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.suggestions import suggest_capability, suggest_nearest
from mainspring.definition.tool_patterns import HOSTED
from mainspring.definition.validate.permissions import list_grantable

FETCH = "http_fetch"
ACKNOWLEDGED = "/acknowledged_http_fetch_hosts"

Grants = Sequence[Mapping[str, Any]]


def validate_grants(grants: Grants, vocabulary: Vocabulary) -> list[Finding]:
    """Find every problem of the grants, each with its pointer."""
    return [
        finding
        for place, entry in enumerate(grants)
        for finding in _validate_grant(entry, f"/tool_grants/{place}", vocabulary)
    ]


def _validate_grant(entry: Mapping[str, Any], at: str, vocabulary: Vocabulary) -> Iterator[Finding]:
    tool, params = str(entry["tool"]), entry.get("params") or {}
    known = vocabulary.capabilities.get(tool)
    if tool.startswith(NEVER_GRANTED) or (known is not None and not known.grantable):
        people = known is not None and known.annotations.audience is Audience.PEOPLE
        who = "people" if people else "administrators"
        detail = f"{tool[:100]} is for {who}, and an automation can never be given it."
        yield Finding(f"{at}/tool", detail, "never_granted", "Take it out of the grants.")
        return
    if known is None:
        detail = f"There is no tool called {tool[:100]!r}."
        hint = suggest_capability(tool, list_grantable(vocabulary))
        yield Finding(f"{at}/tool", detail, "unknown_capability", hint)
        return
    if tool in HOSTED and not params.get("hosts"):
        detail = f"A grant for {tool} names the hosts that it may reach."
        way = 'Add params: {"hosts": ["api.example.com"]}.'
        yield Finding(f"{at}/params", detail, "hosts_missing", way)
    arguments = known.input_schema.get("properties", {})
    for key, bound in params.items():
        yield from _validate_grant_limit(
            tool, key, bound, join_pointer(at, "params", key), arguments
        )


def _validate_grant_limit(
    tool: str, key: str, bound: Any, at: str, arguments: Mapping[str, Any]
) -> Iterator[Finding]:
    if key == "hosts":
        if not isinstance(bound, list) or any(parse_host_entry(host) is None for host in bound):
            yield _bad_host(at)
    elif key not in arguments:
        detail = f"{tool} has no argument called {key[:100]!r}, so no call would fit."
        yield Finding(at, detail, "unknown_argument", suggest_nearest(key, arguments))
    elif key.startswith("max_") and (isinstance(bound, bool) or not isinstance(bound, int | float)):
        yield Finding(at, f"{key} is an upper bound and must be a number.", "type")


def validate_hosts(grants: Grants, acknowledged: Sequence[str]) -> list[Finding]:
    """Check that a person has acknowledged each reachable host."""
    fetches = [entry for entry in grants if entry["tool"] == FETCH]
    if not fetches:
        if not acknowledged:
            return []
        detail = f"Hosts are acknowledged, and {FETCH} is not among the grants."
        way = f"Leave them out, or grant {FETCH} for them."
        return [Finding(ACKNOWLEDGED, detail, "hosts_without_http_fetch", way)]
    wanted = sorted(find_granted_hosts(fetches))
    if not acknowledged:
        detail = f"The grants include {FETCH}, and its hosts are not acknowledged."
        hint = f"Ask the person, and pass {wanted}." if wanted else None
        return [Finding(ACKNOWLEDGED, detail, "hosts_not_acknowledged", hint)]
    findings = [
        _bad_host(f"{ACKNOWLEDGED}/{place}")
        for place, host in enumerate(acknowledged)
        if parse_host_entry(host) is None
    ]
    return findings or [
        _build_unseen_host_finding(host) for host in wanted if not _is_covered(host, acknowledged)
    ]


def find_granted_hosts(grants: Grants) -> set[str]:
    """Return every host granted to http_fetch, normalized."""
    return {
        str(site)
        for entry in grants
        if entry["tool"] == FETCH
        for host in _list_hosts((entry.get("params") or {}).get("hosts"))
        if (site := parse_host_entry(host)) is not None
    }


def normalize_hosts(hosts: Iterable[str]) -> list[str]:
    """Normalize and sort hosts."""
    return sorted({str(site) for site in map(parse_host_entry, hosts) if site is not None})


def _list_hosts(hosts: Any) -> list[Any]:
    return hosts if isinstance(hosts, list) else []


def _is_covered(host: str, acknowledged: Iterable[str]) -> bool:
    wanted = parse_host_entry(host)
    return wanted is not None and any(
        site is not None and site.host == wanted.host and site.port in (None, wanted.port)
        for site in map(parse_host_entry, acknowledged)
    )


def _build_unseen_host_finding(host: str) -> Finding:
    detail = f"The grants allow {host}, which is not acknowledged."
    way = "Ask the person about this host and add it, or take it out of the grant."
    return Finding(ACKNOWLEDGED, detail, "hosts_mismatch", way)


def _bad_host(at: str) -> Finding:
    detail = "Hosts are a list of bare names, without scheme, path or wildcard."
    return Finding(at, detail, "bad_host", 'Write it like "api.example.com".')
