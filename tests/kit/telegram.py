"""Telegram's Bot API on loopback: it judges what it is sent as Telegram does.

The path is percent-decoded before the token is read out of it, and the parameters of a call
are those of the query and of a JSON body together.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

TOKEN = "7012345678:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
CHAT = "4815162342"


def telegram_answer(status: int, body: bytes, *headers: str) -> bytes:
    """One whole answer on the wire."""
    lines = [f"HTTP/1.1 {status} -", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def refusal(status: int, description: str, **parameters: Any) -> bytes:
    """What the Bot API says when it does not do it."""
    said = {"ok": False, "error_code": status, "description": description}
    if parameters:
        said["parameters"] = parameters
    return telegram_answer(status, json.dumps(said).encode(), "Content-Type: application/json")


def pause(seconds: int) -> bytes:
    return refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


@dataclass(slots=True)
class TelegramDouble:
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
                answer = self.script.pop(0) if self.script else self._judged(head, headers, body)
                if answer is None:
                    await asyncio.Event().wait()
                    return
                writer.write(answer)
                await writer.drain()
        writer.close()

    def _judged(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        target = urlsplit(head.split(b" ", 2)[1].decode())
        _, bot, *method = unquote(target.path).split("/")
        if not bot.startswith("bot") or method != ["sendMessage"]:
            return refusal(404, "Not Found")
        if bot != f"bot{TOKEN}":
            return refusal(401, "Unauthorized")
        given: dict[str, Any] = dict(parse_qsl(target.query))
        if headers.get("content-type") == "application/json":
            given |= json.loads(body)
        return self._sent(given)

    def _sent(self, given: dict[str, Any]) -> bytes:
        text = str(given.get("text", ""))
        if given.get("chat_id") != CHAT:
            return refusal(400, "Bad Request: chat not found")
        if not text.strip():
            return refusal(400, "Bad Request: message text is empty")
        if len(text) > 4096:
            return refusal(400, "Bad Request: message is too long")
        self.messages.append(given)
        said = {
            "message_id": 100 + len(self.messages),
            "from": {"id": int(TOKEN.partition(":")[0]), "is_bot": True, "first_name": "Nudge"},
            "chat": {"id": int(CHAT), "first_name": "Ada", "type": "private"},
            "date": 1_785_578_400,
            "text": text.strip(),
        }
        body = json.dumps({"ok": True, "result": said}).encode()
        return telegram_answer(200, body, "Content-Type: application/json")

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def _headers(head: bytes) -> dict[str, str]:
    lines = [line.partition(":") for line in head.decode().split("\r\n")[1:] if line]
    return {name.lower(): value.strip() for name, _, value in lines}


@contextlib.asynccontextmanager
async def telegram_double() -> AsyncIterator[TelegramDouble]:
    """Serves on a free port of loopback until the block ends."""
    double = TelegramDouble()
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    double.port = server.sockets[0].getsockname()[1]
    try:
        yield double
    finally:
        server.close()
        await double.stop()
        await server.wait_closed()
