"""Workflows created by recipes: initially drafts, with automations that wait for consent.

Roster, status and current KPI values are local; an upgrade changes charter, KPIs and deadlines and
keeps those. Automations attached by people stay attached.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.definition.authority import find_additions, read_authority
from mainspring.definition.json_schema import compile_schema
from mainspring.definition.validate import ValidationReport, validate
from mainspring.recipes.entities.automations import AutomationHandler
from mainspring.recipes.kinds import EntityKind, RecipeEntity
from mainspring.workspace.automations import read_grants
from mainspring.workspace.boards.schemas import schema_with_examples
from mainspring.workspace.consents import ask_consent
from mainspring.workspace.workflows import automations, management, roster
from mainspring.workspace.workflows import status as switching
from mainspring.workspace.workflows.repository import Workflow, find_workflow
from mainspring.workspace.workflows.schemas import FIELDS
from mainspring.workspace.workflows.templates import TEMPLATES

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.consent_rows import ConsentOrigin
    from mainspring.workspace.workflows.automations import WorkflowDependencies

EntityContent = Mapping[str, Any]

_TAKEN: Final = ("title", "charter", "kpis", "deadlines", "roster")
_SHAPE: Final = schema_with_examples({name: FIELDS[name] for name in _TAKEN}, ["title"], [])
_IN_FORCE = """
    SELECT a.version, v.grants, d.document FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    JOIN definitions d ON d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.id = $2
"""


@dataclass(frozen=True, slots=True)
class _WorkflowJudge:
    """Validates a workflow's automations with its workspace's vocabulary."""

    dependencies: WorkflowDependencies

    async def validate(
        self, workspace_id: UUID, document: Any, automation_id: UUID | None = None
    ) -> ValidationReport:
        del automation_id
        words = await self.dependencies.validator.load_vocabulary(workspace_id, document)
        return await asyncio.to_thread(validate, document, words, self.dependencies.limits)


class WorkflowHandler:
    """Creates, reads, rebuilds and archives workflows for the codex."""

    entity_kind: EntityKind = "workflow"

    def __init__(self, dependencies: WorkflowDependencies) -> None:
        self._dependencies = dependencies
        self._shape = compile_schema(_SHAPE, dependencies.limits)
        self._automations = AutomationHandler(_WorkflowJudge(dependencies), dependencies.limits)

    async def create(self, ctx: CallContext, content: EntityContent) -> RecipeEntity:
        """Create a draft, with its own board where its templates need one and none is named."""
        given = self._build_arguments(content)
        board = content.get("board")
        given["make_board"] = bool(given["templates"])
        if board is not None:
            given["board_id"] = board
        workflow_id = await management.make(ctx, self._dependencies, given)
        return await self._ask_consent(ctx, workflow_id, given, "install", frozenset())

    async def read(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity | None:
        try:
            found = await find_workflow(ctx.tx, ctx.actor.workspace_id, entity_id)
        except NotFound:
            return None
        return await self._made(ctx, found)

    async def rebuild(
        self, ctx: CallContext, entity_id: UUID, content: EntityContent
    ) -> RecipeEntity:
        """Update charter, KPIs and deadlines; new automations wait for consent."""
        given = self._build_arguments(content)
        del given["roster"]
        space = ctx.actor.workspace_id
        rows = await automations.list_attached(ctx.tx, space, entity_id)
        known = [row["automation_id"] for row in rows]
        own = [str(row["automation_id"]) for row in rows if row["template"] is None]
        given["automation_ids"] = list(dict.fromkeys([*own, *given["automation_ids"]]))
        if content.get("board") is not None:
            given["board_id"] = content["board"]
        given["workflow_id"] = str(entity_id)
        await management.update(ctx, self._dependencies, given, starts=False)
        return await self._ask_consent(ctx, entity_id, given, "upgrade", frozenset(known))

    async def archive(self, ctx: CallContext, entity_id: UUID) -> None:
        """Archive its automations and pause attached ones; nothing is deleted."""
        if await self.read(ctx, entity_id) is None:
            return
        await self._switch(ctx, entity_id, "archived")
        for row in await automations.list_attached(ctx.tx, ctx.actor.workspace_id, entity_id):
            if row["template"] is not None and row["state"] != "archived":
                await self._automations.archive(ctx, row["automation_id"])

    async def restore(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity:
        """Restore it, paused, with its roster and automations."""
        await self._switch(ctx, entity_id, "paused")
        space = ctx.actor.workspace_id
        rows = await automations.list_attached(ctx.tx, space, entity_id)
        there = {row["template"] for row in rows if row["state"] != "archived"}
        for row in reversed(rows):
            # Of several archived automations of one template, the newest is restored.
            if row["template"] is not None and row["template"] not in there:
                there.add(row["template"])
                await self._automations.restore(ctx, row["automation_id"])
        return await self._made(ctx, await find_workflow(ctx.tx, space, entity_id))

    async def _switch(self, ctx: CallContext, entity_id: UUID, status: str) -> None:
        found = await find_workflow(ctx.tx, ctx.actor.workspace_id, entity_id, hold=True)
        await roster.check_may_change(ctx, found)
        await switching.switch(ctx, self._dependencies, found, status)

    def _build_arguments(self, content: EntityContent) -> dict[str, Any]:
        """The arguments for create_workflow."""
        given = {name: content[name] for name in _TAKEN if name in content}
        found = [*self._shape.findings(given, "/template"), *_find_automation_problems(content)]
        if found:
            raise Invalid(
                f"The workflow of this recipe cannot be made: {found[0].detail}",
                code="invalid_template",
                findings=found,
            )
        # Current KPI values are not imported.
        given["kpis"] = [_drop_current(one) for one in content.get("kpis", [])]
        given.setdefault("charter", "")
        given.setdefault("deadlines", [])
        given.setdefault("roster", [])
        named = [str(one) for one in content.get("automations", [])]
        given["templates"] = [one for one in named if one in TEMPLATES]
        given["automation_ids"] = [one for one in named if one not in TEMPLATES]
        return given

    async def _ask_consent(
        self,
        ctx: CallContext,
        workflow_id: UUID,
        arguments: Mapping[str, Any],
        origin: ConsentOrigin,
        known: frozenset[UUID],
    ) -> RecipeEntity:
        """Its automations wait for consent and then follow the workflow."""
        space = ctx.actor.workspace_id
        wanted = [UUID(one) for one in arguments["automation_ids"]]
        new = [one for one in wanted if one not in known]
        await automations.mark_to_activate(ctx.tx, space, workflow_id, new)
        for row in await automations.list_attached(ctx.tx, space, workflow_id):
            if row["template"] is not None and row["automation_id"] not in known:
                await self._ask(ctx, row["automation_id"], origin)
        return await self._made(ctx, await find_workflow(ctx.tx, space, workflow_id))

    async def _ask(self, ctx: CallContext, automation_id: UUID, origin: ConsentOrigin) -> None:
        space = ctx.actor.workspace_id
        row = await ctx.tx.fetchrow(_IN_FORCE, space, automation_id)
        grants = read_grants(row["grants"])
        after = read_authority(row["document"], grants, self._dependencies.limits)
        new = find_additions(None, after)
        await ask_consent(ctx.tx, space, automation_id, row["version"], origin, new, ctx.actor)

    async def _made(self, ctx: CallContext, found: Workflow) -> RecipeEntity:
        rows = await automations.list_attached(ctx.tx, ctx.actor.workspace_id, found.id)
        board = None if found.made_board or found.board_id is None else str(found.board_id)
        content = normalize_workflow(
            {
                "title": found.title,
                "charter": found.charter,
                "kpis": found.kpis,
                "deadlines": found.deadlines,
                "board": board,
                "automations": [row["template"] or str(row["automation_id"]) for row in rows],
            }
        )
        told = {
            "workflow_id": str(found.id),
            "status": found.status,
            "board_id": None if found.board_id is None else str(found.board_id),
            "automation_ids": [str(row["automation_id"]) for row in rows],
        }
        return RecipeEntity(found.id, found.title, content, told)


def normalize_workflow(content: EntityContent) -> dict[str, Any]:
    """Normalize a template to what would be read back, for comparison."""
    board = content.get("board")
    return {
        "title": content["title"],
        "charter": content.get("charter", ""),
        "kpis": [_drop_current(one) for one in content.get("kpis", [])],
        "deadlines": list(content.get("deadlines", [])),
        "board": None if board is None else str(board),
        "automations": sorted({str(one) for one in content.get("automations", [])}),
    }


def _drop_current(kpi: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kpi.items() if name != "current"}


def _find_automation_problems(content: EntityContent) -> Sequence[Finding]:
    """Find entries that are neither a template nor an existing automation's id."""
    known = ", ".join(TEMPLATES)
    named = [("/template/board", content.get("board"))]
    named += [
        (f"/template/automations/{n}", one)
        for n, one in enumerate(content.get("automations", []))
        if one not in TEMPLATES
    ]
    return [
        Finding(
            at,
            f"{str(one)[:100]!r} is not a dependency of the recipe.",
            "unknown_reference",
            f"Name a dependency by its slug, or one of {known}.",
        )
        for at, one in named
        if one is not None and not _is_id(one)
    ]


def _is_id(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True
