"""Notifications to oneself, which need no approval by default.

Mail to the owner and inbox messages are sent at once by default, so only other notifications that
reach the owner alone are marked here. Everything that reaches somebody else needs approval until a
person changes that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mainspring.contracts.capability import find_declared_write

_DEEPEST: Final = 16


def propose_approval(step: Mapping[str, Any]) -> str | None:
    """Return the proposed approval mode of a step; None for the default."""
    declared = find_declared_write(str(step.get("action")))
    to_oneself = declared is not None and declared.safe and not declared.sent_by_default
    return "automatic" if to_oneself else None


def walk_steps(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every step of a possibly unfinished definition, nested ones after their parent."""
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
