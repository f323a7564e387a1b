"""A Slack app on loopback: its bot's messages, and the signed requests that its users cause.

It enforces Slack's rules for messages with buttons (scopes, the limits of blocks, who wrote a
message that is updated) and for response URLs (five answers within thirty minutes), and signs
what it sends as Slack does.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import html
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2

from tests.kit.doubles.slack import SlackWorkspace, refusal, said
from tests.kit.scripted_server import http_answer, serving

TEAM = "T0ACME"
SIGNING_SECRET = "8f742231b10e8888abcd99yyyzzz85a5"
_BLOCKS = {"section", "actions", "context", "divider", "header"}


@dataclass(slots=True)
class ResponseUrl:
    """Takes five answers within half an hour."""

    ts: str
    user: str
    used: int = 0
    until: float = field(default_factory=lambda: time.time() + 1_800)


@dataclass(slots=True)
class SlackApp(SlackWorkspace):
    """The app as its users see it: what the bot has written to them, and what they press."""

    # What the bot's token allows.
    scopes: set[str] = field(default_factory=lambda: {"chat:write", "users:read"})
    # By ts: the message as it is shown now.
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    # What was shown to one person alone, by user.
    ephemeral: list[tuple[str, str]] = field(default_factory=list)
    urls: dict[str, ResponseUrl] = field(default_factory=dict)
    secret: str = SIGNING_SECRET
    # A message is posted, and its sender does not learn of that.
    loses_answers: bool = False
    _count: int = 0

    @property
    def latest(self) -> dict[str, Any]:
        """The message that the bot posted last, as it is shown now."""
        return list(self.shown.values())[-1]

    @property
    def text(self) -> str:
        """What a person reads in the latest message."""
        return text_of(self.latest)

    def buttons(self, message: dict[str, Any] | None = None) -> list[dict[str, Any]]:
        """The buttons that answer something; those that only open a page are left out."""
        found = self.latest if message is None else message
        return [one for one in elements_of(found) if "url" not in one]

    def links(self) -> list[str]:
        return [one["url"] for one in elements_of(self.latest) if "url" in one]

    def press(
        self, label: str, *, user: str = "U0ADA", team: str = TEAM, ts: str | None = None
    ) -> bytes:
        """The body of the request that Slack sends when somebody presses a button."""
        message = self.latest if ts is None else self.shown[ts]
        (button,) = [one for one in elements_of(message) if one["text"]["text"] == label]
        self._count += 1
        url = f"http://{self.pair}/actions/{team}/{self._count}"
        self.urls[urlsplit(url).path] = ResponseUrl(message["ts"], user)
        action = {
            "type": "button",
            "action_id": button["action_id"],
            "block_id": "b1",
            "text": button["text"],
            "action_ts": f"{time.time():.6f}",
            **({"value": button["value"]} if "value" in button else {}),
        }
        payload: dict[str, Any] = {
            "type": "block_actions",
            "user": {"id": user, "username": user.lower(), "name": user.lower(), "team_id": team},
            "api_app_id": "A0MAIN",
            "token": "deprecated-verification-token",
            "container": {
                "type": "message",
                "message_ts": message["ts"],
                "channel_id": message["channel"],
                "is_ephemeral": False,
            },
            "trigger_id": f"{self._count}.123.abcdef",
            "team": {"id": team, "domain": "acme"},
            "enterprise": None,
            "is_enterprise_install": False,
            "channel": {"id": message["channel"], "name": "directmessage"},
            "message": {
                "bot_id": "B0MAIN",
                "type": "message",
                "text": message["text"],
                "user": "UBOT",
                "ts": message["ts"],
                "team": team,
                "blocks": message["blocks"],
            },
            "state": {"values": {}},
            "response_url": url,
            "actions": [action],
        }
        return urlencode({"payload": json.dumps(payload)}).encode()

    def command(self, text: str, *, user: str = "U0ADA", team: str = TEAM) -> bytes:
        """The body of the request that Slack sends for ``/mainspring TEXT``."""
        self._count += 1
        return urlencode(
            {
                "token": "deprecated-verification-token",
                "team_id": team,
                "team_domain": "acme",
                "channel_id": "D0ADA",
                "channel_name": "directmessage",
                "user_id": user,
                "user_name": user.lower(),
                "command": "/mainspring",
                "text": text,
                "api_app_id": "A0MAIN",
                "is_enterprise_install": "false",
                "response_url": f"http://{self.pair}/commands/{team}/{self._count}",
                "trigger_id": f"{self._count}.456.abcdef",
            }
        ).encode()

    def signed(
        self, body: bytes, *, at: float | None = None, secret: str | None = None
    ) -> dict[str, str]:
        """The headers of a request of Slack."""
        stamp = str(int(time.time() if at is None else at))
        key = (self.secret if secret is None else secret).encode()
        digest = hmac.new(key, b"v0:" + stamp.encode() + b":" + body, hashlib.sha256).hexdigest()
        return {
            "X-Slack-Signature": f"v0={digest}",
            "X-Slack-Request-Timestamp": stamp,
            "Content-Type": "application/x-www-form-urlencoded",
            "User-Agent": "Slackbot 1.0 (+https://api.slack.com/robots)",
        }

    async def deliver(
        self, client: httpx2.AsyncClient, url: str, body: bytes, **signing: Any
    ) -> httpx2.Response:
        """Sends a request; Slack shows an error to its user when three seconds pass."""
        headers = self.signed(body, **signing)
        return await client.post(url, content=body, headers=headers, timeout=3.0)

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        path = urlsplit(head.split(b" ", 2)[1].decode()).path
        if not path.startswith("/api/"):
            return self._responded(path, headers, body)
        if path in ("/api/chat.postMessage", "/api/chat.update"):
            shown = headers.get("authorization", "").removeprefix("Bearer ")
            if shown == self.token and "chat:write" not in self.scopes:
                return said(
                    {
                        "ok": False,
                        "error": "missing_scope",
                        "needed": "chat:write",
                        "provided": ",".join(sorted(self.scopes)),
                    }
                )
            if shown == self.token and path == "/api/chat.update":
                return self._updated(json.loads(body))
        return SlackWorkspace._respond(self, head, headers, body)

    def _posted(self, arguments: dict[str, Any]) -> bytes:
        wrong = _wrong_blocks(arguments.get("blocks"))
        if wrong:
            return said(
                {
                    "ok": False,
                    "error": "invalid_blocks",
                    "errors": [wrong],
                    "response_metadata": {"messages": [f"[ERROR] {wrong}"]},
                }
            )
        to = arguments["channel"]
        if to in self.people:
            # A message to a user arrives in their direct messages with the bot.
            arguments = {**arguments, "channel": f"D{to[1:]}"}
        elif to not in self.channels:
            return refusal("channel_not_found")
        self.messages.append(arguments)
        ts = f"1700000099.{len(self.messages):06}"
        self.shown[ts] = {"text": "", "blocks": [], **arguments, "ts": ts}
        if self.loses_answers:
            return http_answer(502, b"")
        return said({"ok": True, "channel": arguments["channel"], "ts": ts})

    def _updated(self, arguments: dict[str, Any]) -> bytes:
        found = self.shown.get(arguments["ts"])
        if found is None or found["channel"] != arguments["channel"]:
            return refusal("message_not_found")
        if _wrong_blocks(arguments.get("blocks")):
            return refusal("invalid_blocks")
        found |= {"text": arguments["text"], "blocks": arguments.get("blocks", [])}
        return said({"ok": True, "channel": arguments["channel"], "ts": arguments["ts"]})

    def _responded(self, path: str, headers: dict[str, str], body: bytes) -> bytes:
        url = self.urls.get(path)
        if url is None:
            return http_answer(404, b"no_team")
        if "authorization" in headers:
            return http_answer(400, b"token_shown_to_response_url")
        if url.used >= 5:
            return http_answer(404, b'{"ok":false,"error":"used_url"}')
        if time.time() > url.until:
            return http_answer(404, b'{"ok":false,"error":"expired_url"}')
        url.used += 1
        given = json.loads(body)
        if _wrong_blocks(given.get("blocks")) or not given.get("text"):
            return http_answer(400, b'{"ok":false,"error":"invalid_blocks"}')
        if given.get("replace_original") is True:
            self.shown[url.ts] |= {"text": given["text"], "blocks": given.get("blocks", [])}
        elif given.get("response_type", "ephemeral") == "ephemeral":
            self.ephemeral.append((url.user, html.unescape(given["text"])))
        return http_answer(200, b"ok")


def elements_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    blocks = [one for one in message["blocks"] if one["type"] == "actions"]
    return [element for block in blocks for element in block["elements"]]


def text_of(message: dict[str, Any]) -> str:
    """What a person reads: the entities that Slack knows are characters again."""
    texts = [one["text"]["text"] for one in message["blocks"] if one["type"] == "section"]
    return html.unescape("\n".join(texts))


def _wrong_blocks(blocks: Any) -> str | None:
    """What Slack refuses about blocks; None: it takes them."""
    if blocks is None:
        return None
    if not isinstance(blocks, list) or len(blocks) > 50:
        return "no more than 50 items allowed [json-pointer:/blocks]"
    for place, block in enumerate(blocks):
        if block.get("type") not in _BLOCKS:
            return f"unsupported type [json-pointer:/blocks/{place}/type]"
        if block["type"] == "section":
            wrong = _wrong_text(block.get("text"), 3_000, {"plain_text", "mrkdwn"})
            if wrong:
                return f"{wrong} [json-pointer:/blocks/{place}/text]"
        if block["type"] == "actions":
            wrong = _wrong_actions(block)
            if wrong:
                return f"{wrong} [json-pointer:/blocks/{place}/elements]"
    return None


def _wrong_actions(block: dict[str, Any]) -> str | None:
    elements = block.get("elements")
    if not isinstance(elements, list) or not 1 <= len(elements) <= 25:
        return "must have between 1 and 25 elements"
    ids = [one.get("action_id") for one in elements]
    if len(set(ids)) < len(ids) or not all(isinstance(one, str) and len(one) <= 255 for one in ids):
        return "action_id must be unique and at most 255 characters"
    for one in elements:
        wrong = _wrong_text(one.get("text"), 75, {"plain_text"})
        if one.get("type") != "button" or wrong:
            return wrong or "not a button"
        if len(one.get("value", "")) > 2_000 or len(one.get("url", "")) > 3_000:
            return "value or url is too long"
        if one.get("style") not in (None, "primary", "danger"):
            return "no such style"
        if "url" in one and not one["url"].startswith(("http://", "https://")):
            return "invalid url"
    return None


def _wrong_text(text: Any, most: int, kinds: set[str]) -> str | None:
    if not isinstance(text, dict) or text.get("type") not in kinds:
        return "no such kind of text"
    if not isinstance(text.get("text"), str) or not 1 <= len(text["text"]) <= most:
        return f"must be between 1 and {most} characters"
    if "emoji" in text and text["type"] != "plain_text":
        return "emoji is for plain_text alone"
    return None


@contextlib.asynccontextmanager
async def slack_app() -> AsyncIterator[SlackApp]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(SlackApp()) as double:
        double.people = {"U0ADA": "Ada", "U0BOB": "Bob", "U0EVE": "Eve"}
        double.channels = {"C0GEN": "general"}
        yield double
