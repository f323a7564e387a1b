"""Doubles of the outside world: nothing here leaves loopback.

``RecordingDial`` answers every connection from a script and remembers who was dialled;
``Names`` resolves from a table; ``LocalServer`` is a real server on loopback that speaks
whatever bytes a test wants.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import httpcore2

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

Speak = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


class ResolverDouble:
    """A resolver that knows a table; several answers for a name are given one after another."""

    def __init__(self, table: Mapping[str, Sequence[str] | Sequence[Sequence[str]]]) -> None:
        self._table = dict(table)
        self.asked: list[str] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        del port
        self.asked.append(host)
        found = self._table.get(host, ())
        if found and not isinstance(found[0], str):
            turn = min(self.asked.count(host), len(found)) - 1
            return list(found[turn])
        return [str(answer) for answer in found]


class RecordedStream(httpcore2.AsyncNetworkStream):
    """One recorded connection: what was written, and the answers still to be read."""

    def __init__(self, answers: Iterable[bytes]) -> None:
        self.written = b""
        self.server_hostname: str | None = None
        self._answers = list(answers)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        del max_bytes, timeout
        return self._answers.pop(0) if self._answers else b""

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        del timeout
        self.written += buffer

    async def aclose(self) -> None:
        self._answers.clear()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        del ssl_context, timeout
        self.server_hostname = server_hostname
        return self

    def get_extra_info(self, info: str) -> Any:
        return False if info == "is_readable" else None


class RecordingDial(httpcore2.AsyncNetworkBackend):
    """Dials nobody; each connection gets the next script of answers, the last one for ever."""

    def __init__(self, *scripts: Sequence[bytes]) -> None:
        self._scripts = list(scripts) or [[OK]]
        self.dialled: list[tuple[str, int]] = []
        self.streams: list[RecordedStream] = []
        # Addresses at which nobody answers.
        self.deaf: set[str] = set()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        del timeout, local_address, socket_options
        self.dialled.append((host, port))
        if host in self.deaf:
            raise httpcore2.ConnectError("nobody answers")
        script = self._scripts[min(len(self.streams), len(self._scripts) - 1)]
        self.streams.append(RecordedStream(script))
        return self.streams[-1]


class LocalServer:
    """A server on loopback that counts connections and keeps every request's head."""

    def __init__(self, speak: Speak) -> None:
        self._speak = speak
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.connections = 0
        self.requests: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(_announced(head))
                self.requests.append(head)
                await self._speak(head, writer)
                await writer.drain()
        writer.close()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@contextlib.asynccontextmanager
async def local_server(
    speak: Speak, tls: ssl.SSLContext | None = None
) -> AsyncIterator[LocalServer]:
    """Serves on a free port of loopback until the block ends."""
    double = LocalServer(speak)
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0, ssl=tls)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
        await double.stop()
        await server.wait_closed()


def answer(status: int, body: bytes = b"", **headers: str) -> bytes:
    """One HTTP answer; header names are written with underscores."""
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def always(*pieces: bytes) -> Speak:
    """Answers every request with the same bytes."""

    async def speak(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head
        for piece in pieces:
            writer.write(piece)

    return speak


def _announced(head: bytes) -> int:
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
