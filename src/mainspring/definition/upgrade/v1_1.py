"""From 1.1 to 1.2.

1.2 adds an approval mode to each outside write. In 1.1, requests that change something were sent at
once, and mail to the owner waited for a person unless the policy was ``auto_confirm_safe``. The
upgrade writes the mode that preserves this behaviour into the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.agent import AGENT_RUN, AGENT_TASK
from mainspring.definition.tool_patterns import matches_pattern, read_fixed_params, read_tool_name
from mainspring.definition.upgrade.note import UpgradeNote

_FETCH: Final = "http_fetch"
_TO_OWNER: Final = "email.notify_owner"
_READS: Final = ("GET", "HEAD")
_DEEPEST: Final = 16


def to_1_2(document: Mapping[str, Any]) -> tuple[dict[str, Any], list[UpgradeNote]]:
    """A copy in format 1.2; parts with an unexpected shape stay unchanged."""
    made = dict(document)
    made["schema_version"] = "1.2"
    notes = [UpgradeNote("/schema_version", "The format 1.1 became 1.2.")]
    execution = made.get("execution")
    owner_waits = not (
        isinstance(execution, dict) and execution.get("write_policy") == "auto_confirm_safe"
    )
    if "plan" in made:
        made["plan"] = _steps(made["plan"], "/plan", owner_waits, notes, 0)
    if isinstance(execution, dict) and "on_failure" in execution:
        at = "/execution/on_failure"
        last = _steps(execution["on_failure"], at, owner_waits, notes, 0)
        made["execution"] = {**execution, "on_failure": last}
    return made, notes


def _steps(steps: Any, at: str, owner_waits: bool, notes: list[UpgradeNote], depth: int) -> Any:
    if not isinstance(steps, list | tuple) or depth > _DEEPEST:
        return steps
    return [
        _step(one, f"{at}/{place}", owner_waits, notes, depth) if isinstance(one, dict) else one
        for place, one in enumerate(steps)
    ]


def _step(
    step: dict[str, Any], at: str, owner_waits: bool, notes: list[UpgradeNote], depth: int
) -> dict[str, Any]:
    config = step.get("config")
    config = config if isinstance(config, dict) else {}
    if isinstance(config.get("steps"), list | tuple):
        inside = _steps(config["steps"], f"{at}/config/steps", owner_waits, notes, depth + 1)
        step = {**step, "config": {**config, "steps": inside}}
    if "approval" in step:
        return step
    mode = _mode(step.get("action"), config, owner_waits)
    if mode is None:
        return step
    said = "What it sends is sent as before." if _FETCH in str(mode) or mode == "automatic" else ""
    if "ask" in str(mode):
        said = f"{said} Its mail to the owner waits for a person as before.".strip()
    notes.append(UpgradeNote(f"{at}/approval", said))
    return {**step, "approval": mode}


def _mode(action: Any, config: Mapping[str, Any], owner_waits: bool) -> Any:
    if action == "callback_webhook":
        return "automatic"
    if action == _FETCH:
        return "automatic" if _sends(config) else None
    if action == _TO_OWNER:
        return "ask" if owner_waits else None
    modes = {}
    if action in (AGENT_RUN, AGENT_TASK):
        tools = config.get("tools")
        entries = [(read_tool_name(one), one) for one in (tools if isinstance(tools, list) else ())]
        # A model chooses the method that its tool does not fix.
        if any(
            name == _FETCH and read_fixed_params(one).get("method") not in _READS
            for name, one in entries
        ):
            modes[_FETCH] = "automatic"
        if owner_waits and any(name and matches_pattern(name, _TO_OWNER) for name, _ in entries):
            modes[_TO_OWNER] = "ask"
    elif action == "script":
        source = str(config.get("source") or "")
        if _FETCH in source:
            modes[_FETCH] = "automatic"
        if owner_waits and "notify_owner" in source:
            modes[_TO_OWNER] = "ask"
    return modes or None


def _sends(config: Mapping[str, Any]) -> bool:
    """Whether a request changes something, or may, when a template determines the method."""
    return config.get("method", "GET") not in _READS
