"""Waiting for a browser to come back from signing in elsewhere, on this machine alone.

A port of loopback is opened for as long as that takes, with a path for the one connection. Any
page and anybody on this machine can knock there, so only whoever brings the state that was sent
along ends the waiting; all others are told that there is nothing here.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

_MOST: Final = 16_384
_PAGE: Final = (
    b"<!doctype html><meta charset=utf-8><title>Mainspring</title>"
    b"<p>You can close this page and go back to the terminal."
)
_SAFE: Final = b"Content-Security-Policy: default-src 'none'\r\nCache-Control: no-store\r\n"


class OAuthRedirectListener:
    """Where a browser is sent to, and what it brings."""

    def __init__(self, port: int, connection_id: UUID) -> None:
        self._path = f"/callback/{connection_id}"
        self.address = f"http://127.0.0.1:{port}{self._path}"
        self._state = ""
        self._brought: asyncio.Future[dict[str, str]] = asyncio.get_running_loop().create_future()

    def expect_callback_for(self, link: str) -> None:
        """Somebody is sent to sign in there, and will bring back the state that it tells."""
        self._state = _parse_query(link).get("state", "")

    async def wait(self, seconds: float) -> dict[str, str]:
        """What came along in the address; TimeoutError when nobody came."""
        async with asyncio.timeout(seconds):
            return await asyncio.shield(self._brought)

    def hear(self, target: str) -> bool:
        """Whether this is a browser that comes back."""
        given = _parse_query(target)
        brought, expected = given.get("state", "").encode(), self._state.encode()
        if urlsplit(target).path != self._path or not expected:
            return False
        if not hmac.compare_digest(brought, expected):
            return False
        if not self._brought.done():
            self._brought.set_result(given)
        return True


def _parse_query(address: str) -> dict[str, str]:
    query = urlsplit(address).query
    return {name: values[0] for name, values in parse_qs(query).items()}


@asynccontextmanager
async def listening(connection_id: UUID) -> AsyncIterator[OAuthRedirectListener]:
    """Listens until the block ends."""
    found: list[OAuthRedirectListener] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(
            OSError,
            ValueError,
            TimeoutError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ):
            async with asyncio.timeout(10):
                head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ", 2)
            known = method == "GET" and found[0].hear(target)
            body = _PAGE if known else b""
            status = b"200 OK" if known else b"404 Not Found"
            writer.write(
                b"HTTP/1.1 %s\r\nContent-Type: text/html\r\nContent-Length: %d\r\n%s"
                b"Connection: close\r\n\r\n%s" % (status, len(body), _SAFE, body)
            )
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=_MOST)
    found.append(OAuthRedirectListener(server.sockets[0].getsockname()[1], connection_id))
    try:
        yield found[0]
    finally:
        server.close()
        await server.wait_closed()
