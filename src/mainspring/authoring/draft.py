"""Drafts: conversion between the authoring tools' arguments and a one-script definition.

Arguments are stored as an ordinary definition. Validation findings are mapped back to the argument
they concern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mainspring.authoring.grants import normalize_hosts
from mainspring.authoring.trigger_kinds import map_trigger_pointer
from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.trigger_kinds import as_entries

SCRIPT: Final = "script"
DEFAULT_COST: Final = 1
DEFAULT_WALL: Final = 60
DEFAULT_TOKENS: Final = 200_000
DEFAULT_MODEL: Final = "claude-sonnet-4-6"
HOSTS_NOTE: Final = "acknowledged_http_fetch_hosts"

# Mapping of definition pointers to arguments; the longest match wins.
_WRITTEN: Final = (
    ("/plan/0/config/source", "/source"),
    ("/plan/0/config/grants", "/tool_grants"),
    ("/plan/0/config/wall_seconds", "/max_wall_seconds"),
    ("/execution/timeout_seconds", "/max_wall_seconds"),
    ("/execution/budget_cap_usd", "/cost_cap_daily_usd"),
    ("/execution/cost_cap_daily_usd", "/cost_cap_daily_usd"),
    ("/execution/max_llm_tokens", "/max_llm_tokens"),
    ("/execution/model", "/model"),
    ("/execution/write_policy", "/write_policy"),
    ("/writes/boards", "/writes_to_boards"),
    ("/writes/dedupe_key_field", "/dedupe_key_field"),
    ("/writes/dedupe_target_field", "/dedupe_target_field"),
    ("/writes/coexistence_note", "/coexistence_note"),
    ("/plan/0/action", "/tool_grants"),
    ("/plan/0", "/source"),
)
# The part of a definition that each argument changes, and its key there.
_EXECUTION: Final = {
    "max_llm_tokens": "max_llm_tokens",
    "model": "model",
    "write_policy": "write_policy",
}
_WRITES: Final = {
    "dedupe_key_field": "dedupe_key_field",
    "dedupe_target_field": "dedupe_target_field",
    "coexistence_note": "coexistence_note",
}
_WORDS: Final = ("name", "description", "intent")

Document = dict[str, Any]


def new_document(arguments: Mapping[str, Any]) -> tuple[Document, list[Finding]]:
    """Build the definition of a new automation, with the problems of its triggers."""
    usual = {
        "cost_cap_daily_usd": DEFAULT_COST,
        "max_wall_seconds": DEFAULT_WALL,
        "max_llm_tokens": DEFAULT_TOKENS,
        "model": DEFAULT_MODEL,
    }
    bare: Document = {
        "schema_version": "1.2",
        "plan": [{"step_id": SCRIPT, "action": SCRIPT, "config": {}}],
        "execution": {},
    }
    return apply_changes(bare, {**usual, **arguments})


def apply_changes(
    before: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[Document, list[Finding]]:
    """Apply the given fields to a definition; the others are not changed."""
    document = dict(before)
    document.update({name: arguments[name] for name in _WORDS if name in arguments})
    findings: list[Finding] = []
    if "triggers" in arguments:
        document["triggers"], findings = as_entries(arguments["triggers"])
    document["execution"] = _execution(before, arguments)
    document["plan"] = _plan(before, arguments)
    writes = _writes(before, arguments)
    if writes:
        document["writes"] = writes
    if HOSTS_NOTE in arguments:
        noted = {HOSTS_NOTE: normalize_hosts(arguments[HOSTS_NOTE])}
        document["metadata"] = {**(before.get("metadata") or {}), **noted}
    # A goal that was set elsewhere is not changed by these tools.
    if is_script(document) and ("goal" not in before or before["goal"] == _goal(before)):
        document["goal"] = _goal(document)
    return document, findings


def _execution(before: Mapping[str, Any], arguments: Mapping[str, Any]) -> Document:
    made = dict(before.get("execution") or {})
    made.update(
        {inside: arguments[name] for name, inside in _EXECUTION.items() if name in arguments}
    )
    if "cost_cap_daily_usd" in arguments:
        made["cost_cap_daily_usd"] = arguments["cost_cap_daily_usd"]
        if is_script(before):
            # One run may spend the whole daily cap; there is no other limit.
            made["budget_cap_usd"] = arguments["cost_cap_daily_usd"]
    if "max_wall_seconds" in arguments and not is_script(before):
        made["timeout_seconds"] = arguments["max_wall_seconds"]
    return made


def _plan(before: Mapping[str, Any], given: Mapping[str, Any]) -> list[Any]:
    if not is_script(before):
        return list(before["plan"])
    step = before["plan"][0]
    config = dict(step["config"])
    names = {"source": "source", "tool_grants": "grants", "max_wall_seconds": "wall_seconds"}
    config.update({inside: given[name] for name, inside in names.items() if name in given})
    return [{**step, "config": config}]


def _writes(before: Mapping[str, Any], arguments: Mapping[str, Any]) -> Document:
    made = dict(before.get("writes") or {})
    made.update({inside: arguments[name] for name, inside in _WRITES.items() if name in arguments})
    if "writes_to_boards" in arguments:
        made["boards"] = sorted({str(board).lower() for board in arguments["writes_to_boards"]})
    return made


def _goal(document: Mapping[str, Any]) -> str:
    """The goal, from the first description available."""
    words = (document.get(name) for name in ("description", "intent", "name"))
    return next(str(one) for one in words if isinstance(one, str) and one.strip())


def is_script(document: Mapping[str, Any]) -> bool:
    """Report whether a definition is a single script."""
    plan = document.get("plan")
    return (
        isinstance(plan, Sequence)
        and len(plan) == 1
        and isinstance(plan[0], Mapping)
        and plan[0].get("action") == SCRIPT
    )


def read_granted_tools(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return a script's grants as written."""
    return list(document["plan"][0]["config"].get("grants") or ())


def read_time_limit(document: Mapping[str, Any]) -> int:
    """Return the time limit of a run."""
    if is_script(document):
        return int(document["plan"][0]["config"].get("wall_seconds", DEFAULT_WALL))
    return int((document.get("execution") or {}).get("timeout_seconds", 600))


def as_written(finding: Finding) -> Finding:
    """Map a finding to the argument that it concerns."""
    pointer = finding.pointer
    if pointer.startswith("/triggers/"):
        return replace(finding, pointer=map_trigger_pointer(pointer))
    for inside, written in _WRITTEN:
        if pointer == inside or pointer.startswith(inside + "/"):
            return replace(finding, pointer=written + pointer.removeprefix(inside))
    return finding


def refuse(findings: Iterable[Finding]) -> None:
    """Raise all findings at once; return when there are none."""
    once = list({(one.pointer, one.code, one.detail): one for one in findings}.values())
    if once:
        things = "one problem" if len(once) == 1 else f"{len(once)} problems"
        raise Invalid(
            f"The automation has {things}: {once[0].detail}",
            code="invalid_automation",
            findings=once,
            suggestion=once[0].suggestion,
        )
