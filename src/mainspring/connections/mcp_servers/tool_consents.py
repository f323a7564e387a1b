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

from mainspring.connections.mcp_servers.tool_changes import (
    ToolConsent,
    approve_tool,
    hash_offered_tool,
    refuse_tool,
)
from mainspring.connections.mcp_servers.tool_discovery import check_tool_quota
from mainspring.contracts.errors import Conflict, Finding
from mainspring.contracts.roles import Permission, role_too_small_error
from mainspring.definition.authority import AuthorityAddition
from mainspring.definition.strict_json import encode_canonical
from mainspring.workspace.connections import rows, tool_rows

if TYPE_CHECKING:
    from mainspring.connections.mcp_servers.service import McpConnectionService
    from mainspring.contracts.context import CallContext
    from mainspring.workspace.connections.rows import McpConnection
    from mainspring.workspace.connections.tool_rows import ToolRow

_PURPOSE: Final = b"mainspring changed tools v1\0"
_MOST_USERS: Final = 5


@dataclass(frozen=True, slots=True)
class ChangedToolConsents:
    """What waits, and the answer to it."""

    board: McpConnectionService

    async def waiting(self, ctx: CallContext) -> list[dict[str, Any]]:
        """One for each connection that has changed tools."""
        space = ctx.actor.workspace_id
        counts = await tool_rows.count_tools_by_state(ctx.tx, space)
        if not any(one.get("changed") for one in counts.values()):
            return []
        found = await rows.list_connections(ctx.tx, space)
        return [
            await self._one(ctx, one, await tool_rows.list_connection_tools(ctx.tx, space, one.id))
            for one in found
            if counts.get(one.id, {}).get("changed")
        ]

    async def answer(
        self, ctx: CallContext, connection_id: UUID, digest: str, *, agree: bool
    ) -> dict[str, Any]:
        """Agrees to all changed tools of a connection as they are now, or refuses them."""
        role, space = ctx.actor.role, ctx.actor.workspace_id
        if role is None or not role.may(Permission.CONNECT):
            raise role_too_small_error(role, Permission.CONNECT)
        self.board.parts.tools.stir(space)
        await tool_rows.lock_connection(ctx.tx, space, connection_id)
        found = await rows.find(ctx.tx, space, connection_id)
        tools = await tool_rows.list_connection_tools(ctx.tx, space, connection_id)
        shown = await self._one(ctx, found, tools)
        if shown["digest"] != digest:
            raise _digest_changed_error(shown["digest"])
        consent = ToolConsent(ctx.actor.id, ctx.clock.now())
        changes = [
            approve_tool(row, consent) if agree else refuse_tool(row)
            for row in _find_changed_tools(tools)
        ]
        await tool_rows.put_tools(ctx.tx, space, changes)
        await tool_rows.increment_generation(ctx.tx, space, connection_id)
        await check_tool_quota(ctx.tx, space, self.board.parts.limits)
        moment = consent.at.isoformat()
        return {**shown, "status": "agreed" if agree else "refused", "answered_at": moment}

    async def _one(
        self, ctx: CallContext, found: McpConnection, tools: Sequence[ToolRow]
    ) -> dict[str, Any]:
        changed = _find_changed_tools(tools)
        names = [f"{found.alias}.{row.name}" for row in changed]
        used = await tool_rows.list_capability_users(ctx.tx, ctx.actor.workspace_id, names)
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


def _find_changed_tools(tools: Sequence[ToolRow]) -> list[ToolRow]:
    return [row for row in tools if row.state == "changed"]


def _addition(name: str, used: Mapping[str, Sequence[str]]) -> AuthorityAddition:
    users = list(used.get(name, ()))
    shown = ", ".join(users[:_MOST_USERS]) + (" and others" if users[_MOST_USERS:] else "")
    by = f" It is used by {shown}." if users else " No automation uses it."
    says = f"The tool {name} is not what was agreed to any more."
    return AuthorityAddition("tool", f"/tools/{name.partition('.')[2]}", says + by)


def _digest(connection_id: UUID, changed: Sequence[ToolRow]) -> str:
    shown = [str(connection_id), *([row.name, hash_offered_tool(row).hex()] for row in changed)]
    return hashlib.sha256(_PURPOSE + encode_canonical(shown)).hexdigest()


def _digest_changed_error(digest: str) -> Conflict:
    detail = "The tools are not what was shown: their server has changed them since."
    return Conflict(
        detail,
        code="consent_changed",
        findings=[Finding("/digest", detail, "consent_changed", f"It is {digest} now.")],
        suggestion="Review them again, and answer with the digest that is shown then.",
    )
