"""What a script may call: what it was given, or else what its text asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.grant import Grant
from mainspring.definition.grants import merge_grants
from mainspring.definition.script.reading import read_script
from mainspring.definition.tool_patterns import HOSTED

# An automation's own small memory and its own failures, which every script has.
KV: Final = (
    "automation_kv.delete",
    "automation_kv.get",
    "automation_kv.list",
    "automation_kv.set",
    "automation_recent_failures",
)


def derive_grants(source: str) -> tuple[Grant, ...]:
    """One grant for each capability that the text calls; hosts only where it spells them."""
    calls = read_script(source).calls
    asked = {call.capability for call in calls} - {*KV}
    hosts: dict[str, set[str]] = {name: set() for name in asked & HOSTED}
    for call in calls:
        if call.host is not None:
            hosts[call.capability].add(call.host)
    return merge_grants(
        Grant(name, {"hosts": sorted(hosts[name])} if name in HOSTED else {})
        for name in (*KV, *asked)
    )


def read_script_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    """What a script step may call: the grants of its config, or those its text asks for."""
    source, given = config.get("source"), config.get("grants")
    if not isinstance(given, list | tuple):
        return derive_grants(source if isinstance(source, str) else "")
    read = [_read(entry) for entry in given]
    return merge_grants([*map(Grant, KV), *(grant for grant in read if grant is not None)])


def _read(entry: Any) -> Grant | None:
    """An entry of the config; what cannot be read is judged elsewhere and allows nothing."""
    tool = entry.get("tool") if isinstance(entry, Mapping) else None
    params = entry.get("params") if isinstance(entry, Mapping) else None
    if not isinstance(tool, str) or not (params is None or isinstance(params, Mapping)):
        return None
    return Grant(tool, dict(params or {}))
