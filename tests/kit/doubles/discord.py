"""Discord's API on loopback: a bot with a token, channels with messages, and nonces it holds to."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from tests.kit.scripted_server import ScriptedDouble, http_answer, serving

TOKEN = "MTEwMDAwMDAwMDAwMDAwMDAwMQ.G0xyzA.bot-token-of-a-double"
# The address of the program and its version, as Discord's reference asks for them.
_AGENT = re.compile(r"DiscordBot \(https?://[^\s,()]+, [0-9]+(\.[0-9]+)*\)")
_MESSAGES = re.compile(r"/api/v10/channels/([0-9]+)/messages")


def answer(status: int, body: Any, *headers: str) -> bytes:
    """An answer of Discord."""
    return http_answer(
        status, json.dumps(body).encode(), "Content-Type: application/json", *headers
    )


def refusal(status: int, code: int, message: str) -> bytes:
    return answer(status, {"message": message, "code": code})


def pause(seconds: float) -> bytes:
    """Too many requests: the body says it more exactly than the headers."""
    return answer(
        429,
        {"message": "You are being rate limited.", "retry_after": seconds, "global": False},
        "Retry-After: 65",
        "X-RateLimit-Reset-After: 64.57",
        "X-RateLimit-Scope: user",
    )


@dataclass(slots=True)
class DiscordDouble(ScriptedDouble):
    """Channels by their ids, each with its messages, oldest first."""

    channels: dict[str, list[Any]] = field(default_factory=dict)
    # Channels that the bot may not see, and those that it may only read.
    closed: set[str] = field(default_factory=set)
    read_only: set[str] = field(default_factory=set)
    nonces: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://{self.pair}/api/v10"

    def _respond(self, head: bytes, headers: dict[str, str], body: bytes) -> bytes:
        method, where = head.decode().split(" ", 2)[:2]
        target = urlsplit(where)
        if headers.get("authorization") != f"Bot {TOKEN}":
            return refusal(401, 0, "401: Unauthorized")
        if not _AGENT.fullmatch(headers.get("user-agent", "")):
            return http_answer(403, b"error code: 1010")
        if target.path == "/api/v10/users/@me":
            return answer(200, {"id": "1100000000000000777", "username": "spring", "bot": True})
        found = _MESSAGES.fullmatch(target.path)
        if found is None or found[1] not in self.channels:
            return refusal(404, 10003, "Unknown Channel")
        if found[1] in self.closed:
            return refusal(403, 50001, "Missing Access")
        if method == "POST":
            return self._posted(found[1], json.loads(body))
        return self._listed(found[1], dict(parse_qsl(target.query)))

    def _listed(self, channel: str, given: dict[str, str]) -> bytes:
        """The newest first, whichever way was asked; after an id the next ones in time."""
        most = int(given["limit"])
        assert 1 <= most <= 100
        there = self.channels[channel]
        if "after" in given:
            some = [one for one in there if int(one["id"]) > int(given["after"])][:most]
        else:
            before = int(given.get("before", 2**63))
            some = [one for one in there if int(one["id"]) < before][-most:]
        return answer(200, list(reversed(some)))

    def _posted(self, channel: str, arguments: dict[str, Any]) -> bytes:
        if channel in self.read_only:
            return refusal(403, 50013, "Missing Permissions")
        if not 0 < len(arguments["content"]) <= 2_000 or len(arguments["nonce"]) > 25:
            return refusal(400, 50035, "Invalid Form Body")
        if arguments.get("enforce_nonce") and arguments["nonce"] in self.nonces:
            return answer(200, self.nonces[arguments["nonce"]])
        self.messages.append(arguments)
        made = {"id": str(1_100_000_000_000_900_000 + len(self.messages)), "channel_id": channel}
        self.nonces[arguments["nonce"]] = made
        return answer(200, made)


@contextlib.asynccontextmanager
async def discord_double() -> AsyncIterator[DiscordDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(DiscordDouble()) as double:
        yield double
