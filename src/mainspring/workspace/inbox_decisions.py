"""What somebody decided about something that was shown to them, such as at a session's start.

It is a record and nothing more: whoever approves here has sent nothing. Each member decides
once about each thing, and what they said first stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import NotFound
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

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
    """Those among some things about which a member has decided."""
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
    description="Record what a person decided about an inbox prompt\n\n"
    "The id stands in the HTML marker of the prompt. Once for each person and prompt; asked "
    "again, it answers what was recorded first. It sends nothing: drafts are sent by "
    "confirm_action.",
    input_schema=build_object_schema(
        {
            "id": {
                "type": "string",
                "format": "uuid",
                "description": "The action's id, as it stands in the marker.",
            },
            "decision": {
                "enum": list(DECISIONS),
                "description": "auto: it was shown, and nothing was to be decided.",
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
                "description": "false: this person had decided before, and this is what they said.",
            },
        },
        ("ok", "id", "decision", "recorded"),
        [{"ok": True, "id": _ID, "decision": "approved", "recorded": True}],
        [({"ok": True}, "about what, and what?")],
    ),
    handler=_acknowledge,
    annotations=Annotations(
        effect=Effect.KEEP,
        transactional=True,
        seconds=0.05,
        audience=Audience.PEOPLE,
        permission=Permission.DECIDE,
    ),
)
