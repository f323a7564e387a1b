"""What is asked before anything is made: the playbook, what there is, and who writes there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.authoring.callers import author_of
from mainspring.authoring.kinds import TriggerSelector
from mainspring.authoring.overlaps import (
    MOST_MATCHES,
    ExistingAutomation,
    OverlapQuery,
    alike,
    check_boards,
    living,
)
from mainspring.authoring.playbook import playbook
from mainspring.authoring.similarity import Measure
from mainspring.authoring.studio import AuthoringService
from mainspring.workspace.overview import list_automations
from mainspring.workspace.versions import compute_version_id

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext

MOST_LISTED: Final = 200
_USUAL_LISTED: Final = 50


def playbook_handler(studio: AuthoringService) -> CapabilityHandler:
    async def lead(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        hint = (given.get("purpose_hint") or "").strip() or None
        space = ctx.actor.workspace_id
        found: list[ExistingAutomation] = []
        by: Measure | None = None
        if hint is not None:
            async with studio.inside(space).acquire() as connection:
                others = await living(connection, space, studio.natives)
            found, by = await alike(studio.likeness, space, hint, others)
        similar = {
            "similarity_by": by,
            "automations": [
                {
                    "automation_id": str(one.id),
                    "name": one.name,
                    "description": one.description,
                    "state": one.state,
                    "admin_url": studio.admin_url(one.id),
                }
                for one in found
            ],
        }
        return {"purpose_hint": hint, "playbook": playbook(hint, similar)}

    return lead


def list_handler(studio: AuthoringService) -> CapabilityHandler:
    async def listed(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, most = ctx.actor.workspace_id, int(given.get("limit", _USUAL_LISTED))
        after = given.get("after")
        async with studio.inside(space).acquire() as connection:
            found = await list_automations(
                connection,
                space,
                state=given.get("state"),
                search=given.get("name"),
                after=None if after is None else UUID(after),
                most=most + 1,
            )
        shown = [_describe_automation(one) for one in found[:most]]
        more = len(found) > most
        return {"automations": shown, "next": shown[-1]["automation_id"] if more else None}

    return listed


def _describe_automation(one: Mapping[str, Any]) -> dict[str, Any]:
    last = one["last_run"]
    return {
        "automation_id": str(one["id"]),
        "name": one["name"],
        "state": one["state"],
        "version": one["version"],
        "version_id": str(compute_version_id(one["id"], one["version"])),
        "goal": one["goal"],
        "last_run_at": None if last is None else last["at"].isoformat(),
    }


def overlap_handler(studio: AuthoringService) -> CapabilityHandler:
    async def overlaps(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space = ctx.actor.workspace_id
        kind, target = given.get("trigger_kind"), given.get("dedupe_target_field")
        wanted = OverlapQuery(
            frozenset(str(UUID(board)) for board in given["writes_to_boards"]),
            target,
            None if kind is None else (TriggerSelector(kind),),
        )
        async with studio.inside(space).acquire() as connection:
            await check_boards(connection, space, given["writes_to_boards"], writing=False)
            caller = await author_of(ctx, connection)
            others = await living(connection, space, studio.natives)
        same = [one for one in others if wanted.shares_board(one) and _narrow(one, kind, target)]
        intent = given.get("intent")
        known = {one.id for one in same}
        rest = [one for one in others if one.id not in known]
        like, by = await alike(studio.likeness, space, intent, rest)
        me = caller.member_id
        matches = [one.told(me, strict=wanted.strictly(one)) for one in same]
        matches.sort(key=lambda match: not match["strict_overlap"])
        matches += [one.told(me, strict=False) for one in like]
        return {
            "count": len(matches),
            "strict_count": sum(match["strict_overlap"] for match in matches),
            "matches": matches[:MOST_MATCHES],
            "similarity_by": by if intent else None,
        }

    return overlaps


def _narrow(one: ExistingAutomation, kind: str | None, target: str | None) -> bool:
    """Whether it is among those that were asked for."""
    if target is not None and one.target != target:
        return False
    return kind is None or any(wake.kind == kind for wake in one.wakes)
