"""The MCP server over stdin and stdout, for a client that starts it as its own child.

While it serves, stdout carries the protocol and nothing else: whatever is written there by
mistake goes to stderr. It ends when stdin does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from mainspring.contracts.errors import Problem
from mainspring.surfaces.mcp.server import Context, Tools, build_server

if TYPE_CHECKING:
    from mainspring.gate.direct import Visitor
    from mainspring.surfaces.rooms import Rooms


async def serve_stdio(rooms: Rooms, visitor: Callable[[], Awaitable[Visitor]]) -> None:
    """Serves until stdin closes; ``visitor`` is asked again for each message."""

    async def who(ctx: Context) -> Visitor:
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern and ctx.session.client_params is None:
            raise MCPError(INVALID_REQUEST, "The first request of a session is initialize.")
        try:
            return await visitor()
        except Problem as problem:
            raise MCPError(INVALID_REQUEST, problem.detail, problem.as_dict()) from None

    server = build_server(Tools(rooms), who)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())
