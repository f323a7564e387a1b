"""The in-process MCP endpoint for scripts without network access.

The script's client sends its messages over the script's pipe. They are answered by the same
application that serves the network, with the same token checks. That application is loaded for the
first message: most runs send none.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from starlette.types import Message

    from mainspring.surfaces.mcp.mount import McpMount
    from mainspring.surfaces.services import ApplicationServices

_HOST: Final = b"127.0.0.1"
# The request headers that a client may set; all others are set here.
_TAKEN: Final = frozenset(
    {"authorization", "accept", "content-type", "mcp-protocol-version", "mcp-method", "mcp-name"}
)


class InProcessMcp:
    """Answers messages that did not come over the network."""

    def __init__(self, services: ApplicationServices) -> None:
        self._services = services
        self._mount: McpMount | None = None

    async def __call__(self, answer: Mapping[str, Any]) -> Mapping[str, Any]:
        # The web framework is loaded with the first message.
        from mainspring.surfaces.mcp.mount import PATH

        body = str(answer.get("body") or "").encode("utf-8", "replace")
        scope = {
            "type": "http",
            "http_version": "1.1",
            "asgi": {"version": "3.0"},
            "method": str(answer.get("method") or "POST").upper(),
            "scheme": "http",
            "path": PATH,
            "raw_path": PATH.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": [(b"host", _HOST), *_headers(answer.get("headers"), len(body))],
            "client": ("127.0.0.1", 0),
            "server": ("127.0.0.1", 80),
        }
        response = _ResponseCollector()
        arriving: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return arriving.pop() if arriving else {"type": "http.disconnect"}

        mount = self._mount or await self._load()
        await mount(scope, receive, response.send)
        return response.as_dict()

    async def _load(self) -> McpMount:
        """One mount for all concurrent callers."""
        made = await asyncio.to_thread(_mount, self._services)
        self._mount = self._mount or made
        return self._mount


def _mount(services: ApplicationServices) -> McpMount:
    from mainspring.surfaces.mcp.mount import McpMount

    return McpMount(services)


class _ResponseCollector:
    """Collects one response."""

    def __init__(self) -> None:
        self._status = 500
        self._headers: dict[str, str] = {}
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._headers = {
                name.decode("latin-1"): value.decode("latin-1")
                for name, value in message.get("headers", ())
            }
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")

    def as_dict(self) -> dict[str, Any]:
        text = self._body.decode("utf-8", "replace")
        return {"status": self._status, "headers": self._headers, "body": text}


def _headers(content: Any, length: int) -> list[tuple[bytes, bytes]]:
    named = content.items() if isinstance(content, Mapping) else ()
    taken = [
        (str(name).lower().encode("latin-1", "replace"), str(value).encode("latin-1", "replace"))
        for name, value in named
        if str(name).lower() in _TAKEN
    ]
    return [*taken, (b"content-length", str(length).encode())]
