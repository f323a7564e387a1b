"""A workflow's status, which applies to all its automations.

Also: attaching automations manually, and archiving or deleting a workflow, which leaves its board
in place unless the caller asks for more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.contracts.event import EventRow, EventType
from mainspring.contracts.ids import generate_id
from mainspring.contracts.outcome import Unchanged
from mainspring.store.events import append_events
from mainspring.workspace.boards.lookup import find_board
from mainspring.workspace.boards.management import archive_handler
from mainspring.workspace.workflows import automations, roster
from mainspring.workspace.workflows.management import describe_workflow
from mainspring.workspace.workflows.repository import (
    change_workflow,
    find_other_workflow_on_board,
    find_workflow,
    remove_workflow,
)
from mainspring.workspace.workflows.validation import STATUSES

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.workflows.automations import WorkflowDependencies
    from mainspring.workspace.workflows.repository import Workflow


# Workflow events, published in the transaction of the change.

STATUS_CHANGED: Final = EventType(
    "workflow.status_changed",
    "A workflow was set going, at rest or aside.",
    {
        "type": "object",
        "required": ["workflow_id", "title", "before", "after", "by"],
        "properties": {
            "workflow_id": {"type": "string", "format": "uuid"},
            "title": {"type": "string"},
            "before": {"enum": list(STATUSES)},
            "after": {"enum": list(STATUSES)},
            "by": {
                "type": "object",
                "required": ["kind", "id"],
                "properties": {
                    "kind": {"enum": ["member", "client", "run"]},
                    "id": {"type": "string", "format": "uuid"},
                },
            },
        },
    },
)
EVENTS: Final = (STATUS_CHANGED,)


async def publish_status_change(ctx: CallContext, workflow: Workflow, after: str) -> None:
    """Publish a status change; one made by a run continues its event chain."""
    run_id = None if ctx.run is None else ctx.run.id
    payload = {
        "workflow_id": str(workflow.id),
        "title": workflow.title,
        "before": workflow.status,
        "after": after,
        "by": {"kind": ctx.actor.kind, "id": str(ctx.actor.id)},
    }
    text = orjson.dumps(payload).decode()
    row = EventRow(
        ctx.actor.workspace_id, generate_id(), STATUS_CHANGED.type, str(workflow.id), text, run_id
    )
    await append_events(ctx.tx, [row])


Arguments = Mapping[str, Any]

_UNINSTALLED = """
    SELECT id FROM recipe_installs
    WHERE workspace_id = $1 AND entity_id = $2 AND uninstalled_at IS NOT NULL
"""


async def set_status(
    ctx: CallContext, dependencies: WorkflowDependencies, arguments: Arguments
) -> dict[str, Any] | Unchanged:
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(arguments["workflow_id"]), hold=True)
    await roster.check_may_change(ctx, workflow)
    await _check_installed(ctx, workflow)
    return await switch(ctx, dependencies, workflow, arguments["status"])


async def switch(
    ctx: CallContext, dependencies: WorkflowDependencies, workflow: Workflow, status: str
) -> dict[str, Any] | Unchanged:
    """Set a locked workflow's status and activate or pause its automations.

    Idempotent: a repeated call does what is left, such as activating after a consent.
    """
    space = ctx.actor.workspace_id
    going: list[UUID] = []
    paused: list[UUID] = []
    waiting: list[dict[str, str]] = []
    if status == "active":
        going, waiting = await automations.resume(ctx.tx, dependencies, space, workflow.id)
    else:
        paused = await automations.pause_attached(ctx.tx, dependencies, space, workflow.id)
    if status != workflow.status:
        await change_workflow(ctx.tx, space, workflow, {"status": status})
        await publish_status_change(ctx, workflow, status)
    answer = {
        "workflow_id": str(workflow.id),
        "before": workflow.status,
        "status": status,
        "activated": [str(one) for one in going],
        "paused": [str(one) for one in paused],
        "waiting": waiting,
    }
    same = status == workflow.status and not going and not paused
    return Unchanged(answer) if same else answer


async def delete(
    ctx: CallContext, dependencies: WorkflowDependencies, arguments: Arguments
) -> dict[str, Any]:
    """Delete a workflow with its automations; these and its board can be restored."""
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(arguments["workflow_id"]), hold=True)
    await roster.check_may_own(ctx, workflow, "deletes it")
    takes_board = bool(arguments.get("delete_board", False)) and workflow.board_id is not None
    if takes_board:
        await _check_own_board(ctx, workflow)
        await archive_handler()(ctx, {"board_id": str(workflow.board_id)})
    archived, kept = await automations.archive_all(ctx.tx, dependencies, space, workflow.id)
    await roster.leave_board(ctx.tx, space, workflow.id)
    await remove_workflow(ctx.tx, space, workflow.id)
    return {
        "workflow_id": str(workflow.id),
        "deleted": True,
        "automations_archived": archived,
        "automations_kept": kept,
        "board_id": None if workflow.board_id is None else str(workflow.board_id),
        "board_archived": takes_board,
    }


async def attach_one(
    ctx: CallContext, dependencies: WorkflowDependencies, arguments: Arguments
) -> dict[str, Any] | Unchanged:
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(arguments["workflow_id"]), hold=True)
    await roster.check_may_change(ctx, workflow)
    wanted = UUID(arguments["automation_id"])
    rows = await automations.list_attached(ctx.tx, space, workflow.id)
    if any(row["automation_id"] == wanted for row in rows):
        return Unchanged(await describe_workflow(ctx, workflow.id))
    await automations.attach(ctx.tx, dependencies, space, workflow, [wanted], "/automation_id")
    return await describe_workflow(ctx, workflow.id)


async def detach_one(ctx: CallContext, arguments: Arguments) -> dict[str, Any]:
    """Detach an automation without changing it."""
    space = ctx.actor.workspace_id
    workflow = await find_workflow(ctx.tx, space, UUID(arguments["workflow_id"]), hold=True)
    await roster.check_may_change(ctx, workflow)
    if not await automations.detach(ctx.tx, space, workflow.id, UUID(arguments["automation_id"])):
        raise NotFound(
            "This automation is not attached to the workflow.",
            code="not_attached",
            suggestion="get_workflow shows which ones are.",
        )
    return await describe_workflow(ctx, workflow.id)


async def _check_installed(ctx: CallContext, workflow: Workflow) -> None:
    """Reject partially restoring an uninstalled recipe."""
    if await ctx.tx.fetchrow(_UNINSTALLED, ctx.actor.workspace_id, workflow.id) is not None:
        raise Conflict(
            f"{workflow.title!r} is uninstalled.",
            code="uninstalled",
            suggestion="Bring it back with recover_recipe first; that is possible for seven days.",
        )


async def _check_own_board(ctx: CallContext, workflow: Workflow) -> None:
    """Reject deleting a board that another workflow uses."""
    assert workflow.board_id is not None
    board = await find_board(ctx, {"board_id": workflow.board_id})
    other = await find_other_workflow_on_board(
        ctx.tx, ctx.actor.workspace_id, board.id, workflow.id
    )
    if other is not None:
        raise Conflict(
            f"The workflow {other!r} works on the board {board.name!r} too.",
            code="board_shared",
            suggestion="Delete the workflow alone; the board stays then.",
        )
