"""From stdin and stdout to an MCP server that runs elsewhere, and back.

For a client that can only start a child. Messages are handed on as they are; what HTTP wants
beside them (the version, the method, the name) is read from them. A server that cannot be
reached at the start is said before a client waits; one that goes away later is the answer to
each request until it is back.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

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
    CONNECTION_CLOSED,
    PROTOCOL_VERSION_META_KEY,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)

from mainspring.contracts.errors import Unauthenticated, Upstream

if TYPE_CHECKING:
    from mcp.shared._stream_protocols import ReadStream, WriteStream
    from mcp_types import RequestId

# How long answers are still waited for when the client sends no more.
_LAST_SECONDS: Final = 30.0
_FIRST_SECONDS: Final = 10.0


async def bridge(url: str, token: str) -> None:
    """Hands messages on until stdin closes and every request has its answer."""
    # What it would log of a lost connection, the client is told by us.
    logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
    async with create_mcp_http_client(headers={"Authorization": f"Bearer {token}"}) as http:
        await _knock(http, url)
        # Whoever writes to stdout ends when its stream does, and is waited for.
        async with stdio_server() as (from_client, to_client), to_client:
            crossing = _Crossing(from_client, to_client)
            while not await _crossed(crossing, http, url):
                await crossing.answer_all(_unreachable(url))


async def _crossed(crossing: _Crossing, http: Any, url: str) -> bool:
    """Whether the client has sent all it had; the connection may be lost before."""
    try:
        async with (
            streamable_http_client(url, http_client=http) as (from_server, to_server),
            anyio.create_task_group() as going,
        ):
            going.start_soon(crossing.back, from_server)
            await crossing.over(to_server)
            with anyio.move_on_after(_LAST_SECONDS):
                await crossing.all_answered()
            going.cancel_scope.cancel()
    except Exception:
        return False
    return True


async def _knock(http: Any, url: str) -> None:
    """Whether the server is there and knows the token, before a client waits for it."""
    status = None
    with anyio.move_on_after(_FIRST_SECONDS), suppress(Exception):
        async with http.stream("GET", url, headers={"Accept": "application/json"}) as response:
            status = response.status_code
    if status is None:
        raise Upstream(
            _unreachable(url),
            code="unreachable",
            suggestion="See that it is up, and that the address is right.",
        )
    if status == HTTPStatus.UNAUTHORIZED:
        raise Unauthenticated(
            f"The server at {_place(url)} does not know this token.",
            code="unknown_token",
            suggestion="Set MAINSPRING_TOKEN to a token that it knows.",
        )


def _unreachable(url: str) -> str:
    return f"The server at {_place(url)} cannot be reached."


def _place(url: str) -> str:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc}"


class _Crossing:
    """Both directions of one client, and what they must know of each other."""

    def __init__(
        self,
        client: ReadStream[SessionMessage | Exception],
        to_client: WriteStream[SessionMessage],
    ) -> None:
        self._client = client
        self._to_client = to_client
        self._waiting: dict[RequestId, str] = {}
        self._version: str | None = None
        self._answered = anyio.Event()

    async def over(self, server: WriteStream[SessionMessage]) -> None:
        async for found in self._client:
            if isinstance(found, Exception):
                continue  # what is no message cannot be handed on
            message = found.message
            if isinstance(message, JSONRPCRequest):
                self._waiting[message.id] = message.method
            stamped = ClientMessageMetadata(headers=self._headers(message))
            await server.send(SessionMessage(message, metadata=stamped))

    async def back(self, server: ReadStream[SessionMessage | Exception]) -> None:
        async for found in server:
            if isinstance(found, Exception):
                continue
            message = found.message
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id is not None:
                asked = self._waiting.pop(message.id, None)
                if asked == "initialize" and isinstance(message, JSONRPCResponse):
                    self._version = message.result.get("protocolVersion")
            await self._to_client.send(SessionMessage(message))
            self._answered.set()

    async def answer_all(self, sentence: str) -> None:
        """An error for each request that nobody else will answer."""
        lost = ErrorData(code=CONNECTION_CLOSED, message=sentence)
        for request_id in list(self._waiting):
            told = JSONRPCError(jsonrpc="2.0", id=request_id, error=lost)
            await self._to_client.send(SessionMessage(told))
        self._waiting.clear()

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
