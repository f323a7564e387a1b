"""A double of an outside API on loopback: it computes its answers, or takes them from a script."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, TypeVar


def http_answer(status: int, body: bytes, *headers: str) -> bytes:
    """One whole answer on the wire."""
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(slots=True)
class ScriptedDouble:
    """What was sent, and what is answered instead; None in the script is silence."""

    script: list[bytes | None] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"http://{self.pair}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                headers = _headers(head)
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                self.requests.append(head + body)
                answer = self.script.pop(0) if self.script else self._respond(head, headers, body)
                if answer is None:
                    await asyncio.Event().wait()
                    return
                writer.write(answer)
                await writer.drain()
        writer.close()

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        raise NotImplementedError

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _headers(head: bytes) -> dict[str, str]:
    lines = [line.partition(":") for line in head.decode().split("\r\n")[1:] if line]
    return {name.lower(): value.strip() for name, _, value in lines}


Double = TypeVar("Double", bound=ScriptedDouble)


@contextlib.asynccontextmanager
async def serving(double: Double) -> AsyncIterator[Double]:
    """Serves on a free port of loopback until the block ends."""
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
        await double.stop()
        await server.wait_closed()
