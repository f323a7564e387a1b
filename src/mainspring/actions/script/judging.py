"""What is wrong with a script step beyond its schema, told when it is saved."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Finding
from mainspring.definition.script import find_script_problems
from mainspring.definition.words import suggest_capability


def validate_script_config(
    config: Mapping[str, Any], capabilities: Mapping[str, Capability]
) -> Sequence[Finding]:
    """Judges the source, and the grants by their names."""
    source, given = config.get("source"), config.get("grants")
    may = {name for name, one in capabilities.items() if one.grantable}
    found = [] if not isinstance(given, list) else list(_validate_grants(given, may, capabilities))
    if isinstance(source, str) and source:
        names = None if not isinstance(given, list) else _read_grant_names(given)
        found += find_script_problems(source, names, capabilities.keys(), may)
    return found


def _read_grant_names(given: Sequence[Any]) -> set[str]:
    return {str(entry["tool"]) for entry in given if isinstance(entry, Mapping) and "tool" in entry}


def _validate_grants(
    given: Sequence[Any], may: Collection[str], known: Collection[str]
) -> Iterator[Finding]:
    for place, entry in enumerate(given):
        tool = entry.get("tool") if isinstance(entry, Mapping) else None
        if not isinstance(tool, str) or tool in may:
            continue
        at, shown = f"/grants/{place}/tool", repr(tool[:100])
        if tool in known:
            detail = f"{shown} can never be granted to an automation."
            yield Finding(at, detail, "never_granted")
        else:
            detail = f"There is no capability called {shown}."
            yield Finding(at, detail, "unknown_capability", suggest_capability(tool, sorted(may)))
