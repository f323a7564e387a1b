"""State changes of an automation: activate, pause, archive, restore, acknowledge.

Each is idempotent. An archived automation releases its name and starts nothing; its current runs
finish, its history stays, and it can be restored.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.agent import AGENT_TASK
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.limits import Limits
from mainspring.contracts.preflight import WOULD_FAIL
from mainspring.contracts.registry import Vocabulary
from mainspring.definition.strict_json import split_pointer
from mainspring.definition.validate import validate
from mainspring.workspace.automation_resources import check_owner_active, check_secrets_set
from mainspring.workspace.automations import (
    AutomationStatus,
    check_name,
    list_triggers,
    lock_automation,
    lock_names,
    merge_stored_triggers,
    no_automation_error,
    set_state,
)
from mainspring.workspace.consents import check_agreed, pause_reason
from mainspring.workspace.departed_members import resume_triggers
from mainspring.workspace.inbox import mark_read_about
from mainspring.workspace.uninstalled import check_not_uninstalled

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Findings that make every run fail, which block activation.

# Without these a step fails before the model is called.
_MODELS: Final = frozenset({"no_model", "unknown_model", "unknown_price"})
BLOCKING: Final = (WOULD_FAIL | _MODELS) - {"secret_missing"}
# The second is the spelling that script authors use.
_USUAL_MODEL: Final = ("/execution/model", "/model")
_LLM_COMPLETE: Final = "automation_llm_complete"
# Parts of a step's config that a run may leave unused.
_OPTIONAL: Final = frozenset({"tools", "grants", "steps"})


def filter_blocking_findings(
    document: Mapping[str, Any], findings: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Filter the findings with which no run can succeed."""
    always = _find_unconditional_steps(document)
    return tuple(one for one in findings if one.code in BLOCKING and _is_needed(one, always))


def check_nothing_missing(document: Mapping[str, Any], findings: Iterable[Finding]) -> None:
    """Reject activating an automation that can only fail."""
    blocking = filter_blocking_findings(document, findings)
    if not blocking:
        return
    first = blocking[0]
    more = len(blocking) - 1
    rest = "" if not more else f" (and {more} more)"
    raise Conflict(
        f"It cannot run yet: {first.detail}{rest}",
        code="parts_missing",
        findings=blocking,
        suggestion=first.suggestion,
    )


def _find_unconditional_steps(document: Mapping[str, Any]) -> dict[int, Mapping[str, Any]]:
    plan = document.get("plan")
    steps = plan if isinstance(plan, list) else []
    return {
        place: step
        for place, step in enumerate(steps)
        if isinstance(step, Mapping) and step.get("when") is None
    }


def _is_needed(finding: Finding, always: Mapping[int, Mapping[str, Any]]) -> bool:
    if finding.pointer in _USUAL_MODEL:
        return any(_uses_default_model(step) for step in always.values())
    parts = split_pointer(finding.pointer)
    if len(parts) < 2 or parts[0] != "plan" or not parts[1].isdigit():
        return False
    optional = len(parts) > 3 and parts[2] == "config" and parts[3] in _OPTIONAL
    return int(parts[1]) in always and not optional


def _uses_default_model(step: Mapping[str, Any]) -> bool:
    config = step.get("config")
    named = isinstance(config, Mapping) and config.get("model")
    return step.get("action") in (AGENT_TASK, _LLM_COMPLETE) and not named


_ACKNOWLEDGE = """
    UPDATE automations SET failures = 0, acknowledged_at = now()
    WHERE workspace_id = $1 AND id = $2 RETURNING state
"""
# A workflow records which automations it paused; a manual state change clears that.
_FORGET = """
    UPDATE workflow_automations SET resumes = false
    WHERE workspace_id = $1 AND automation_id = $2 AND resumes
"""


async def activate(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    vocabulary: Vocabulary,
    limits: Limits,
    missing: Sequence[Finding] = (),
) -> AutomationStatus:
    """Let its triggers start runs.

    The definition may be older than this installation, so it is validated again with the current
    registry and policy. An automation that waits for consent cannot be activated. ``missing`` is
    the result of ``find_missing_dependencies``; some of its findings block activation.
    """
    row = await lock_automation(tx, workspace_id, automation_id)
    if row["state"] == "active":
        return "active"
    await check_owner_active(tx, workspace_id, row["created_by"])
    await check_agreed(tx, workspace_id, automation_id, row["version"])
    rows = await list_triggers(tx, workspace_id, automation_id)
    document = merge_stored_triggers(row["document"], rows)
    await check_usable(document, automation_id, vocabulary, limits)
    await check_secrets_set(tx, workspace_id, row["created_by"], document, limits)
    check_nothing_missing(document, missing)
    await set_state(tx, workspace_id, automation_id, "active")
    await resume_triggers(tx, workspace_id, automation_id)
    await tx.execute(_FORGET, workspace_id, automation_id)
    return "active"


async def check_usable(
    document: object, automation_id: UUID, vocabulary: Vocabulary, limits: Limits
) -> None:
    """Reject a stored definition that is no longer valid in this installation."""
    report = await asyncio.to_thread(
        validate, document, vocabulary, limits, automation_id=str(automation_id)
    )
    if not report.ok:
        count = len(report.findings)
        things = "one problem" if count == 1 else f"{count} problems"
        raise Conflict(
            f"The stored definition does not fit this installation any more: it has {things}.",
            code="definition_unusable",
            findings=report.findings,
            suggestion="Save a definition without them.",
        )


async def pause(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """Pause: no trigger starts it once this commits; manual runs still work."""
    row = await lock_automation(tx, workspace_id, automation_id)
    if row["state"] != "paused":
        await set_state(tx, workspace_id, automation_id, "paused")
    await tx.execute(_FORGET, workspace_id, automation_id)
    return "paused"


async def archive(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """Archive: nothing starts it, and its name is free."""
    row = await lock_automation(tx, workspace_id, automation_id, archived=True)
    if row["state"] != "archived":
        await set_state(tx, workspace_id, automation_id, "archived")
    return "archived"


async def restore(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, *, recovering: bool = False
) -> AutomationStatus:
    """Restore an archived automation, paused, if its name is still free.

    Only the recipe installer restores what was uninstalled; it passes ``recovering``.
    """
    await lock_names(tx, workspace_id)
    row = await lock_automation(tx, workspace_id, automation_id, archived=True)
    if row["state"] != "archived":
        state: AutomationStatus = row["state"]
        return state
    if not recovering:
        await check_not_uninstalled(tx, workspace_id, automation_id)
    await check_name(tx, workspace_id, row["name"], automation_id)
    reason = await pause_reason(tx, workspace_id, automation_id, row["version"])
    await set_state(tx, workspace_id, automation_id, "paused", reason)
    return "paused"


async def acknowledge(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """Acknowledge its failures: the count of consecutive failures restarts, and its alerts are
    marked read. This does not activate it."""
    row = await tx.fetchrow(_ACKNOWLEDGE, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    await mark_read_about(tx, workspace_id, automation_id)
    state: AutomationStatus = row["state"]
    return state
