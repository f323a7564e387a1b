"""Notices to oneself: what authoring proposes to send without asking.

Mail to the owner and messages in the inbox go at once by default, so only what else reaches the
owner alone is marked. Everything that reaches somebody else asks until a person says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.capability import find_declared_write

_DEEPEST: Final = 16


def propose_approval(step: Mapping[str, Any]) -> str | None:
    """The approval mode that is proposed for a step; None: what is usual."""
    declared = find_declared_write(str(step.get("action")))
    to_oneself = declared is not None and declared.safe and not declared.sent_by_default
    return "automatic" if to_oneself else None


def walk_steps(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every step of a definition that may be unfinished, nested ones after their parent."""
    execution = document.get("execution")
    failing = execution.get("on_failure") if isinstance(execution, Mapping) else None
    yield from _walk(document.get("plan"), 0)
    yield from _walk(failing, 0)


def _walk(steps: Any, depth: int) -> Iterator[dict[str, Any]]:
    if not isinstance(steps, list) or depth > _DEEPEST:
        return
    for step in steps:
        if isinstance(step, dict):
            yield step
            config = step.get("config")
            yield from _walk(config.get("steps") if isinstance(config, dict) else None, depth + 1)
