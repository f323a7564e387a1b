"""Forward MCP messages between stdin and stdout and a server that is reached over HTTP.

For a client that can only start a child process. Each line of stdin is one JSON-RPC message and
becomes one POST; what the server answers goes to stdout, one message a line. The headers that HTTP
requires beside a message (version, method, name) are read from it. A server that cannot be reached
at the start is reported before a client waits; one that goes away later is the answer to each
request until it is back.

The MCP library is not imported: it takes a second of CPU, and a message need not be understood to
be forwarded.
"""

from __future__ import annotations

import base64
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx2
import orjson

from mainspring.contracts.errors import Unauthenticated, UpstreamError

# How long pending responses are awaited after stdin has closed.
_LAST_SECONDS: Final = 30.0
_FIRST_SECONDS: Final = 10.0
_MOST_AT_ONCE: Final = 100
_ACCEPT: Final = "application/json, text/event-stream"
_VERSION_IN_META: Final = "io.modelcontextprotocol/protocolVersion"
_VERSION: Final = "mcp-protocol-version"
_SESSION: Final = "mcp-session-id"
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_PARSE_ERROR: Final = -32700
_INVALID_REQUEST: Final = -32600
_CONNECTION_CLOSED: Final = -32000
_INTERNAL_ERROR: Final = -32603

Message = dict[str, Any]


async def bridge(url: str, token: str, *, proxies: bool = True) -> None:
    """Forwards messages until stdin closes and every request has its response.

    ``proxies``: whether HTTP_PROXY and related variables apply; not for a server on this machine,
    because the proxy would see the token.
    """
    headers = {"Authorization": f"Bearer {token}"}
    # The server limits the response time.
    timeout = httpx2.Timeout(_FIRST_SECONDS, read=None, pool=None)
    async with httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=proxies) as http:
        await _check(http, url)
        await _Bridge(http, url).run()


async def _check(http: httpx2.AsyncClient, url: str) -> None:
    """Checks that the server is reachable and accepts the token, before a client waits for it."""
    status = None
    with anyio.move_on_after(_FIRST_SECONDS), suppress(Exception):
        async with http.stream("GET", url, headers={"Accept": "application/json"}) as response:
            status = response.status_code
    if status == HTTPStatus.UNAUTHORIZED:
        raise Unauthenticated(
            f"The server at {_place(url)} does not accept this token.",
            code="unknown_token",
            suggestion="Set MAINSPRING_TOKEN to a valid token.",
        )
    # An MCP server without a GET stream rejects GET; any other answer is not an MCP server.
    if status != HTTPStatus.METHOD_NOT_ALLOWED:
        raise UpstreamError(
            _unreachable(url),
            code="unreachable",
            suggestion="See that it is up, and that the address is right.",
        )


def _unreachable(url: str) -> str:
    return f"The server at {_place(url)} cannot be reached."


def _place(url: str) -> str:
    split = urlsplit(url)
    return f"{split.scheme}://{split.netloc}"


class _Bridge:
    """The messages of one client and their shared state."""

    def __init__(self, http: httpx2.AsyncClient, url: str) -> None:
        self._http = http
        self._url = url
        self._version: str | None = None
        # The session id of the server, if it has sent one.
        self._session: str | None = None
        self._writing = anyio.Lock()
        self._room = anyio.Semaphore(_MOST_AT_ONCE)
        # Pending requests, so that the client can cancel them.
        self._under_way: dict[Any, anyio.CancelScope] = {}

    async def run(self) -> None:
        async with anyio.create_task_group() as group:
            async for line in anyio.wrap_file(sys.stdin.buffer):
                if line.strip():
                    await self._room.acquire()
                    group.start_soon(self._forward, line)
            group.cancel_scope.deadline = anyio.current_time() + _LAST_SECONDS

    async def _forward(self, line: bytes) -> None:
        try:
            message = orjson.loads(line)
            if isinstance(message, dict):
                self._cancel(message)
                await self._exchange(message, line)
            else:
                await self._write_error(None, _INVALID_REQUEST, "This is no JSON-RPC message.")
        except orjson.JSONDecodeError as error:
            await self._write_error(None, _PARSE_ERROR, f"This line is no JSON: {error}")
        finally:
            self._room.release()

    async def _exchange(self, message: Message, line: bytes) -> None:
        key = _key(message)
        with anyio.CancelScope() as scope:
            if key is not None:
                self._under_way[key] = scope
            try:
                await self._post(message, line)
            finally:
                self._under_way.pop(key, None)

    def _cancel(self, message: Message) -> None:
        """A cancelled request gets no response; closing its connection notifies the server."""
        if message.get("method") == "notifications/cancelled":
            params = message.get("params")
            cancelled = params.get("requestId") if isinstance(params, dict) else None
            scope = self._under_way.get((type(cancelled), str(cancelled)))
            if scope is not None:
                scope.cancel()

    async def _post(self, message: Message, line: bytes) -> None:
        """Sends one message; each request is answered exactly once, whatever happens."""
        answered, is_request = False, _key(message) is not None
        reason, code = _unreachable(self._url), _CONNECTION_CLOSED
        headers = {"Content-Type": "application/json", "Accept": _ACCEPT, **self._headers(message)}
        try:
            async with self._http.stream(
                "POST", self._url, content=line.strip(), headers=headers
            ) as response:
                if message.get("method") == "initialize":
                    self._session = response.headers.get(_SESSION)
                async for found in _bodies(response):
                    if "jsonrpc" in found and "id" in found and found["id"] is None and is_request:
                        # An error about the request itself; it is answered under its own id.
                        found["id"] = message["id"]
                    if "jsonrpc" in found:
                        answered = answered or found.get("id") == message.get("id")
                        self._note_version(message, found)
                        await self._write(found)
                    else:
                        # An HTTP error, such as a revoked token.
                        detail = found.get("detail", "The server's answer is no MCP message.")
                        reason, code = str(detail), _INTERNAL_ERROR
        except (httpx2.HTTPError, httpx2.StreamError, orjson.JSONDecodeError):
            pass
        if not answered and is_request:
            await self._write_error(message["id"], code, reason)

    def _note_version(self, asked: Message, answer: Message) -> None:
        result = answer.get("result")
        if asked.get("method") == "initialize" and isinstance(result, dict):
            self._version = result.get("protocolVersion")

    def _headers(self, message: Message) -> dict[str, str]:
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        meta = params.get("_meta")
        version = meta.get(_VERSION_IN_META) if isinstance(meta, dict) else None
        method = message.get("method")
        if not isinstance(version, str) or not isinstance(method, str):
            if method == "initialize" or self._version is None:
                return {}
            session = {} if self._session is None else {_SESSION: self._session}
            return {_VERSION: self._version, **session}
        headers = {_VERSION: _encode(version), "mcp-method": _encode(method)}
        name = params.get(_NAMED_BY.get(method, ""))
        if isinstance(name, str):
            headers["mcp-name"] = _encode(name)
        return headers

    async def _write_error(self, request_id: Any, code: int, text: str) -> None:
        error = {"code": code, "message": text}
        await self._write({"jsonrpc": "2.0", "id": request_id, "error": error})

    async def _write(self, message: Message) -> None:
        line = orjson.dumps(message) + b"\n"
        async with self._writing:
            await anyio.to_thread.run_sync(_print, line)


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _key(message: Message) -> Any:
    """The key of a pending request, in which 1 and "1" differ; None: not a request."""
    request_id = message.get("id")
    if "method" not in message or request_id is None:
        return None
    return type(request_id), str(request_id)


async def _bodies(response: httpx2.Response) -> AsyncIterator[Message]:
    """The objects of a response: one as JSON, or several as server-sent events."""
    if not response.headers.get("content-type", "").startswith("text/event-stream"):
        body = await response.aread()
        if body.strip():
            yield _object(orjson.loads(body))
        return
    # Split by bytes: as text, lines would also end at characters that JSON may contain.
    rest, data = b"", []
    async for piece in response.aiter_bytes():
        *lines, rest = (rest + piece).split(b"\n")
        for line in lines:
            if line.startswith(b"data:"):
                data.append(line[5:].strip())
            elif not line.strip() and data:
                yield _object(orjson.loads(b"\n".join(data)))
                data = []


def _object(value: Any) -> Message:
    """A body that is not an object has no details."""
    return value if isinstance(value, dict) else {}


def _encode(value: str) -> str:
    """A header value; characters that a header cannot carry are encoded as base64."""
    if value.isascii() and value.isprintable() and value == value.strip() and "=?" not in value:
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
