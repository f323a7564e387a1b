"""From stdin and stdout to an MCP server that runs elsewhere, and back.

For a client that can only start a child. Messages are handed on as they are; what HTTP wants
beside them (the version, the method, the name) is read from them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.client.streamable_http import streamable_http_client
from mcp.server.stdio import stdio_server
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import (
    PROTOCOL_VERSION_META_KEY,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp_types import RequestId

# How long answers are still waited for when the client sends no more.
_LAST_SECONDS: Final = 30.0


async def bridge(url: str, token: str) -> None:
    """Hands messages on until stdin closes and every request has its answer."""
    known = {"Authorization": f"Bearer {token}"}
    async with (
        create_mcp_http_client(headers=known) as http,
        streamable_http_client(url, http_client=http) as (from_server, to_server),
        stdio_server() as (from_client, to_client),
        anyio.create_task_group() as going,
    ):
        crossing = _Crossing()
        going.start_soon(crossing.back, from_server, to_client)
        await crossing.over(from_client, to_server)
        with anyio.move_on_after(_LAST_SECONDS):
            await crossing.all_answered()
        going.cancel_scope.cancel()


class _Crossing:
    """Both directions of one client, and what they must know of each other."""

    def __init__(self) -> None:
        self._waiting: dict[RequestId, str] = {}
        self._version: str | None = None
        self._answered = anyio.Event()

    async def over(
        self,
        client: ReadStream[SessionMessage | Exception],
        server: WriteStream[SessionMessage],
    ) -> None:
        async for found in client:
            if isinstance(found, Exception):
                continue  # what is no message cannot be handed on
            message = found.message
            if isinstance(message, JSONRPCRequest):
                self._waiting[message.id] = message.method
            stamped = ClientMessageMetadata(headers=self._headers(message))
            await server.send(SessionMessage(message, metadata=stamped))

    async def back(
        self,
        server: ReadStream[SessionMessage | Exception],
        client: WriteStream[SessionMessage],
    ) -> None:
        async for found in server:
            if isinstance(found, Exception):
                continue
            message = found.message
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                asked = self._waiting.pop(message.id, None)
                if asked == "initialize" and isinstance(message, JSONRPCResponse):
                    self._version = message.result.get("protocolVersion")
            await client.send(SessionMessage(message))
            self._answered.set()

    async def all_answered(self) -> None:
        while self._waiting:
            self._answered = anyio.Event()
            await self._answered.wait()

    def _headers(self, message: Any) -> dict[str, str]:
        if not isinstance(message, JSONRPCRequest | JSONRPCNotification):
            return {}
        params = message.params or {}
        meta = params.get("_meta")
        version = meta.get(PROTOCOL_VERSION_META_KEY) if isinstance(meta, dict) else None
        if not isinstance(version, str):
            return {MCP_PROTOCOL_VERSION_HEADER: self._version} if self._version else {}
        headers = {MCP_PROTOCOL_VERSION_HEADER: version, MCP_METHOD_HEADER: message.method}
        name = params.get(NAME_BEARING_METHODS.get(message.method, ""))
        if isinstance(name, str):
            headers[MCP_NAME_HEADER] = encode_header_value(name)
        return headers
