"""Changed tools as one question for each connection, asked like every other consent.

Nothing is kept for it: what waits is what stands in the rows of the tools, so the answer here and
an answer to single tools are the same. The id of such a question is that of its connection.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Clash, Finding
from mainspring.contracts.roles import Permission, role_too_small
from mainspring.definition.authority import Addition
from mainspring.definition.json_values import canonical
from mainspring.gate.outside.harvest import check_room
from mainspring.gate.outside.settling import Consent, agreed, offered_hash, refused
from mainspring.workspace.connections import rows, tool_rows

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.gate.outside.switchboard import Switchboard
    from mainspring.workspace.connections.rows import Connection
    from mainspring.workspace.connections.tool_rows import ToolRow

_PURPOSE: Final = b"mainspring changed tools v1\0"
_MOST_USERS: Final = 5


@dataclass(frozen=True, slots=True)
class ChangedTools:
    """What waits, and the answer to it."""

    board: Switchboard

    async def waiting(self, ctx: CallContext) -> list[dict[str, Any]]:
        """One for each connection that has changed tools."""
        space = ctx.actor.workspace_id
        counts = await tool_rows.tool_counts(ctx.tx, space)
        if not any(one.get("changed") for one in counts.values()):
            return []
        found = await rows.list_connections(ctx.tx, space)
        return [
            await self._one(ctx, one, await tool_rows.tools_of(ctx.tx, space, one.id))
            for one in found
            if counts.get(one.id, {}).get("changed")
        ]

    async def answer(
        self, ctx: CallContext, connection_id: UUID, digest: str, *, agree: bool
    ) -> dict[str, Any]:
        """Agrees to all changed tools of a connection as they are now, or refuses them."""
        role, space = ctx.actor.role, ctx.actor.workspace_id
        if role is None or not role.may(Permission.CONNECT):
            raise role_too_small(role, Permission.CONNECT)
        self.board.parts.tools.stir(space)
        await tool_rows.hold_connection(ctx.tx, space, connection_id)
        found = await rows.find(ctx.tx, space, connection_id)
        tools = await tool_rows.tools_of(ctx.tx, space, connection_id)
        shown = await self._one(ctx, found, tools)
        if shown["digest"] != digest:
            raise _changed(shown["digest"])
        consent = Consent(ctx.actor.id, ctx.clock.now())
        changes = [agreed(row, consent) if agree else refused(row) for row in _changed_of(tools)]
        await tool_rows.put_tools(ctx.tx, space, changes)
        await tool_rows.count_on(ctx.tx, space, connection_id)
        await check_room(ctx.tx, space, self.board.parts.limits)
        moment = consent.at.isoformat()
        return {**shown, "status": "agreed" if agree else "refused", "answered_at": moment}

    async def _one(
        self, ctx: CallContext, found: Connection, tools: Sequence[ToolRow]
    ) -> dict[str, Any]:
        changed = _changed_of(tools)
        names = [f"{found.alias}.{row.name}" for row in changed]
        used = await tool_rows.users_of(ctx.tx, ctx.actor.workspace_id, names)
        return {
            "consent_id": str(found.id),
            "automation_id": None,
            "connection_id": str(found.id),
            "name": found.alias,
            "version": None,
            "agreed_version": None,
            "origin": "tools",
            "status": "waiting",
            "additions": [_addition(name, used).as_dict() for name in names],
            "digest": _digest(found.id, changed),
            "asked_at": None,
            "answered_at": None,
        }


def _changed_of(tools: Sequence[ToolRow]) -> list[ToolRow]:
    return [row for row in tools if row.state == "changed"]


def _addition(name: str, used: Mapping[str, Sequence[str]]) -> Addition:
    users = list(used.get(name, ()))
    shown = ", ".join(users[:_MOST_USERS]) + (" and others" if users[_MOST_USERS:] else "")
    by = f" It is used by {shown}." if users else " No automation uses it."
    says = f"The tool {name} is not what was agreed to any more."
    return Addition("tool", f"/tools/{name.partition('.')[2]}", says + by)


def _digest(connection_id: UUID, changed: Sequence[ToolRow]) -> str:
    shown = [str(connection_id), *([row.name, offered_hash(row).hex()] for row in changed)]
    return hashlib.sha256(_PURPOSE + canonical(shown)).hexdigest()


def _changed(digest: str) -> Clash:
    detail = "The tools are not what was shown: their server has changed them since."
    return Clash(
        detail,
        code="consent_changed",
        findings=[Finding("/digest", detail, "consent_changed", f"It is {digest} now.")],
        suggestion="Look at them again, and answer with the digest that is shown then.",
    )
