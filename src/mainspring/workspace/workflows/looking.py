"""Workflows read: one, with how it stands now where that is asked for, or all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mainspring.contracts.errors import Finding, Invalid
from mainspring.workspace.workflows.keeping import (
    Workflow,
    describe_workflows,
    find_workflow,
    list_all,
)
from mainspring.workspace.workflows.standing import build_status
from mainspring.workspace.workflows.tasks import list_done_tasks, open_tasks

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

Arguments = Mapping[str, Any]
DEFAULT_LISTED = 50


async def get(ctx: CallContext, given: Arguments) -> dict[str, Any]:
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(given["workflow_id"]))
    (told,) = await describe_workflows(ctx.tx, space, [workflow])
    if given.get("standing", False):
        zone = read_zone(given.get("timezone", "UTC"))
        told["standing"] = await _load_status(ctx, workflow, zone)
    return told


def read_zone(name: str) -> ZoneInfo:
    """The time zone in which days are counted."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        detail = f"There is no time zone {name[:100]!r}."
        way = "Name one such as Europe/Berlin, or leave it out for UTC."
        raise Invalid(
            detail,
            code="unknown_timezone",
            findings=[Finding("/timezone", detail, "unknown_timezone", way)],
            suggestion=way,
        ) from None


async def _load_status(ctx: CallContext, workflow: Workflow, zone: ZoneInfo) -> dict[str, Any]:
    space, now = ctx.actor.workspace_id, ctx.clock.now()
    due, done = [], []
    if workflow.board_id is not None:
        due = await open_tasks(ctx.tx, space, workflow.board_id, now)
        done = await list_done_tasks(ctx.tx, space, workflow.board_id, now)
    return build_status(
        str(workflow.id),
        workflow.kpis,
        workflow.deadlines,
        workflow.created_at,
        now,
        due,
        done,
        zone,
    )


async def list_workflows_handler(ctx: CallContext, given: Arguments) -> dict[str, Any]:
    space, most = ctx.actor.workspace_id, int(given.get("limit", DEFAULT_LISTED))
    after = given.get("after")
    found = await list_all(
        ctx.tx, space, given.get("status"), None if after is None else UUID(after), most + 1
    )
    told = await describe_workflows(ctx.tx, space, found[:most])
    return {"workflows": told, "next": told[-1]["id"] if len(found) > most else None}
