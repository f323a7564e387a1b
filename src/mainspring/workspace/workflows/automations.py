"""A workflow's automations: created from templates, attached, activated and paused together.

Automations that were active when the workflow was paused are recorded and resumed with it; manually
paused ones stay paused. One that cannot be activated (missing consent, secret or owner, or another
paused workflow) is reported with the reason and retried on the next resume.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol
from uuid import UUID

from mainspring.contracts.display_text import clean_name
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    InternalError,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.definition.validate import validate
from mainspring.workspace import schedules
from mainspring.workspace.automation_states import activate, archive, pause
from mainspring.workspace.automations import (
    create,
    find_automation_ids,
    lock_automations,
    lock_names,
    read_grants,
)
from mainspring.workspace.consents import agree_or_ask
from mainspring.workspace.schedules import WaitingSchedule
from mainspring.workspace.workflows.templates import build_definition
from mainspring.workspace.workflows.validation import refuse

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.workspace.workflows.repository import Workflow

_MOST_TRIED: Final = 1_000
_AT_REST: Final = {"draft": "a draft", "paused": "paused", "archived": "archived"}

_TIE = """
    INSERT INTO workflow_automations
        (workspace_id, workflow_id, automation_id, template, resumes)
    VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING
"""
_UNTIE = """
    DELETE FROM workflow_automations
    WHERE workspace_id = $1 AND workflow_id = $2 AND automation_id = $3 RETURNING automation_id
"""
_RESUMES = """
    UPDATE workflow_automations SET resumes = $4
    WHERE workspace_id = $1 AND workflow_id = $2 AND automation_id = $3
"""
_FOLLOW = """
    UPDATE workflow_automations w SET resumes = true FROM automations a
    WHERE w.workspace_id = $1 AND w.workflow_id = $2 AND w.automation_id = ANY($3::uuid[])
        AND a.workspace_id = w.workspace_id AND a.id = w.automation_id
        AND a.state = 'paused' AND a.acknowledged_at IS NULL
"""
_TIED = """
    SELECT w.automation_id, w.template, w.resumes, a.name, a.state
    FROM workflow_automations w JOIN automations a
        ON a.workspace_id = w.workspace_id AND a.id = w.automation_id
    WHERE w.workspace_id = $1 AND w.workflow_id = $2 ORDER BY w.automation_id
"""
_THERE = """
    SELECT id, state FROM automations WHERE workspace_id = $1 AND id = ANY($2::uuid[])
"""
_ELSEWHERE = """
    SELECT DISTINCT automation_id FROM workflow_automations
    WHERE workspace_id = $1 AND workflow_id <> $2 AND automation_id = ANY($3::uuid[])
"""
# Also recorded by another workflow, which may have waited for this one.
_GOES_ON = """
    SELECT automation_id FROM workflow_automations
    WHERE workspace_id = $1 AND automation_id = ANY($2::uuid[]) AND resumes
"""
_HOLDERS = """
    SELECT t.automation_id, w.title, w.status FROM workflow_automations t JOIN workflows w
        ON w.workspace_id = t.workspace_id AND w.id = t.workflow_id
    WHERE t.workspace_id = $1 AND t.workflow_id <> $2 AND t.automation_id = ANY($3::uuid[])
        AND w.status <> 'active' ORDER BY w.id
"""
_DOCUMENT = """
    SELECT d.document, v.grants FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.id = $2
"""


class DefinitionValidator(Protocol):
    """Holds the definition validator, which is set once the application is built."""

    @property
    def limits(self) -> Limits: ...

    async def load_vocabulary(self, workspace_id: UUID, document: Any) -> Vocabulary: ...

    async def find_warnings(
        self,
        workspace_id: UUID,
        document: Mapping[str, Any],
        grants: Sequence[Grant],
        automation_id: UUID,
    ) -> tuple[Finding, ...]: ...


@dataclass(frozen=True, slots=True)
class WorkflowDependencies:
    """The dependencies of workflows."""

    validator: DefinitionValidator
    # Records fire times that schedules no longer wait for.
    record: Callable[[Transaction, Sequence[WaitingSchedule], Limits], Awaitable[None]]

    @property
    def limits(self) -> Limits:
        return self.validator.limits


async def list_attached(tx: Transaction, workspace_id: UUID, workflow_id: UUID) -> list[Any]:
    return await tx.fetch(_TIED, workspace_id, workflow_id)


async def make_from_templates(
    tx: Transaction,
    dependencies: WorkflowDependencies,
    workspace_id: UUID,
    actor: Actor,
    workflow: Workflow,
    templates: Sequence[str],
    timezone: str,
) -> None:
    """Create a paused automation for each template; it follows the workflow.

    Existing ones of the workflow are not created again.
    """
    assert workflow.board_id is not None
    rows = await list_attached(tx, workspace_id, workflow.id)
    known = {row["template"] for row in rows if row["state"] != "archived"}
    for template in templates:
        if template in known:
            continue
        await lock_names(tx, workspace_id)
        document = build_definition(
            template, workflow.title, str(workflow.id), str(workflow.board_id), timezone
        )
        document["name"] = await _choose_free_name(tx, workspace_id, clean_name(document["name"]))
        spoken = await dependencies.validator.load_vocabulary(workspace_id, document)
        report = await asyncio.to_thread(validate, document, spoken, dependencies.limits)
        refuse([_attribute_to_zone(one) for one in report.findings], "bad_schedule")
        saved = await create(
            tx, workspace_id, report.accepted(), report.grants, actor.id, report.traits
        )
        await agree_or_ask(tx, workspace_id, saved.automation_id, actor)
        await tx.execute(_TIE, workspace_id, workflow.id, saved.automation_id, template, True)


async def attach(
    tx: Transaction,
    dependencies: WorkflowDependencies,
    workspace_id: UUID,
    workflow: Workflow,
    automations: Sequence[UUID],
    at: str = "/automation_ids/{}",
) -> None:
    """Attach existing automations; a paused workflow pauses them."""
    await lock_automations(tx, workspace_id, automations)
    rows = await tx.fetch(_THERE, workspace_id, list(automations))
    states = {row["id"]: row["state"] for row in rows}
    refuse(
        [
            Finding(
                at.format(n),
                f"There is no automation {one} that could be attached.",
                "no_automation",
                "One that is archived has to be restored first.",
            )
            for n, one in enumerate(automations)
            if states.get(one, "archived") == "archived"
        ],
        "no_automation",
    )
    for one in automations:
        await tx.execute(_TIE, workspace_id, workflow.id, one, None, False)
    if workflow.status != "active":
        await pause_attached(tx, dependencies, workspace_id, workflow.id, only=automations)


async def mark_to_activate(
    tx: Transaction, workspace_id: UUID, workflow_id: UUID, automations: Sequence[UUID]
) -> None:
    """Mark automations that were never active to be activated with the workflow."""
    await tx.execute(_FOLLOW, workspace_id, workflow_id, list(automations))


async def detach(
    tx: Transaction, workspace_id: UUID, workflow_id: UUID, automation_id: UUID
) -> bool:
    """Detach an automation without changing it; return whether it was attached."""
    row = await tx.fetchrow(_UNTIE, workspace_id, workflow_id, automation_id)
    return row is not None


async def pause_attached(
    tx: Transaction,
    dependencies: WorkflowDependencies,
    workspace_id: UUID,
    workflow_id: UUID,
    only: Collection[UUID] | None = None,
) -> list[UUID]:
    """Pause active automations and record that they were active."""
    paused = []
    async with _lock_attached(tx, dependencies, workspace_id, workflow_id) as rows:
        for row in rows:
            one = row["automation_id"]
            if row["state"] == "active" and (only is None or one in only):
                await pause(tx, workspace_id, one)
                await tx.execute(_RESUMES, workspace_id, workflow_id, one, True)
                paused.append(one)
    return paused


async def resume(
    tx: Transaction, dependencies: WorkflowDependencies, workspace_id: UUID, workflow_id: UUID
) -> tuple[list[UUID], list[dict[str, str]]]:
    """Activate the workflow's automations; return the activated ones, and the others with
    reasons."""
    going: list[UUID] = []
    waiting = []
    async with _lock_attached(tx, dependencies, workspace_id, workflow_id) as rows:
        ids = [row["automation_id"] for row in rows]
        goes_on = {one["automation_id"] for one in await tx.fetch(_GOES_ON, workspace_id, ids)}
        held = await _find_held_by_others(tx, workspace_id, workflow_id, ids)
        for row in rows:
            if row["automation_id"] not in goes_on or row["state"] == "archived":
                continue
            problem = held.get(row["automation_id"])
            if problem is None:
                problem = await _start(tx, dependencies, workspace_id, row["automation_id"])
            if problem is None:
                await tx.execute(_RESUMES, workspace_id, workflow_id, row["automation_id"], False)
                going.append(row["automation_id"])
            else:
                waiting.append(_format_attach_problem(row, problem))
    return going, waiting


async def _find_held_by_others(
    tx: Transaction, workspace_id: UUID, workflow_id: UUID, automations: Sequence[UUID]
) -> dict[UUID, Problem]:
    """Find automations that another paused workflow holds, with the remedy."""
    rows = await tx.fetch(_HOLDERS, workspace_id, workflow_id, list(automations))
    return {
        row["automation_id"]: Conflict(
            f"The workflow {row['title']!r}, which also contains it, is {_AT_REST[row['status']]}.",
            code="held_by_workflow",
            suggestion="Set that workflow going too, or detach the automation from it.",
        )
        for row in reversed(rows)
    }


async def _start(
    tx: Transaction, dependencies: WorkflowDependencies, workspace_id: UUID, automation_id: UUID
) -> Problem | None:
    """Activate one, or return the reason; rejected before anything is written."""
    kept = await tx.fetchrow(_DOCUMENT, workspace_id, automation_id)
    spoken = await dependencies.validator.load_vocabulary(workspace_id, kept["document"])
    grants = read_grants(kept["grants"])
    missing = await dependencies.validator.find_warnings(
        workspace_id, kept["document"], grants, automation_id
    )
    try:
        await activate(tx, workspace_id, automation_id, spoken, dependencies.limits, missing)
    except (Conflict, PermissionDenied, NotFound) as problem:
        return problem
    return None


def _format_attach_problem(row: Any, problem: Problem) -> dict[str, str]:
    return {
        "automation_id": str(row["automation_id"]),
        "name": row["name"],
        "code": problem.code,
        "detail": problem.detail,
    }


async def archive_all(
    tx: Transaction, dependencies: WorkflowDependencies, workspace_id: UUID, workflow_id: UUID
) -> tuple[list[str], list[str]]:
    """Archive a workflow's automations, except those that another workflow uses."""
    async with _lock_attached(tx, dependencies, workspace_id, workflow_id) as rows:
        ids = [row["automation_id"] for row in rows]
        others = await tx.fetch(_ELSEWHERE, workspace_id, workflow_id, ids)
        kept = {row["automation_id"] for row in others}
        for one in ids:
            if one not in kept:
                await archive(tx, workspace_id, one)
    return [str(one) for one in ids if one not in kept], [str(one) for one in ids if one in kept]


@asynccontextmanager
async def _lock_attached(
    tx: Transaction, dependencies: WorkflowDependencies, workspace_id: UUID, workflow_id: UUID
) -> AsyncIterator[list[Any]]:
    """Lock a workflow's automations, and record the fire times they waited for."""
    ids = [row["automation_id"] for row in await list_attached(tx, workspace_id, workflow_id)]
    await lock_automations(tx, workspace_id, ids)
    before = await schedules.list_waiting_schedules(tx, [(workspace_id, one) for one in ids])
    yield await list_attached(tx, workspace_id, workflow_id)
    await dependencies.record(tx, before, dependencies.limits)


async def _choose_free_name(tx: Transaction, workspace_id: UUID, name: str) -> str:
    """Return the name, with the first free numeric suffix if needed; the names are locked."""
    for number in range(1, _MOST_TRIED):
        tried = name if number == 1 else f"{name} ({number})"
        if not await find_automation_ids(tx, workspace_id, [tried]):
            return tried
    raise InternalError("All names of this kind are taken.", retryable=False)


def _attribute_to_zone(finding: Finding) -> Finding:
    """Attribute schedule problems to the given time zone."""
    if "timezone" not in finding.pointer:
        return finding
    return Finding("/timezone", finding.detail, finding.code, finding.suggestion)
