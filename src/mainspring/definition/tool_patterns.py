"""The tools of an agent: names of capabilities, and patterns such as ``slack.*``.

A pattern stands for what can be granted and needs no further word from its author. What needs
one is named: a capability that goes to hosts, one that wants a secret, and an agent, which is
never the tool of another. Which capabilities a pattern stands for is settled when a definition
is judged, so that one which appears later is not granted by the way.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

from mainspring.contracts.agency import AGENT_RUN
from mainspring.contracts.capability import Capability
from mainspring.contracts.grant import Grant
from mainspring.definition.hosts import grant_entry

# A grant for one of these says where it may go; without hosts it goes nowhere.
HOSTED: Final = frozenset({"http_fetch"})


def is_pattern(name: str) -> bool:
    """Whether a name stands for several capabilities."""
    return "*" in name


def matching(pattern: str, capabilities: Mapping[str, Capability]) -> Iterator[str]:
    """The capabilities that a pattern stands for, by name."""
    fits = _compiled(pattern)
    for name in sorted(capabilities):
        if fits.fullmatch(name) and can_be_meant(capabilities[name]):
            yield name


def can_be_meant(capability: Capability) -> bool:
    """Whether a pattern may stand for it."""
    wanted = set(capability.input_schema.get("required", ()))
    secret = bool(wanted & capability.annotations.only_secrets)
    named = capability.id in HOSTED or capability.id == AGENT_RUN
    return capability.grantable and not secret and not named


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern[:200].split("*"))))


def tool_name(entry: Any) -> str | None:
    """The name in one entry of a list of tools, if it can be read."""
    name = entry.get("tool") if isinstance(entry, Mapping) else entry
    return name if isinstance(name, str) else None


def fixed_params(entry: Any) -> Mapping[str, Any]:
    """The arguments that an entry fixes."""
    params = entry.get("params") if isinstance(entry, Mapping) else None
    return params if isinstance(params, Mapping) else {}


def grants_of_agent(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """What an agent calls: itself, and its tools, patterns as they stand."""
    given = config.get("tools")
    entries = given if isinstance(given, list) else []
    return (Grant(AGENT_RUN), *(grant for grant in map(_grant, entries) if grant is not None))


def _grant(entry: Any) -> Grant | None:
    name = tool_name(entry)
    if name is None or name == AGENT_RUN:
        return None
    if name not in HOSTED:
        return Grant(name, _plain_params(fixed_params(entry)))
    site = grant_entry(fixed_params(entry).get("url"))
    return Grant(name, {"hosts": [] if site is None else [site]})


def _plain_params(params: Mapping[str, Any]) -> dict[str, Any]:
    """What an entry fixes for good, which its grant need not leave open.

    What a template decides is known to the run alone, and ``hosts`` of a grant means a url.
    """
    return {
        name: value for name, value in params.items() if name != "hosts" and not _is_open(value)
    }


def _is_open(value: Any) -> bool:
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    if isinstance(value, Mapping):
        return any(_is_open(key) or _is_open(entry) for key, entry in value.items())
    return isinstance(value, list) and any(map(_is_open, value))
