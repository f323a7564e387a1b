"""Telegram's Bot API on loopback: it validates requests as Telegram does.

The path is percent-decoded before the token is read out of it, and the parameters of a call
are those of the query and of a JSON body together.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "7012345678:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw"
CHAT = "4815162342"


def refusal(status: int, description: str, **parameters: Any) -> bytes:
    """What the Bot API says when it does not do it."""
    output = {"ok": False, "error_code": status, "description": description}
    if parameters:
        output["parameters"] = parameters
    return http_answer(status, json.dumps(output).encode(), "Content-Type: application/json")


def pause(seconds: int) -> bytes:
    return refusal(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


@dataclass(slots=True)
class TelegramDouble(ScriptedDouble):
    """What was sent to Telegram, and what it answers."""

    # What has come to the bot and was not asked beyond yet, by number.
    updates: dict[int, dict[str, Any]] = field(default_factory=dict)
    edits: list[dict[str, Any]] = field(default_factory=list)
    # Buttons that were pressed: the person sees a progress bar until each is answered.
    spinning: set[str] = field(default_factory=set)
    # The address of a webhook, and whether another program asks for the updates of this bot.
    webhook: str = ""
    polled_elsewhere: bool = False

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        target = urlsplit(head.split(b" ", 2)[1].decode())
        _, bot, *method = unquote(target.path).split("/")
        ways = {
            "sendMessage": self._sent,
            "getMe": self._me,
            "getUpdates": self._came,
            "editMessageText": self._edited,
            "answerCallbackQuery": self._answered,
        }
        if not bot.startswith("bot") or len(method) != 1 or method[0] not in ways:
            return refusal(404, "Not Found")
        if bot != f"bot{TOKEN}":
            return refusal(401, "Unauthorized")
        arguments: dict[str, Any] = dict(parse_qsl(target.query))
        if headers.get("content-type") == "application/json":
            arguments |= json.loads(body)
        return ways[method[0]](arguments)

    def came(self, **update: Any) -> None:
        """Something comes to the bot."""
        number = 500 + len(self.updates)
        self.updates[number] = {"update_id": number, **update}

    def wrote(self, text: str, *, user: int = int(CHAT)) -> None:
        """Somebody writes to the bot, in the private chat of theirs."""
        who = {"id": user, "is_bot": False, "first_name": "Ada"}
        chat = {"id": user, "type": "private", "first_name": "Ada"}
        number = 900 + len(self.updates)
        self.came(
            message={
                "message_id": number,
                "from": who,
                "chat": chat,
                "date": 1_785_578_400,
                "text": text,
            },
        )

    def pressed(self, data: str, *, user: int = int(CHAT), message: int = 101) -> None:
        """Somebody presses a button under a message in their chat."""
        chat = {"id": user, "type": "private"}
        query = f"77{len(self.updates)}"
        self.spinning.add(query)
        self.came(
            callback_query={
                "id": query,
                "from": {"id": user, "is_bot": False, "first_name": "Ada"},
                "message": {"message_id": message, "chat": chat, "date": 1_785_578_400},
                "chat_instance": "1",
                "data": data,
            },
        )

    def _me(self, arguments: dict[str, Any]) -> bytes:
        del arguments
        me = {
            "id": int(TOKEN.partition(":")[0]),
            "is_bot": True,
            "first_name": "Nudge",
            "username": "adas_nudge_bot",
        }
        return _done(me)

    def _came(self, arguments: dict[str, Any]) -> bytes:
        if self.webhook:
            return refusal(
                409,
                "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook "
                "to delete the webhook first",
            )
        if self.polled_elsewhere:
            return refusal(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot "
                "instance is running",
            )
        first = int(arguments.get("offset", 0))
        left = [one for number, one in sorted(self.updates.items()) if number >= first]
        return _done(left[: int(arguments.get("limit", 100))])

    def _answered(self, arguments: dict[str, Any]) -> bytes:
        if arguments.get("callback_query_id") not in self.spinning:
            return refusal(
                400,
                "Bad Request: query is too old and response timeout expired or query ID is invalid",
            )
        self.spinning.remove(arguments["callback_query_id"])
        return _done(True)

    def _edited(self, arguments: dict[str, Any]) -> bytes:
        self.edits.append(arguments)
        return _done({"message_id": arguments["message_id"], "text": arguments["text"]})

    def _sent(self, arguments: dict[str, Any]) -> bytes:
        text = str(arguments.get("text", ""))
        if str(arguments.get("chat_id")) != CHAT:
            return refusal(400, "Bad Request: chat not found")
        if not text.strip():
            return refusal(400, "Bad Request: message text is empty")
        if len(text) > 4096:
            return refusal(400, "Bad Request: message is too long")
        self.messages.append(arguments)
        output = {
            "message_id": 100 + len(self.messages),
            "from": {"id": int(TOKEN.partition(":")[0]), "is_bot": True, "first_name": "Nudge"},
            "chat": {"id": int(CHAT), "first_name": "Ada", "type": "private"},
            "date": 1_785_578_400,
            "text": text.strip(),
        }
        return _done(output)


def _done(result: Any) -> bytes:
    body = json.dumps({"ok": True, "result": result}).encode()
    return http_answer(200, body, "Content-Type: application/json")


@contextlib.asynccontextmanager
async def telegram_double() -> AsyncIterator[TelegramDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(TelegramDouble()) as double:
        yield double
