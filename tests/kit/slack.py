"""Slack's Web API on loopback: it checks what it is sent as Slack does, and answers by a script."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "xoxb-1234567890-abcdefghij"


def refusal(error: str) -> bytes:
    """What Slack says with status 200 when it does not do it."""
    body = json.dumps({"ok": False, "error": error, "warning": "missing_charset"}).encode()
    return http_answer(200, body, "Content-Type: application/json; charset=utf-8")


@dataclass(slots=True)
class SlackDouble(ScriptedDouble):
    """What was sent to Slack, and what it answers."""

    @property
    def url(self) -> str:
        return f"http://{self.pair}/api"

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        if not head.startswith(b"POST /api/chat.postMessage HTTP/1.1\r\n"):
            return refusal("unknown_method")
        if headers.get("authorization") != f"Bearer {TOKEN}":
            return refusal("invalid_auth" if "authorization" in headers else "not_authed")
        if headers.get("content-type") != "application/json; charset=utf-8":
            return refusal("invalid_post_type")
        message = json.loads(body)
        # An id, or a name with its sign: Slack takes both.
        if not str(message["channel"]).startswith(("C0", "#")):
            return refusal("channel_not_found")
        self.messages.append(message)
        output = {
            "ok": True,
            "channel": message["channel"],
            "ts": f"1503435956.{len(self.messages):06}",
            "message": {"text": message["text"], "type": "message", "subtype": "bot_message"},
        }
        return http_answer(200, json.dumps(output).encode(), "Content-Type: application/json")


@contextlib.asynccontextmanager
async def slack_double() -> AsyncIterator[SlackDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(SlackDouble()) as double:
        yield double
