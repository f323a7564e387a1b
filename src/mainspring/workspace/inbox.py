"""The inbox: messages for the people of a workspace, from its automations and about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_INSERT = """
    INSERT INTO notifications (workspace_id, id, automation_id, run_id, level, title, message)
    VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_COLUMNS = "id, automation_id, run_id, level, title, message, created_at, read_at"
_LIST = f"""
    SELECT {_COLUMNS} FROM notifications
    WHERE workspace_id = $1 AND ($2::uuid IS NULL OR id < $2) AND (NOT $3 OR read_at IS NULL)
    ORDER BY id DESC LIMIT $4
"""
_READ = f"""
    UPDATE notifications SET read_at = coalesce(read_at, now())
    WHERE workspace_id = $1 AND id = $2 RETURNING {_COLUMNS}
"""
_READ_ALL = """
    UPDATE notifications SET read_at = now()
    WHERE workspace_id = $1 AND read_at IS NULL AND id <= $2
"""
# Error and warning are the levels of alerts; what else it had to say stays unread.
_READ_ABOUT = """
    UPDATE notifications SET read_at = now()
    WHERE workspace_id = $1 AND automation_id = $2 AND read_at IS NULL
      AND level IN ('warning', 'error')
"""
# Messages of the house that ask for a consent: about this automation, and about several of them
# once nothing waits any more.
_READ_ASKED = """
    UPDATE notifications SET read_at = now()
    WHERE workspace_id = $1 AND read_at IS NULL AND run_id IS NULL AND level = 'warning'
      AND title LIKE '% for your consent'
      AND (automation_id = $2 OR (automation_id IS NULL AND NOT EXISTS (
          SELECT FROM consents c WHERE c.workspace_id = $1 AND c.status = 'waiting')))
"""

_LAST = UUID(int=2**128 - 1)


async def _post(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    notification_id = generate_id()
    run = ctx.run
    await ctx.tx.execute(
        _INSERT,
        ctx.actor.workspace_id,
        notification_id,
        None if run is None else run.automation_id,
        None if run is None else run.id,
        arguments.get("level", "info"),
        arguments["title"],
        arguments.get("message", ""),
    )
    return {"notification_id": str(notification_id)}


POST_NOTIFICATION = Capability(
    id="inbox.post_notification",
    description="Leave a message in the inbox\n\nFor the people of this workspace only.",
    input_schema={
        "type": "object",
        "required": ["title"],
        "additionalProperties": False,
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 200},
            "message": {"type": "string", "maxLength": 20_000, "default": ""},
            "level": {"enum": ["info", "warning", "error"], "default": "info"},
        },
        "examples": [{"title": "Digest ready", "message": "Five new pages."}],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "a message needs a title"},
            {"value": {"title": "x", "to": "y"}, "reason": "it goes to everyone here"},
        ],
    },
    output_schema={
        "type": "object",
        "required": ["notification_id"],
        "properties": {"notification_id": {"type": "string", "format": "uuid"}},
        "examples": [{"notification_id": "01900000-0000-7000-8000-000000000001"}],
    },
    handler=_post,
    annotations=Annotations(
        effect=Effect.KEEP, transactional=True, seconds=0.05, audience=Audience.RUNS
    ),
)


async def leave_message(
    tx: Transaction,
    workspace_id: UUID,
    *,
    title: str,
    message: str,
    level: str = "info",
    automation_id: UUID | None = None,
    run_id: UUID | None = None,
) -> UUID:
    """A message of the house itself, about an automation and a run where it is about one."""
    made = generate_id()
    await tx.execute(_INSERT, workspace_id, made, automation_id, run_id, level, title, message)
    return made


async def list_notifications(
    tx: Transaction,
    workspace_id: UUID,
    most: int = 50,
    *,
    after: UUID | None = None,
    unread: bool = False,
) -> list[dict[str, Any]]:
    """The newest messages first."""
    rows = await tx.fetch(_LIST, workspace_id, after, unread, most)
    return [dict(row) for row in rows]


async def mark_read(tx: Transaction, workspace_id: UUID, notification_id: UUID) -> dict[str, Any]:
    """Somebody has read a message; reading it again changes nothing."""
    row = await tx.fetchrow(_READ, workspace_id, notification_id)
    if row is None:
        raise NotFound("There is no such message.", code="no_message")
    return dict(row)


async def mark_all_read(tx: Transaction, workspace_id: UUID, up_to: UUID | None = None) -> int:
    """Everything there is has been read, or everything up to one message; answers how many.

    With the newest message that a person saw, one that came meanwhile stays unread.
    """
    return _count(await tx.execute(_READ_ALL, workspace_id, up_to or _LAST))


async def mark_read_about(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> int:
    """The warnings and errors about an automation have been read; answers how many."""
    return _count(await tx.execute(_READ_ABOUT, workspace_id, automation_id))


async def mark_consent_read(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """What was asked about an automation is answered, or not asked any more."""
    await tx.execute(_READ_ASKED, workspace_id, automation_id)


def _count(status: str) -> int:
    return int(status.rpartition(" ")[2])
