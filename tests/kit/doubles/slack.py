"""A Slack workspace on loopback: it checks tokens, scopes and cursors as Slack does.

It says 200 to nearly everything; ``ok`` in the body tells what it thinks.
"""

from __future__ import annotations

import base64
import contextlib
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "xoxb-9876543210-klmnopqrst"
_SCOPE = "channels:history,channels:read,chat:write,groups:history,groups:read,users:read"


def said(body: dict[str, Any], *headers: str) -> bytes:
    """An answer of Slack."""
    return http_answer(200, json.dumps(body).encode(), "Content-Type: application/json", *headers)


def refusal(error: str, *headers: str) -> bytes:
    """What Slack says when it does not do it."""
    return said({"ok": False, "error": error}, *headers)


@dataclass(slots=True)
class SlackWorkspace(ScriptedDouble):
    """Channels with their messages, and people with their names."""

    # By id: the channel's name.
    channels: dict[str, str] = field(default_factory=dict)
    # By channel: its messages, oldest first.
    history: dict[str, list[Any]] = field(default_factory=dict)
    # By channel and ts: the answers in a thread.
    threads: dict[tuple[str, str], list[Any]] = field(default_factory=dict)
    people: dict[str, str] = field(default_factory=dict)
    # How much is on one page, whatever is asked for.
    page: int = 1_000
    # Slack's limits for an app that is sold outside its Marketplace: one request a minute of each
    # of the two methods that read messages, with at most fifteen messages.
    throttled: bool = False
    used: set[str] = field(default_factory=set)
    # Cursors that were given out before this moment are not known any more.
    forgotten: bool = False
    asked: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    # The bot token that is good now, those that have ended, and what renews it: good once.
    token: str = TOKEN
    expired: set[str] = field(default_factory=set)
    refresh: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.pair}/api"

    def said_to(self, method: str) -> list[dict[str, str]]:
        return [given for name, given in self.asked if name == method]

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        target = urlsplit(head.split(b" ", 2)[1].decode())
        method = target.path.removeprefix("/api/")
        arguments: dict[str, Any] = dict(parse_qsl(target.query))
        if method == "oauth.v2.access":
            arguments |= dict(parse_qsl(body.decode()))
            self.asked.append((method, arguments))
            return self._granted(arguments)
        if body:
            arguments |= json.loads(body)
        self.asked.append((method, arguments))
        shown = headers.get("authorization", "").removeprefix("Bearer ")
        if shown in self.expired:
            return refusal("token_expired")
        if shown != self.token:
            return refusal("invalid_auth" if shown else "not_authed")
        answers = {
            "auth.test": self._who,
            "chat.postMessage": self._posted,
            "conversations.list": self._listed,
            "conversations.history": self._history,
            "conversations.replies": self._answered,
            "users.info": self._person,
        }
        if self.throttled and method in {"conversations.history", "conversations.replies"}:
            if method in self.used:
                body = b'{"ok":false,"error":"ratelimited"}'
                return http_answer(429, body, "Content-Type: application/json", "Retry-After: 60")
            self.used.add(method)
            arguments["limit"] = str(min(int(arguments["limit"]), 15))
        answer = answers.get(method)
        return refusal("unknown_method") if answer is None else answer(arguments)

    def next_minute(self) -> None:
        """What was used up is there again."""
        self.used.clear()

    def expire(self) -> None:
        """The token ends before its time; Slack says so with status 200."""
        self.expired.add(self.token)

    def _granted(self, arguments: dict[str, Any]) -> bytes:
        """Tokens with rotation, for a code or for what renews the one before."""
        kind = arguments.get("grant_type")
        if kind == "refresh_token" and arguments.get("refresh_token") != self.refresh:
            return refusal("invalid_refresh_token")
        if kind == "authorization_code" and arguments.get("code") != "a-code":
            return refusal("invalid_code")
        number = len(self.said_to("oauth.v2.access"))
        self.expired.add(self.token)
        self.token, self.refresh = f"xoxe.xoxb-1-{number:020}", f"xoxe-1-{number:020}"
        return said(
            {
                "ok": True,
                "access_token": self.token,
                "refresh_token": self.refresh,
                "token_type": "bot",
                "expires_in": 43_200,
                "scope": _SCOPE,
            }
        )

    def _who(self, arguments: dict[str, Any]) -> bytes:
        del arguments
        return said({"ok": True, "user": "mainspring", "team": "Acme", "user_id": "UBOT"})

    def _posted(self, arguments: dict[str, Any]) -> bytes:
        if arguments["channel"] not in self.channels:
            return refusal("channel_not_found")
        self.messages.append(arguments)
        return said({"ok": True, "channel": arguments["channel"], "ts": "1700000099.000100"})

    def _listed(self, arguments: dict[str, Any]) -> bytes:
        found = [{"id": key, "name": name} for key, name in self.channels.items()]
        return self._paged("channels", found, arguments)

    def _history(self, arguments: dict[str, Any]) -> bytes:
        if arguments["channel"] not in self.channels:
            return refusal("channel_not_found")
        oldest = float(arguments.get("oldest", 0))
        found = [
            one
            for one in reversed(self.history.get(arguments["channel"], []))
            if not isinstance(one, dict) or "ts" not in one or float(one["ts"]) > oldest
        ]
        return self._paged("messages", found, arguments)

    def _answered(self, arguments: dict[str, Any]) -> bytes:
        found = self.threads.get((arguments["channel"], arguments["ts"]))
        if found is None:
            return refusal("thread_not_found")
        # The message that began the thread comes first on every page.
        began = [{"type": "message", "ts": arguments["ts"], "text": "…"}]
        return self._paged("messages", found, arguments, began)

    def _person(self, arguments: dict[str, Any]) -> bytes:
        name = self.people.get(arguments["user"])
        if name is None:
            return refusal("user_not_found")
        profile = {"display_name": name}
        return said({"ok": True, "user": {"id": arguments["user"], "profile": profile}})

    def _paged(
        self, name: str, found: list[Any], arguments: dict[str, Any], first: Sequence[Any] = ()
    ) -> bytes:
        start = 0
        if "cursor" in arguments:
            if self.forgotten:
                self.forgotten = False
                return refusal("invalid_cursor")
            start = int(base64.b64decode(arguments["cursor"]))
        end = start + max(min(int(arguments["limit"]), self.page) - len(first), 1)
        following = base64.b64encode(str(end).encode()).decode() if end < len(found) else ""
        result = {"ok": True, name: [*first, *found[start:end]], "has_more": bool(following)}
        # At the end Slack says an empty cursor for some methods, and nothing for others.
        return said(
            result | ({"response_metadata": {"next_cursor": following}} if following else {})
        )


@contextlib.asynccontextmanager
async def slack_workspace() -> AsyncIterator[SlackWorkspace]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(SlackWorkspace()) as double:
        yield double
