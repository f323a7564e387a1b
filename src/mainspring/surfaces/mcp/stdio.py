"""The MCP server over stdin and stdout, for a client that starts it as a child process.

While it serves, stdout carries the protocol only: anything else that is written there goes to
stderr. It ends when stdin does. Each line is validated as strictly as an HTTP body before the
library sees it: an invalid message gets an error response and is never silently dropped.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import anyio
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    jsonrpc_message_adapter,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.surfaces.mcp.server import Context, McpToolMethods, build_server, message_limits

if TYPE_CHECKING:
    from mainspring.gate.callers import CapabilityCaller
    from mainspring.surfaces.mcp.toolsets import ToolSelection
    from mainspring.surfaces.services import ApplicationServices


async def serve_stdio(
    services: ApplicationServices,
    caller: Callable[[], Awaitable[CapabilityCaller]],
    *,
    has_page: Callable[[], bool] = lambda: True,
    selection: ToolSelection | None = None,
) -> None:
    """Serves until stdin closes; ``caller`` is called again for each message.

    ``has_page`` returns whether a server is running that shows the page where people answer.
    """

    async def who(ctx: Context) -> CapabilityCaller:
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        if not modern and ctx.session.client_params is None:
            raise MCPError(INVALID_REQUEST, "The first request of a session is initialize.")
        try:
            return await caller()
        except Problem as problem:
            raise MCPError(INVALID_REQUEST, problem.detail, problem.as_dict()) from None

    server = build_server(McpToolMethods(services, has_page, selection), who)
    with _own_stdin() as stdin:
        lines = _MessageLines(
            anyio.wrap_file(stdin), message_limits(services.limits, services.registry)
        )
        # The library only iterates over the lines of its input.
        read_from = cast("anyio.AsyncFile[str]", lines)
        async with stdio_server(stdin=read_from) as (incoming, outgoing):
            lines.answer_with(outgoing.send)
            await server.run(incoming, outgoing, server.create_initialization_options())


class _MessageLines:
    """The lines of stdin that are messages; invalid ones are answered here."""

    def __init__(self, source: anyio.AsyncFile[bytes], limits: Limits) -> None:
        self._source = source
        self._limits = limits
        self._send: Callable[[SessionMessage], Awaitable[Any]] | None = None
        self._ready = anyio.Event()

    def answer_with(self, send: Callable[[SessionMessage], Awaitable[Any]]) -> None:
        """The destination of error responses; no line is read before this is set."""
        self._send = send
        self._ready.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        await self._ready.wait()
        assert self._send is not None
        async for line in self._source:
            if not line.strip():
                continue
            refusal = self._refusal(line)
            if refusal is None:
                yield line.decode()
                continue
            refused = JSONRPCError(jsonrpc="2.0", id=None, error=refusal)
            await self._send(SessionMessage(refused))

    def _refusal(self, line: bytes) -> ErrorData | None:
        try:
            read_json(line, self._limits)
        except Problem as problem:
            return ErrorData(code=PARSE_ERROR, message=problem.detail, data=problem.as_dict())
        try:
            jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError:
            return ErrorData(code=INVALID_REQUEST, message="This is no message of JSON-RPC 2.0.")
        return None


@contextmanager
def _own_stdin() -> Iterator[BinaryIO]:
    """Reserves stdin for the protocol: other readers get EOF."""
    private = fcntl.fcntl(0, fcntl.F_DUPFD_CLOEXEC, 3)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    try:
        # A thread may still block on a line at this point, so it is never closed.
        yield os.fdopen(private, "rb", closefd=False)
    finally:
        os.dup2(private, 0)
