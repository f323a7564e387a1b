"""Looks into documents that may lack anything, and raises on none of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.registry import Vocabulary
from mainspring.definition.tool_patterns import is_pattern, match_pattern, read_tool_name

# What calls a capability under a name of its own.
CALLS: Final = {
    "notification": "inbox.post_notification",
    "callback_webhook": "http_fetch",
    "agent_task": "agent.run",
}


def part(value: Any, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def texts(value: Any) -> Iterator[str]:
    """Every text in a value, names of keys included."""
    if isinstance(value, Mapping):
        for key, entry in value.items():
            yield str(key)
            yield from texts(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from texts(entry)
    elif isinstance(value, str):
        yield value


def steps_of(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Every step, those inside of others and those after a failure included."""
    return list(_walk(document.get("plan"))) + list(
        _walk(part(document, "execution", "on_failure"))
    )


def _walk(steps: Any) -> Iterator[Mapping[str, Any]]:
    for step in steps if isinstance(steps, list) else ():
        if isinstance(step, Mapping):
            yield step
            yield from _walk(part(step, "config", "steps"))


def used(document: Mapping[str, Any], vocabulary: Vocabulary) -> set[str]:
    """All that a plan names or needs: actions, capabilities, and the tools of its agents."""
    found: set[str] = set()
    for step in steps_of(document):
        action = str(step.get("action"))
        found |= {action, *([CALLS[action]] if action in CALLS else [])}
        named = [read_tool_name(one) for one in listed(part(step, "config", "tools"))]
        named += [part(one, "capability") for one in listed(part(step, "config", "grants"))]
        for name in named:
            found |= _settled(name, vocabulary) if isinstance(name, str) else set()
    return found


def _settled(name: str, vocabulary: Vocabulary) -> set[str]:
    return set(match_pattern(name, vocabulary.capabilities)) if is_pattern(name) else {name}


def granted(document: Mapping[str, Any], vocabulary: Vocabulary) -> set[str]:
    """What runs may call: what is written, else what the plan needs."""
    written = document.get("grants")
    if isinstance(written, list):
        return {str(part(one, "capability")) for one in written}
    return {name for name in used(document, vocabulary) if name not in vocabulary.actions}
