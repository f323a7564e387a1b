"""The inbox: messages for members, from automations and about them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import generate_id, get_lowest_id_at
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.store.batch_delete import delete_in_batches

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database


# A member's decision about something shown to them, such as at a session's start.

DECISIONS: Final = ("approved", "declined", "auto")

_THERE = """
    SELECT EXISTS (SELECT 1 FROM drafts WHERE workspace_id = $1 AND id = $2)
        OR EXISTS (SELECT 1 FROM notifications WHERE workspace_id = $1 AND id = $2)
        OR EXISTS (SELECT 1 FROM approvals WHERE workspace_id = $1 AND id = $2) AS there
"""
_DECIDE = """
    INSERT INTO inbox_decisions (workspace_id, action_id, member_id, decision)
    VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING decision
"""
_DECIDED = """
    SELECT decision FROM inbox_decisions
    WHERE workspace_id = $1 AND action_id = $2 AND member_id = $3
"""
_ALL_DECIDED = """
    SELECT action_id FROM inbox_decisions
    WHERE workspace_id = $1 AND member_id = $2 AND action_id = ANY($3)
"""


async def list_decided(
    tx: Transaction, workspace_id: UUID, member_id: UUID, actions: list[UUID]
) -> set[UUID]:
    """List those of some items that a member has decided."""
    rows = await tx.fetch(_ALL_DECIDED, workspace_id, member_id, actions)
    return {row["action_id"] for row in rows}


async def _acknowledge(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    space, member, action = ctx.actor.workspace_id, ctx.actor.id, UUID(arguments["id"])
    if not (await ctx.tx.fetchrow(_THERE, space, action))["there"]:
        raise NotFound("There is nothing in the inbox with this id.", code="no_inbox_action")
    row = await ctx.tx.fetchrow(_DECIDE, space, action, member, arguments["decision"])
    if row is not None:
        return _answer(action, row["decision"], recorded=True)
    before = await ctx.tx.fetchrow(_DECIDED, space, action, member)
    return Unchanged(_answer(action, before["decision"], recorded=False))


def _answer(action: UUID, decision: str, *, recorded: bool) -> dict[str, Any]:
    return {"ok": True, "id": str(action), "decision": decision, "recorded": recorded}


_ID: Final = "01900000-0000-7000-8000-0000000000d1"
ACK_INBOX_ACTION: Final = Capability(
    id="ack_inbox_action",
    description="Record a person's decision on an inbox prompt\n\n"
    "Take action_id from the HTML marker of the prompt. Each person decides once per "
    "prompt; a repeated call returns the first decision. It sends nothing: use "
    "confirm_action to send a draft.",
    input_schema=build_object_schema(
        {
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "From the HTML marker of the prompt.",
            },
            "decision": {
                "enum": list(DECISIONS),
                "description": "auto: it was shown and needed no decision.",
            },
        },
        ("id", "decision"),
        [{"id": _ID, "decision": "approved"}, {"id": _ID, "decision": "auto"}],
        [
            ({"id": _ID}, "what was decided?"),
            ({"decision": "approved"}, "about what?"),
            ({"id": "the last one", "decision": "approved"}, "an action is named by its id"),
            ({"id": _ID, "decision": "yes"}, "approved, declined or auto"),
        ],
    ),
    output_schema=build_object_schema(
        {
            "ok": {"const": True},
            "id": {"type": "string", "format": "uuid"},
            "decision": {"enum": list(DECISIONS)},
            "recorded": {
                "type": "boolean",
                "description": "false: this person decided before; this is their first decision.",
            },
        },
        ("ok", "id", "decision", "recorded"),
        [{"ok": True, "id": _ID, "decision": "approved", "recorded": True}],
        [({"ok": True}, "about what, and what?")],
    ),
    handler=_acknowledge,
    annotations=Annotations(
        toolset=Toolset.APPROVALS,
        effect=Effect.KEEP,
        transactional=True,
        seconds=0.05,
        audience=Audience.PEOPLE,
        permission=Permission.DECIDE,
    ),
)


# Expiry of messages: read ones after a while; unread ones are kept.

_DELETE = """
    DELETE FROM notifications n USING (
        SELECT m.workspace_id, m.id FROM workspaces w CROSS JOIN LATERAL (
            SELECT workspace_id, id FROM notifications
            WHERE workspace_id = w.workspace_id AND id < $1 AND read_at < $2
              AND (mail_due_at IS NULL OR mailed_at IS NOT NULL)
            ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED
        ) AS m LIMIT $3
    ) AS old
    WHERE n.workspace_id = old.workspace_id AND n.id = old.id
    RETURNING n.id
"""


async def expire_notifications(database: Database, before: datetime) -> int:
    """Delete messages that were created and read before a time."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_DELETE, get_lowest_id_at(before), before, most))

    return await delete_in_batches(database, batch)


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
# Error and warning are the levels of alerts; other messages stay unread.
_READ_ABOUT = """
    UPDATE notifications SET read_at = now()
    WHERE workspace_id = $1 AND automation_id = $2 AND read_at IS NULL
      AND level IN ('warning', 'error')
"""
# Consent requests: about this automation, and about several once none of them waits any more.
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
    description="Leave a message in the inbox\n\nOnly for the people of this workspace.",
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
        toolset=Toolset.APPROVALS,
        effect=Effect.KEEP,
        transactional=True,
        seconds=0.05,
        audience=Audience.RUNS,
    ),
)


async def post_message(
    tx: Transaction,
    workspace_id: UUID,
    *,
    title: str,
    message: str,
    level: str = "info",
    automation_id: UUID | None = None,
    run_id: UUID | None = None,
) -> UUID:
    """Post a message from the application, optionally about an automation and a run."""
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
    """List messages, newest first."""
    rows = await tx.fetch(_LIST, workspace_id, after, unread, most)
    return [dict(row) for row in rows]


async def mark_read(tx: Transaction, workspace_id: UUID, notification_id: UUID) -> dict[str, Any]:
    """Mark a message read; idempotent."""
    row = await tx.fetchrow(_READ, workspace_id, notification_id)
    if row is None:
        raise NotFound("There is no such message.", code="no_message")
    return dict(row)


async def mark_all_read(tx: Transaction, workspace_id: UUID, up_to: UUID | None = None) -> int:
    """Mark all messages read, or all up to one message; return how many.

    With the newest message that a person saw, later ones stay unread.
    """
    return _count(await tx.execute(_READ_ALL, workspace_id, up_to or _LAST))


async def mark_read_about(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> int:
    """Mark an automation's warnings and errors read; return how many."""
    return _count(await tx.execute(_READ_ABOUT, workspace_id, automation_id))


async def mark_consent_read(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> None:
    """Mark the consent requests about an automation read, once answered or withdrawn."""
    await tx.execute(_READ_ASKED, workspace_id, automation_id)


def _count(status: str) -> int:
    return int(status.rpartition(" ")[2])
