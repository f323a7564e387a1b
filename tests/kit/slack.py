"""Slack's Web API on loopback: it checks what it is sent as Slack does, and answers by a script."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

TOKEN = "xoxb-1234567890-abcdefghij"


def slack_answer(status: int, body: bytes, *headers: str) -> bytes:
    """One whole answer on the wire."""
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def refusal(error: str) -> bytes:
    """What Slack says with status 200 when it does not do it."""
    body = json.dumps({"ok": False, "error": error, "warning": "missing_charset"}).encode()
    return slack_answer(200, body, "Content-Type: application/json; charset=utf-8")


@dataclass(slots=True)
class SlackDouble:
    """What was posted, and what is answered instead; None in the script is silence."""

    script: list[bytes | None] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    requests: list[bytes] = field(default_factory=list)
    port: int = 0
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api"

    @property
    def pair(self) -> str:
        return f"127.0.0.1:{self.port}"

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
                answer = self.script.pop(0) if self.script else self._judged(head, headers, body)
                if answer is None:
                    await asyncio.Event().wait()
                    return
                writer.write(answer)
                await writer.drain()
        writer.close()

    def _judged(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        if not head.startswith(b"POST /api/chat.postMessage HTTP/1.1\r\n"):
            return refusal("unknown_method")
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return refusal("invalid_auth" if "authorization" in headers else "not_authed")
        if headers.get("content-type") != "application/json; charset=utf-8":
            return refusal("invalid_post_type")
        message = json.loads(body)
        if not str(message["channel"]).startswith("C0"):
            return refusal("channel_not_found")
        self.messages.append(message)
        said = {
            "ok": True,
            "channel": message["channel"],
            "ts": f"1503435956.{len(self.messages):06}",
            "message": {"text": message["text"], "type": "message", "subtype": "bot_message"},
        }
        return slack_answer(200, json.dumps(said).encode(), "Content-Type: application/json")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _headers(head: bytes) -> dict[str, str]:
    lines = [line.partition(":") for line in head.decode().split("\r\n")[1:] if line]
    return {name.lower(): value.strip() for name, _, value in lines}


@contextlib.asynccontextmanager
async def slack_double() -> AsyncIterator[SlackDouble]:
    """Serves on a free port of loopback until the block ends."""
    double = SlackDouble()
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
        await double.stop()
        await server.wait_closed()
