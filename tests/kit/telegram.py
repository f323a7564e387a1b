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
    # Chats in which the bot may write, by id, with the topics of each.
    chats: dict[str, set[int]] = field(default_factory=lambda: {CHAT: set()})
    # The chats in which "typing" was shown.
    typing: list[str] = field(default_factory=list)

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        target = urlsplit(head.split(b" ", 2)[1].decode())
        _, bot, *method = unquote(target.path).split("/")
        ways = {
            "sendMessage": self._sent,
            "getMe": self._me,
            "getUpdates": self._came,
            "editMessageText": self._edited,
            "answerCallbackQuery": self._answered,
            "sendChatAction": self._acted,
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
        self.chats.setdefault(str(user), set())
        self.posted(chat, who, text=text)

    def wrote_in_group(
        self, text: str, *, group: int, user: int = int(CHAT), topic: int | None = None
    ) -> None:
        """Somebody writes in a group that the bot is in, perhaps in one of its topics."""
        who = {"id": user, "is_bot": False, "first_name": "Ada"}
        chat = {"id": group, "type": "supergroup", "title": "Team", "is_forum": topic is not None}
        topics = self.chats.setdefault(str(group), set())
        more: dict[str, Any] = {}
        if topic is not None:
            topics.add(topic)
            more = {"message_thread_id": topic, "is_topic_message": True}
        self.posted(chat, who, text=text, **more)

    def posted(self, chat: dict[str, Any], who: dict[str, Any], **content: Any) -> None:
        """A message of any content."""
        message = {
            "message_id": 900 + len(self.updates),
            "from": who,
            "chat": chat,
            "date": 1_785_578_400,
            **content,
        }
        self.came(message=message)

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

    def _acted(self, arguments: dict[str, Any]) -> bytes:
        if arguments.get("action") != "typing":
            return refusal(400, "Bad Request: wrong parameter action in request")
        wrong = self._place_refusal(arguments)
        if wrong is not None:
            return wrong
        self.typing.append(str(arguments["chat_id"]))
        return _done(True)

    def _place_refusal(self, arguments: dict[str, Any]) -> bytes | None:
        """What is wrong with the chat or the topic; None: the bot may write there."""
        topics = self.chats.get(str(arguments.get("chat_id")))
        if topics is None:
            return refusal(400, "Bad Request: chat not found")
        topic = arguments.get("message_thread_id")
        if topic is not None and topic not in topics:
            return refusal(400, "Bad Request: message thread not found")
        return None

    def _can_reply(self, arguments: dict[str, Any], reply: dict[str, Any]) -> bool:
        numbers = {
            one["message"]["message_id"]
            for one in self.updates.values()
            if str(one.get("message", {}).get("chat", {}).get("id")) == str(arguments["chat_id"])
        }
        there = reply.get("message_id") in numbers
        return there or reply.get("allow_sending_without_reply") is True

    def _edited(self, arguments: dict[str, Any]) -> bytes:
        self.edits.append(arguments)
        return _done({"message_id": arguments["message_id"], "text": arguments["text"]})

    def _sent(self, arguments: dict[str, Any]) -> bytes:
        text = str(arguments.get("text", ""))
        wrong = self._place_refusal(arguments)
        if wrong is not None:
            return wrong
        if not text.strip():
            return refusal(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > 4096:
            return refusal(400, "Bad Request: message is too long")
        reply = arguments.get("reply_parameters")
        if reply is not None and not self._can_reply(arguments, reply):
            return refusal(400, "Bad Request: message to be replied not found")
        self.messages.append(arguments)
        output = {
            "message_id": 100 + len(self.messages),
            "from": {"id": int(TOKEN.partition(":")[0]), "is_bot": True, "first_name": "Nudge"},
            "chat": {"id": int(arguments["chat_id"]), "first_name": "Ada", "type": "private"},
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
