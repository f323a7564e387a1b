"""Automations created by recipes: initially paused, and never beyond their consent.

Integrations are automations too: they are compiled to definitions before they get here. State,
cursors and secrets belong to the install and are not touched by an upgrade.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from mainspring.contracts.display_text import choose_free_name
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import AuthorityAddition
from mainspring.definition.validate import ValidationReport
from mainspring.recipes.kinds import EntityKind, RecipeEntity
from mainspring.triggers.trigger_changes import record_overtaken
from mainspring.workspace import schedules
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automation_states import archive, restore
from mainspring.workspace.automations import (
    SavedAutomation,
    create,
    lock_automation,
    lock_automations,
    lock_names,
    update,
)
from mainspring.workspace.consents import (
    AgreedAuthority,
    ask_consent,
    extend_agreement,
    find_consent_additions,
    load_agreed_authority,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

EntityContent = Mapping[str, Any]

_TAKEN = """
    SELECT name FROM automations
    WHERE workspace_id = $1 AND state <> 'archived' AND id <> $2 AND starts_with(name, $3)
"""
_THERE = "SELECT id FROM automations WHERE workspace_id = $1 AND id = $2"
_NOBODY = UUID(int=0)


class AutomationJudge(Protocol):
    """Validates a definition with its workspace's vocabulary."""

    async def validate(
        self, workspace_id: UUID, document: Any, automation_id: UUID | None = None
    ) -> ValidationReport: ...


class AutomationHandler:
    """Creates, reads, rebuilds and archives automations for the codex."""

    entity_kind: EntityKind = "automation"

    def __init__(self, judge: AutomationJudge, limits: Limits) -> None:
        self._validator = judge
        self._limits = limits

    async def create(self, ctx: CallContext, content: EntityContent) -> RecipeEntity:
        """Create a paused automation that waits for consent."""
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_names(tx, space)
        document = dict(content["definition"])
        document["name"] = await _choose_name(ctx, str(document["name"]), _NOBODY)
        report = await self._validator.validate(space, document)
        saved = await create(
            tx, space, report.accepted(), report.grants, ctx.actor.id, report.traits
        )
        asked = await _find_report_additions(AgreedAuthority(None, None), report)
        await ask_consent(
            tx, space, saved.automation_id, saved.version, "install", asked, ctx.actor
        )
        return await self._made(ctx, saved.automation_id, report, asked, saved)

    async def read(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity | None:
        space, tx = ctx.actor.workspace_id, ctx.tx
        if await tx.fetchrow(_THERE, space, entity_id) is None:
            return None
        found = await read_automation(tx, space, entity_id)
        told = {"automation_id": str(entity_id), "state": found["state"]}
        return RecipeEntity(entity_id, found["name"], {"definition": found["definition"]}, told)

    async def rebuild(
        self, ctx: CallContext, entity_id: UUID, content: EntityContent
    ) -> RecipeEntity:
        """Save the next version; added permissions wait for consent."""
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_names(tx, space)
        await lock_automations(tx, space, [entity_id])
        agreed = await load_agreed_authority(tx, space, entity_id)
        report = await self._validator.validate(space, content["definition"], entity_id)
        report.accepted()
        asked = await _find_report_additions(agreed, report)
        before = await schedules.list_waiting_schedules(tx, [(space, entity_id)])
        saved = await update(
            tx,
            space,
            entity_id,
            report.accepted(),
            report.grants,
            ctx.actor.id,
            traits=report.traits,
        )
        await self._update_consent(ctx, saved, agreed, asked)
        await record_overtaken(tx, before, self._limits)
        return await self._made(ctx, entity_id, report, asked, saved)

    async def preview_consent(
        self, ctx: CallContext, entity_id: UUID, content: EntityContent
    ) -> tuple[AuthorityAddition, ...]:
        """Return what a rebuild would ask consent for."""
        space = ctx.actor.workspace_id
        report = await self._validator.validate(space, content["definition"], entity_id)
        report.accepted()
        return await _find_report_additions(
            await load_agreed_authority(ctx.tx, space, entity_id), report
        )

    async def normalize(
        self, ctx: CallContext, content: EntityContent, entity_id: UUID | None = None
    ) -> dict[str, Any]:
        """Normalize a content to what would be read back, for comparison."""
        space = ctx.actor.workspace_id
        report = await self._validator.validate(space, content["definition"], entity_id)
        return {"definition": report.accepted().as_dict()}

    async def archive(self, ctx: CallContext, entity_id: UUID) -> None:
        """Archive it: nothing starts it, and pending fire times are recorded as missed."""
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_names(tx, space)
        await lock_automations(tx, space, [entity_id])
        before = await schedules.list_waiting_schedules(tx, [(space, entity_id)])
        await archive(tx, space, entity_id)
        await record_overtaken(tx, before, self._limits)

    async def restore(self, ctx: CallContext, entity_id: UUID) -> RecipeEntity:
        """Restore it, paused; with a numeric suffix when its name is in use."""
        space, tx = ctx.actor.workspace_id, ctx.tx
        await lock_names(tx, space)
        row = await lock_automation(tx, space, entity_id, archived=True)
        name = await _choose_name(ctx, row["name"], entity_id)
        result: dict[str, Any] = {"automation_id": str(entity_id), "state": "paused"}
        if name != row["name"]:
            result["renamed_from"] = row["name"]
            await self._rename(ctx, entity_id, name)
        await restore(tx, space, entity_id, recovering=True)
        found = await read_automation(tx, space, entity_id)
        return RecipeEntity(entity_id, name, {"definition": found["definition"]}, result)

    async def _rename(self, ctx: CallContext, entity_id: UUID, name: str) -> None:
        space, tx = ctx.actor.workspace_id, ctx.tx
        found = await read_automation(tx, space, entity_id)
        document = {**found["definition"], "name": name}
        agreed = await load_agreed_authority(tx, space, entity_id)
        report = await self._validator.validate(space, document, entity_id)
        # A pattern may match more than it did at the time of consent.
        asked = await _find_report_additions(agreed, report)
        saved = await update(
            tx,
            space,
            entity_id,
            report.accepted(),
            report.grants,
            ctx.actor.id,
            archived=True,
            traits=report.traits,
        )
        await self._update_consent(ctx, saved, agreed, asked)

    async def _update_consent(
        self,
        ctx: CallContext,
        saved: SavedAutomation,
        agreed: AgreedAuthority,
        asked: tuple[AuthorityAddition, ...],
    ) -> None:
        """Extend the consent to a version that adds nothing; otherwise ask."""
        space, tx, one = ctx.actor.workspace_id, ctx.tx, saved.automation_id
        if asked:
            await ask_consent(
                tx, space, one, saved.version, "upgrade", asked, ctx.actor, agreed=agreed
            )
        else:
            await extend_agreement(tx, space, one)

    async def _made(
        self,
        ctx: CallContext,
        entity_id: UUID,
        report: ValidationReport,
        asked: tuple[AuthorityAddition, ...],
        saved: SavedAutomation,
    ) -> RecipeEntity:
        found = await read_automation(ctx.tx, ctx.actor.workspace_id, entity_id)
        result: dict[str, Any] = {
            "automation_id": str(entity_id),
            "version": saved.version,
            "state": found["state"],
            "asks_for": [one.as_dict() for one in asked],
        }
        warnings = [one.as_dict() for one in (*saved.warnings, *report.warnings)]
        if warnings:
            result["warnings"] = warnings
        return RecipeEntity(entity_id, found["name"], {"definition": found["definition"]}, result)


async def _find_report_additions(
    agreed: AgreedAuthority, report: ValidationReport
) -> tuple[AuthorityAddition, ...]:
    document = report.accepted().as_dict()
    return await find_consent_additions(agreed, document, report.grants, report.traits)


async def _choose_name(ctx: CallContext, name: str, own: UUID) -> str:
    rows = await ctx.tx.fetch(_TAKEN, ctx.actor.workspace_id, own, name[:100])
    return choose_free_name(name, {row["name"] for row in rows})
