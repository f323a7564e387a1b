"""The states of an automation: activate, pause, archive, restore, acknowledge.

Each may be asked for again and then changes nothing. An archived automation has given its
name back and starts nothing; its runs under way finish, its history stays, and it can be
restored.
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
from mainspring.workspace.automation_resources import check_owner_here, check_secrets_there
from mainspring.workspace.automations import (
    AutomationStatus,
    check_name,
    hold,
    hold_names,
    list_triggers,
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


# Missing parts that keep every run of an automation from succeeding, so it is not activated.

# Without these a step that asks a model fails before the model is asked.
_MODELS: Final = frozenset({"no_model", "unknown_model", "unknown_price"})
BLOCKING: Final = (WOULD_FAIL | _MODELS) - {"secret_missing"}
# The second is how the author of a script writes it.
_USUAL_MODEL: Final = ("/execution/model", "/model")
_LLM_COMPLETE: Final = "automation_llm_complete"
# Parts of a step's config that a run may leave unused.
_OPTIONAL: Final = frozenset({"tools", "grants", "steps"})


def filter_blocking_findings(
    document: Mapping[str, Any], findings: Iterable[Finding]
) -> tuple[Finding, ...]:
    """Those of the findings with which no run can succeed."""
    always = _find_unconditional_steps(document)
    return tuple(one for one in findings if one.code in BLOCKING and _is_needed(one, always))


def check_nothing_missing(document: Mapping[str, Any], findings: Iterable[Finding]) -> None:
    """Refuses to activate an automation that can only fail."""
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
# A workflow remembers what it set at rest; whoever switches an automation has decided anew.
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
    """Lets its triggers start runs.

    The definition may be older than this installation, so it is judged once more by what is
    known and allowed today. What waits for a person's consent is not activated by anybody.
    ``missing`` is what ``doubts_here`` found; with some of it no run can succeed.
    """
    row = await hold(tx, workspace_id, automation_id)
    if row["state"] == "active":
        return "active"
    await check_owner_here(tx, workspace_id, row["created_by"])
    await check_agreed(tx, workspace_id, automation_id, row["version"])
    rows = await list_triggers(tx, workspace_id, automation_id)
    document = merge_stored_triggers(row["document"], rows)
    await check_usable(document, automation_id, vocabulary, limits)
    await check_secrets_there(tx, workspace_id, row["created_by"], document, limits)
    check_nothing_missing(document, missing)
    await set_state(tx, workspace_id, automation_id, "active")
    await resume_triggers(tx, workspace_id, automation_id)
    await tx.execute(_FORGET, workspace_id, automation_id)
    return "active"


async def check_usable(
    document: object, automation_id: UUID, vocabulary: Vocabulary, limits: Limits
) -> None:
    """Refuses a stored definition that does not fit this installation any more."""
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
    """Nothing starts it once this is answered; a person still can, by hand."""
    row = await hold(tx, workspace_id, automation_id)
    if row["state"] != "paused":
        await set_state(tx, workspace_id, automation_id, "paused")
    await tx.execute(_FORGET, workspace_id, automation_id)
    return "paused"


async def archive(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> AutomationStatus:
    """Puts it away: nothing starts it, and its name is free."""
    row = await hold(tx, workspace_id, automation_id, archived=True)
    if row["state"] != "archived":
        await set_state(tx, workspace_id, automation_id, "archived")
    return "archived"


async def restore(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, *, recovering: bool = False
) -> AutomationStatus:
    """Brings an archived automation back, paused, if its name is still free.

    What was uninstalled is brought back by the codex alone, which says that it is ``recovering``.
    """
    await hold_names(tx, workspace_id)
    row = await hold(tx, workspace_id, automation_id, archived=True)
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
    """A person knows what went wrong so far: the failures in a row are counted anew, and the
    alerts about it are read. It does not activate.
    """
    row = await tx.fetchrow(_ACKNOWLEDGE, workspace_id, automation_id)
    if row is None:
        raise no_automation_error()
    await mark_read_about(tx, workspace_id, automation_id)
    state: AutomationStatus = row["state"]
    return state
