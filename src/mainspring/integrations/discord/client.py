"""Discord HTTP API client.

Requests refer to the bot token by name. A message is posted with a nonce that Discord deduplicates
for some minutes: a repeated one returns the existing message.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any, Final

import orjson

from mainspring import __version__
from mainspring.contracts.context import HttpClient, HttpRequest, HttpResponse
from mainspring.contracts.errors import NotFound, PermissionDenied, Problem, UpstreamError
from mainspring.contracts.provider_responses import (
    LONGEST_PAUSE,
    format_one_line,
    malformed_response_error,
    parse_refusal,
    read_json,
    read_object,
    retry_after,
)
from mainspring.contracts.secret import SecretText, build_connection_secret

NAME: Final = "Discord"
BOT: Final = SecretText(("Bot ", build_connection_secret("bot_token")))
# Discord allows 100; messages may be large, and the response size is limited.
PAGE: Final = 50
_SECONDS: Final = 30.0
# Discord blocks clients whose User-Agent is not "DiscordBot (url, version)". The project has no
# public URL of its own, so it uses a reserved domain.
_AGENT: Final = f"DiscordBot (https://mainspring.example, {__version__})"
_ID: Final = re.compile(r"[0-9]{15,20}")
_INVITE: Final = "Invite the bot to the server, and let it see the channel and its history."
# Discord's error codes, with message and remedy.
_REFUSALS: Final[Mapping[int, tuple[type[Problem], str, str | None]]] = {
    10003: (NotFound, "Discord found no such channel, or the bot is not in its server.", _INVITE),
    10008: (NotFound, "There is no such message in the channel.", None),
    40001: (PermissionDenied, "Discord does not let this bot do that.", _INVITE),
    50001: (PermissionDenied, "The bot may not see this channel.", _INVITE),
    50013: (
        PermissionDenied,
        "The bot may see this channel and not write in it.",
        "Give its role the permission Send Messages.",
    ),
    50008: (
        PermissionDenied,
        "Messages cannot be posted in a channel of this kind.",
        "Choose a text channel.",
    ),
}


def is_id(value: Any) -> bool:
    """Report whether this is a Discord id (a snowflake as text)."""
    return isinstance(value, str) and _ID.fullmatch(value) is not None


class Discord:
    """The API client for one base URL."""

    def __init__(self, base: str, host: str) -> None:
        self._base = base
        self.hosts = frozenset({host})

    async def get_identity(self, http: HttpClient) -> str:
        """Return the bot's name."""
        found = read_object(await self._send(http, "GET", "/users/@me"), NAME)
        if not isinstance(found.get("username"), str):
            raise malformed_response_error(NAME)
        return format_one_line(found["username"], 80)

    async def messages(
        self, http: HttpClient, channel: str, *, after: str = "", before: str = ""
    ) -> list[Any]:
        """List a page of messages, newest first: after one, or before one."""
        query = {"limit": str(PAGE)}
        query |= {"after": after} if after else {}
        query |= {"before": before} if before else {}
        found = read_json(
            await self._send(http, "GET", f"/channels/{channel}/messages", query), NAME
        )
        if not isinstance(found, list):
            raise malformed_response_error(NAME)
        return found[:PAGE]

    async def post(
        self, http: HttpClient, channel: str, message: Mapping[str, Any], *, key: str
    ) -> str:
        """Post a message; return its id. The key deduplicates for some minutes."""
        nonce = hashlib.blake2b(key.encode(), digest_size=12).hexdigest()
        body = orjson.dumps({**message, "nonce": nonce, "enforce_nonce": True})
        answer = await self._send(http, "POST", f"/channels/{channel}/messages", body=body)
        found = read_object(answer, NAME)
        if not is_id(found.get("id")):
            raise malformed_response_error(NAME)
        return str(found["id"])

    async def _send(
        self,
        http: HttpClient,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> HttpResponse:
        headers: dict[str, str | SecretText] = {"Authorization": BOT, "User-Agent": _AGENT}
        headers |= {} if body is None else {"Content-Type": "application/json"}
        response = await http.send(
            HttpRequest(
                method=method,
                url=f"{self._base}{path}",
                headers=headers,
                query=query or {},
                body=body,
                timeout_seconds=_SECONDS,
                follow_redirects=False,
            )
        )
        problem = _problem(response)
        if problem is not None:
            raise problem
        return response


def _problem(response: HttpResponse) -> Problem | None:
    """Return the problem of a response; None when it succeeded."""
    if response.status == 429:
        return UpstreamError(
            "Discord asks for a pause: too many requests in a short time.",
            code="discord_busy",
            retry_after=_pause(response),
            unsent=True,
        )
    known = _REFUSALS.get(_number(response)) if 400 <= response.status < 500 else None
    if known is None:
        return parse_refusal(response, NAME)
    kind, detail, suggestion = known
    return kind(
        detail,
        code=f"discord_{_number(response)}",
        retryable=False,
        suggestion=suggestion,
        unsent=True,
    )


def _parse_body(response: HttpResponse) -> Mapping[str, Any]:
    try:
        found = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _number(response: HttpResponse) -> int:
    found = _parse_body(response).get("code")
    return found if isinstance(found, int) else 0


def _pause(response: HttpResponse) -> float | None:
    """The retry delay: the body is most precise; a proxy in front of Discord only sends headers."""
    wanted = _parse_body(response).get("retry_after")
    if isinstance(wanted, int | float) and not isinstance(wanted, bool) and wanted >= 0:
        return min(float(wanted), LONGEST_PAUSE)
    told = {"retry-after": response.headers.get("x-ratelimit-reset-after", "")}
    return retry_after(response.headers) or retry_after(told)
