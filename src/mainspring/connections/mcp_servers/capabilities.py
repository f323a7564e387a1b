"""Connections as capabilities: the servers of tools of a workspace, and what is agreed to.

They are for people and never for runs: where a workspace's text may go is for a person to
decide, and so is which tools its automations may call. A token goes in and never comes out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.mcp_servers import schemas
from mainspring.connections.mcp_servers.tool_changes import (
    ToolConsent,
    approve_tool,
    hash_offered_tool,
    refuse_tool,
    with_effects,
)
from mainspring.connections.mcp_servers.tool_discovery import check_tool_quota
from mainspring.connections.mcp_servers.views import describe_mcp_connection, describe_tool
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
)
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.connections import rows, tool_rows

if TYPE_CHECKING:
    from mainspring.connections.mcp_servers.service import McpConnectionService
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.workspace.connections.rows import McpConnection
    from mainspring.workspace.connections.tool_rows import ToolRow

# In a list so many changed tools are compared with what was agreed to; others one by one.
_MOST_COMPARED: Final = 10
_READING: Final = Annotations(
    toolset=Toolset.MCP_SERVERS,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.READ,
)
_DECIDING: Final = Annotations(
    toolset=Toolset.MCP_SERVERS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.CONNECT,
    subject=lambda given, _: given.get("connection_id"),
)
# What asks another system first holds no transaction meanwhile.
_ASKING: Final = replace(_DECIDING, transactional=False, seconds=5.0)


def connection_capabilities(board: McpConnectionService) -> tuple[Capability, ...]:
    """All of them; before the switchboard is opened they can be described and not called."""
    counter = _McpServerHandlers(board)
    return (*_about_servers(counter), *_about_tools(counter))


def _about_servers(counter: _McpServerHandlers) -> tuple[Capability, ...]:
    return (
        build_capability(
            "connect_mcp_server",
            "Connect an MCP server",
            "Its tools become capabilities named alias.tool. Connecting agrees to the current "
            "tools, unless automations already have grants under this alias. Tools that are added "
            "or changed later wait for agree_to_tools.",
            schemas.CONNECT,
            schemas.CONNECTED,
            counter.connect,
            replace(
                _ASKING,
                hidden_arguments=frozenset({"token", "client_secret"}),
                subject=lambda given, _: given.get("alias"),
            ),
        ),
        build_capability(
            "list_connections",
            "List MCP servers",
            "Returns the health of each and how many tools are agreed to or waiting.",
            schemas.NOTHING,
            schemas.LISTED,
            counter.list_all,
            _READING,
        ),
        build_capability(
            "get_connection",
            "Get an MCP server connection",
            "Returns every tool with its effect, changes since it was agreed to, and the "
            "automations that use it.",
            schemas.LOOK,
            schemas.SHOWN,
            counter.show,
            _READING,
        ),
        build_capability(
            "begin_sign_in",
            "Start the sign-in at an MCP server",
            "Returns a URL to open. Finish in the same browser to connect the workspace.",
            schemas.ONE,
            schemas.SIGN_IN,
            counter.sign_in,
            replace(_ASKING, hidden_results=frozenset({"sign_in_url"})),
        ),
        build_capability(
            "set_connection_token",
            "Replace the token of an MCP server",
            "Agreed tools and their settings stay.",
            schemas.TOKEN,
            schemas.SHOWN,
            counter.set_token,
            replace(_DECIDING, hidden_arguments=frozenset({"token"})),
        ),
        build_capability(
            "disconnect_mcp_server",
            "Disconnect an MCP server",
            "Deletes the connection, its tools and its tokens. Automations that use its tools "
            "fail until it is connected again.",
            schemas.ONE,
            schemas.DISCONNECTED,
            counter.disconnect,
            _DECIDING,
        ),
    )


def _about_tools(counter: _McpServerHandlers) -> tuple[Capability, ...]:
    return (
        build_capability(
            "harvest_connection",
            "Refresh the tool list of an MCP server",
            "Happens daily on its own. New and changed tools wait for agree_to_tools.",
            schemas.ONE,
            schemas.SHOWN,
            counter.harvest,
            _ASKING,
        ),
        build_capability(
            "agree_to_tools",
            "Agree to tools of an MCP server",
            "Name each tool with the hash that was shown; a tool that changed since is not "
            "accepted. Grants of automations do not change.",
            schemas.AGREE,
            schemas.SHOWN,
            counter.agree,
            _DECIDING,
        ),
        build_capability(
            "refuse_tools",
            "Refuse tools of an MCP server",
            "They cannot be called until agree_to_tools.",
            schemas.REFUSE,
            schemas.SHOWN,
            counter.refuse,
            _DECIDING,
        ),
        build_capability(
            "set_tool_effect",
            "Set the effect of an external tool",
            "A tool that sends is held as a draft when a run calls it; one that reads is called "
            "immediately. Overrides the detected effect.",
            schemas.EFFECT,
            schemas.SHOWN,
            counter.set_effect,
            _DECIDING,
        ),
    )


@dataclass(frozen=True, slots=True)
class _McpServerHandlers:
    """The handlers."""

    board: McpConnectionService

    def _stir(self, ctx: CallContext) -> None:
        self.board.parts.tools.stir(ctx.actor.workspace_id)

    async def connect(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        made, link = await self.board.connect(ctx.actor, arguments)
        async with self.board.inside(ctx.actor.workspace_id).acquire() as tx:
            told = await _whole(tx, made)
            heirs = await tool_rows.list_alias_users(tx, made.workspace_id, made.alias)
        self._stir(ctx)
        return {**told, "sign_in_url": link, "inherited_by": heirs}

    async def list_all(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        space = ctx.actor.workspace_id
        counts = await tool_rows.count_tools_by_state(ctx.tx, space)
        found = await rows.list_connections(ctx.tx, space)
        return {
            "connections": [describe_mcp_connection(one, counts.get(one.id, {})) for one in found]
        }

    async def show(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = await rows.find(ctx.tx, ctx.actor.workspace_id, UUID(arguments["connection_id"]))
        return await _whole(ctx.tx, found, arguments.get("tool"))

    async def harvest(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, wanted = ctx.actor.workspace_id, UUID(arguments["connection_id"])
        inside = self.board.inside(space)
        async with inside.acquire() as tx:
            # One that is not there is told as that, and leaves no trace.
            await rows.find(tx, space, wanted)
        await self.board.parts.harvester.harvest(space, wanted)
        self._stir(ctx)
        async with inside.acquire() as tx:
            return await _whole(tx, await rows.find(tx, space, wanted))

    async def agree(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self._stir(ctx)
        space, wanted = ctx.actor.workspace_id, UUID(arguments["connection_id"])
        _check_once([entry["name"] for entry in arguments["tools"]], "/name")
        found = await _lock_tools(ctx.tx, space, wanted)
        chosen = []
        for place, entry in enumerate(arguments["tools"]):
            row = _find_tool(found, entry["name"], f"/tools/{place}/name")
            _check_agreeable(row, entry["hash"], f"/tools/{place}")
            chosen.append(row)
        found_at = await rows.find(ctx.tx, space, wanted)
        if found_at.transport == "stdio":
            _check_person(ctx, "A person agrees to the tools of a program on this machine")
        if any(row.state != "new" for row in chosen) or await _used_by(ctx, wanted):
            _check_person(ctx, "A person agrees to a tool that agreed automations may call")
        consent = ToolConsent(ctx.actor.id, ctx.clock.now())
        changes = [approve_tool(row, consent) for row in chosen if row.state != "agreed"]
        result = await _write_tool_changes(ctx.tx, space, wanted, changes)
        await check_tool_quota(ctx.tx, space, self.board.parts.limits)
        return result

    async def refuse(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self._stir(ctx)
        space, wanted = ctx.actor.workspace_id, UUID(arguments["connection_id"])
        _check_once(arguments["tools"])
        found = await _lock_tools(ctx.tx, space, wanted)
        chosen = [
            _find_tool(found, name, f"/tools/{place}")
            for place, name in enumerate(arguments["tools"])
        ]
        changes = [refuse_tool(row) for row in chosen if row.state != "refused"]
        return await _write_tool_changes(ctx.tx, space, wanted, changes)

    async def set_effect(self, ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        self._stir(ctx)
        space, wanted = ctx.actor.workspace_id, UUID(arguments["connection_id"])
        row = _find_tool(await _lock_tools(ctx.tx, space, wanted), arguments["tool"], "/tool")
        if arguments["effect"] != "send":
            # It would be called at once from then on, without a draft.
            _check_person(ctx, "A person says that a tool only reads")
        changes = []
        if row.effect != arguments["effect"]:
            changes.append(with_effects(replace(row, effect=arguments["effect"])))
        return await _write_tool_changes(ctx.tx, space, wanted, changes)

    async def sign_in(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        parts = self.board.parts
        wanted = UUID(arguments["connection_id"])
        back = self.board.callback(wanted)
        link = await parts.outside.begin_sign_in(ctx.actor, wanted, back)
        return {"sign_in_url": link}

    async def set_token(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, wanted = ctx.actor.workspace_id, UUID(arguments["connection_id"])
        found = await rows.lock_mcp_connection(ctx.tx, space, wanted)
        if users := await _used_by(ctx, wanted):
            names = ", ".join(users[:_MOST_COMPARED])
            _check_person(ctx, f"A person changes the account that automations use ({names})")
        await self.board.take_token(ctx.tx, found, arguments["token"])
        return await _whole(ctx.tx, await rows.find(ctx.tx, space, wanted))

    async def disconnect(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | Unchanged:
        self._stir(ctx)
        gone = await rows.remove(ctx.tx, ctx.actor.workspace_id, UUID(arguments["connection_id"]))
        return {"disconnected": True} if gone else Unchanged({"disconnected": False})


async def _lock_tools(tx: Transaction, space: UUID, connection_id: UUID) -> dict[str, ToolRow]:
    await tool_rows.lock_connection(tx, space, connection_id)
    return {
        row.name: row for row in await tool_rows.list_connection_tools(tx, space, connection_id)
    }


def _find_tool(found: Mapping[str, ToolRow], name: str, pointer: str) -> ToolRow:
    row = found.get(name)
    if row is None:
        detail = f"This connection has no tool called {name!r}."
        raise NotFound(detail, code="no_tool", findings=[Finding(pointer, detail, "no_tool")])
    return row


async def _used_by(ctx: CallContext, connection_id: UUID) -> list[str]:
    """The automations that were granted any tool under the alias of a connection."""
    found = await rows.find(ctx.tx, ctx.actor.workspace_id, connection_id)
    return await tool_rows.list_alias_users(ctx.tx, found.workspace_id, found.alias)


def _check_person(ctx: CallContext, detail: str) -> None:
    """What widens or redirects what was agreed to is a person's to say."""
    if not ctx.actor.is_person:
        raise PermissionDenied(
            f"{detail}; a program cannot.",
            code="person_needed",
            suggestion="It can be done on the page of the connection, or with `mainspring "
            "connections` at a terminal.",
        )


def _check_once(names: Sequence[str], below: str = "") -> None:
    """Refuses a tool that is named twice: it would be unclear which of the two is meant."""
    seen: set[str] = set()
    findings = []
    for place, name in enumerate(names):
        if name in seen:
            detail = f"{name!r} is named more than once."
            findings.append(Finding(f"/tools/{place}{below}", detail, "named_twice"))
        seen.add(name)
    if findings:
        raise Invalid(findings[0].detail, code="named_twice", findings=findings)


def _check_agreeable(row: ToolRow, shown: str, pointer: str) -> None:
    """Refuses what cannot be used, and what is not what was shown."""
    problem: Problem | None = None
    if row.state == "gone":
        detail = f"The server has no tool called {row.name} any more."
        problem = Conflict(
            detail, code="tool_gone", findings=[Finding(pointer, detail, "tool_gone")]
        )
    elif row.reason is not None:
        detail = f"{row.name} cannot be used: {row.reason}"
        code = "tool_unusable"
        problem = Invalid(detail, code=code, findings=[Finding(pointer, detail, code)])
    elif hash_offered_tool(row).hex() != shown:
        detail = f"{row.name} is not what was shown: its server has changed it since."
        code, at = "tool_changed", f"{pointer}/hash"
        problem = Conflict(
            detail,
            code=code,
            findings=[Finding(at, detail, code)],
            suggestion="Review it again, and agree to what is shown then.",
        )
    if problem is not None:
        raise problem


async def _write_tool_changes(
    tx: Transaction, space: UUID, connection_id: UUID, changes: Sequence[ToolRow]
) -> dict[str, Any] | Unchanged:
    await tool_rows.put_tools(tx, space, changes)
    if changes:
        await tool_rows.increment_generation(tx, space, connection_id)
    told = await _whole(tx, await rows.find(tx, space, connection_id))
    return told if changes else Unchanged(told)


async def _whole(tx: Transaction, found: McpConnection, only: str | None = None) -> dict[str, Any]:
    """A connection with its tools; one of them with all there is to read."""
    space = found.workspace_id
    counts = await tool_rows.count_tools_by_state(tx, space)
    tools = await tool_rows.list_connection_tools(tx, space, found.id)
    if only is not None:
        tools = [_find_tool({row.name: row for row in tools}, only, "/tool")]
    used = await tool_rows.list_capability_users(
        tx, space, [f"{found.alias}.{row.name}" for row in tools]
    )
    changed = [row.name for row in tools if row.offered is not None]
    compared = frozenset(changed[:_MOST_COMPARED])
    return {
        "connection": describe_mcp_connection(found, counts.get(found.id, {})),
        "tools": [
            describe_tool(
                row, found.alias, used, whole=only is not None, compared=row.name in compared
            )
            for row in tools
        ],
    }
