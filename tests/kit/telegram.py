"""Telegram's Bot API on loopback: it judges what it is sent as Telegram does.

The path is percent-decoded before the token is read out of it, and the parameters of a call
are those of the query and of a JSON body together.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.kit.scripted import ScriptedDouble, http_answer, serving

TOKEN = "7012345678:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
CHAT = "4815162342"


def refusal(status: int, description: str, **parameters: Any) -> bytes:
    """What the Bot API says when it does not do it."""
    said = {"ok": False, "error_code": status, "description": description}
    if parameters:
        said["parameters"] = parameters
    return http_answer(status, json.dumps(said).encode(), "Content-Type: application/json")


def pause(seconds: int) -> bytes:
    return refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


@dataclass(slots=True)
class TelegramDouble(ScriptedDouble):
    """What was sent to Telegram, and what it answers."""

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
        return http_answer(200, body, "Content-Type: application/json")


@contextlib.asynccontextmanager
async def telegram_double() -> AsyncIterator[TelegramDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(TelegramDouble()) as double:
        yield double
