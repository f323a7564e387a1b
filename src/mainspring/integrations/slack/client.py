"""Slack Web API client.

Slack also returns 200 for errors; ``ok`` in the body decides, and ``error`` has the code. Each
known code has a message, and whether a retry can help. The API supports no idempotency key.

Calls authenticate as a connection's bot, or with a secret that a step names. An invalid connection
needs a person to reconnect it; a secret has to be replaced by its owner.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import orjson

from mainspring.contracts.addresses import read_base_address
from mainspring.contracts.context import HttpClient, HttpRequest, HttpResponse
from mainspring.contracts.errors import Invalid, NotFound, ReconnectRequired, UpstreamError
from mainspring.contracts.provider_responses import format_one_line
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

# The bot token of the call's connection.
CONNECTED: Final = SecretText((CONNECTION_TOKEN,))
# Slack's messages have much overhead, and the response size is limited. Apps outside Slack's
# Marketplace get at most fifteen messages per page.
PAGE: Final = 15
# The limit of replies read per thread, across pages.
_REPLIES: Final = 120
# The limit of channel pages searched for a name.
_CHANNEL_PAGES: Final = 20
_CHANNELS_A_PAGE: Final = 200
_REPLY_PAGES: Final = 40
_SECONDS = 30.0
_WORD = re.compile(r"[a-z0-9_]{1,80}")
_WHOLE_SECONDS = re.compile(r"[0-9]{1,9}")

_KEEP_ONE = "Keep a valid bot token with `mainspring secrets set`, with the scope chat:write."
_TRY_AGAIN = frozenset(
    {
        "accesslimited",
        "fatal_error",
        "internal_error",
        "message_limit_exceeded",
        "org_login_required",
        "rate_limited",
        "ratelimited",
        "request_timeout",
        "service_unavailable",
        "team_added_to_org",
    }
)
# The codes of a rate limit.
PAUSES: Final = frozenset({"slack_rate_limited", "slack_ratelimited"})
# Slack failed midway, so the write may have happened.
_IN_DOUBT = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
# The connection needs a person to reconnect: the token is invalid or lacks a scope.
_RECONNECT = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "missing_scope",
        "no_permission",
        "not_authed",
        "not_allowed_token_type",
        "team_access_not_granted",
        "token_expired",
        "token_revoked",
    }
)
# For these, a refreshed token may work.
_RENEW = frozenset({"invalid_auth", "token_expired", "token_revoked"})
# Errors are short; large responses are not parsed twice to find one.
_LONGEST_REFUSAL: Final = 4_096
# Slack's error codes, with message and remedy.
_REFUSALS: Mapping[str, tuple[str, str | None]] = {
    "account_inactive": ("The account of the token was deactivated.", _KEEP_ONE),
    "channel_not_found": (
        "Slack found no such channel, or the bot may not see it.",
        "Give the channel's id, and invite the bot into private channels.",
    ),
    "invalid_auth": ("Slack does not accept the token.", _KEEP_ONE),
    "is_archived": ("The channel is archived.", "Choose another channel, or open it again."),
    "invalid_cursor": ("Slack no longer accepts the cursor of the last read.", None),
    "missing_scope": ("The token does not allow this.", _KEEP_ONE),
    "msg_too_long": ("The message is too long for Slack.", "Shorten it, or send a link."),
    "no_permission": ("The bot may not post in this workspace.", _KEEP_ONE),
    "no_text": ("The message is empty.", None),
    "not_authed": ("Slack was given no token.", _KEEP_ONE),
    "not_in_channel": ("The bot is not in the channel.", "Invite it: /invite @its-name."),
    "restricted_action": ("The settings of the Slack workspace forbid this message.", None),
    "org_login_required": ("The Slack workspace is being migrated and is not available.", None),
    "team_access_not_granted": ("The token has no access to this workspace.", _KEEP_ONE),
    "thread_not_found": ("There is no such thread in the channel.", "Check thread_ts."),
    "token_expired": ("The token has expired.", _KEEP_ONE),
    "token_revoked": ("The token was revoked.", _KEEP_ONE),
}


def is_token_refused(response: HttpResponse) -> bool:
    """Report whether Slack says, with status 200, that the token is invalid."""
    if response.status != 200 or len(response.body) > _LONGEST_REFUSAL:
        return False
    try:
        answer = orjson.loads(response.body)
    except orjson.JSONDecodeError:
        return False
    return isinstance(answer, dict) and answer.get("ok") is False and answer.get("error") in _RENEW


@dataclass(frozen=True, slots=True)
class MessagePage:
    """A page of messages, newest first, with the cursor."""

    messages: Sequence[Any]
    following: str | None


class Slack:
    """The API client for one base URL."""

    def __init__(self, base_url: str) -> None:
        self._base, host = _check_base_url(base_url)
        self.hosts = frozenset({host})
        # Slack has a separate host for response URLs.
        self.reply_hosts = frozenset({host, f"hooks.{host}"})

    async def post_message(
        self, http: HttpClient, token: SecretText, message: Mapping[str, Any]
    ) -> tuple[str, str]:
        """Post a message; return its channel id and ts."""
        answer = await self._call(http, token, "chat.postMessage", message)
        channel, ts = answer.get("channel"), answer.get("ts")
        if not isinstance(channel, str) or not isinstance(ts, str):
            _not_slack()
        return channel, ts

    async def update_message(self, http: HttpClient, message: Mapping[str, Any]) -> None:
        """Update a message of the connection's bot."""
        await self._call(http, CONNECTED, "chat.update", message)

    async def get_identity(self, http: HttpClient) -> str:
        """Return the connection's identity as bot @ workspace."""
        answer = await self._read(http, "auth.test", {})
        user, team = answer.get("user"), answer.get("team")
        if not isinstance(user, str) or not isinstance(team, str):
            _not_slack()
        return format_one_line(f"{user} @ {team}")

    async def find_channel(self, http: HttpClient, name: str) -> str:
        """Return a channel's id by name; ``Missing`` when the bot sees none of that name."""
        following: str | None = ""
        for _ in range(_CHANNEL_PAGES):
            answer = await self._read(
                http,
                "conversations.list",
                {
                    "types": "public_channel,private_channel",
                    "exclude_archived": "true",
                    "limit": str(_CHANNELS_A_PAGE),
                    **({"cursor": following} if following else {}),
                },
            )
            for one in _objects(answer, "channels"):
                if one.get("name") == name and isinstance(one.get("id"), str):
                    return str(one["id"])
            following = _following(answer)
            if following is None:
                break
        raise NotFound(
            f"The bot sees no channel #{name} in Slack.",
            code="slack_channel_not_found",
            suggestion="Check the name, invite the bot into private channels, or give the "
            "channel's id.",
        )

    async def history(
        self, http: HttpClient, channel: str, *, oldest: str = "", page: str | None = None
    ) -> MessagePage:
        """List a page of a channel's messages newer than ``oldest``."""
        asked = {"channel": channel, "limit": str(PAGE)}
        asked |= {"oldest": oldest} if oldest else {}
        asked |= {"cursor": page} if page else {}
        answer = await self._read(http, "conversations.history", asked)
        if not isinstance(answer.get("messages"), list):
            _not_slack()
        return MessagePage(answer["messages"], _following(answer))

    async def replies(
        self, http: HttpClient, channel: str, ts: str
    ) -> tuple[list[Mapping[str, Any]], bool]:
        """List a thread's replies, oldest first, without its first message.

        The second value says whether the list is complete up to the limit. A rate limit after the
        first page ends it early.
        """
        found: list[Mapping[str, Any]] = []
        following: str | None = ""
        for _ in range(_REPLY_PAGES):
            asked = {"channel": channel, "ts": ts, "limit": str(PAGE)}
            asked |= {"cursor": following} if following else {}
            try:
                answer = await self._read(http, "conversations.replies", asked)
            except UpstreamError as problem:
                if found and problem.code in PAUSES:
                    return found, False
                raise
            found += [one for one in _objects(answer, "messages") if one.get("ts") != ts]
            following = _following(answer)
            if following is None or len(found) >= _REPLIES:
                break
        return found[:_REPLIES], True

    async def user_name(self, http: HttpClient, user: str) -> str:
        """Return a member's display name."""
        answer = await self._read(http, "users.info", {"user": user})
        told = answer.get("user")
        told = told if isinstance(told, Mapping) else {}
        profile = told.get("profile")
        profile = profile if isinstance(profile, Mapping) else {}
        names = (profile.get("display_name"), told.get("real_name"), told.get("name"))
        return format_one_line(
            next((one for one in names if isinstance(one, str) and one), user), 80
        )

    async def _read(
        self, http: HttpClient, method: str, query: Mapping[str, str]
    ) -> dict[str, Any]:
        response = await http.send(
            HttpRequest(
                method="GET",
                url=f"{self._base}/{method}",
                headers={"Authorization": SecretText(("Bearer ", *CONNECTED.parts))},
                query=query,
                timeout_seconds=_SECONDS,
                follow_redirects=False,
            )
        )
        return _answer(response, CONNECTED)

    async def _call(
        self, http: HttpClient, token: SecretText, method: str, body: Mapping[str, Any]
    ) -> dict[str, Any]:
        response = await http.send(
            HttpRequest(
                method="POST",
                url=f"{self._base}/{method}",
                headers={
                    "Authorization": SecretText(("Bearer ", *token.parts)),
                    "Content-Type": "application/json; charset=utf-8",
                },
                query={},
                body=orjson.dumps(body),
                timeout_seconds=_SECONDS,
                follow_redirects=False,
            )
        )
        return _answer(response, token)


def _answer(response: HttpResponse, token: SecretText) -> dict[str, Any]:
    _check_status(response)
    answer = _read(response.body)
    if answer["ok"] is not True:
        _refuse(answer.get("error"), response, connected=token == CONNECTED)
    return answer


def _following(answer: Mapping[str, Any]) -> str | None:
    """Return the next cursor; Slack omits it or sends an empty one at the end."""
    told = answer.get("response_metadata")
    following = told.get("next_cursor") if isinstance(told, Mapping) else None
    return following if isinstance(following, str) and following else None


def _objects(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    found = answer.get(name)
    if not isinstance(found, list):
        _not_slack()
    return [one for one in found if isinstance(one, Mapping)]


def _check_base_url(base_url: str) -> tuple[str, str]:
    """Check the URL, and return it with the host and port to connect to."""
    found = read_base_address(base_url)
    if found is None:
        raise Invalid(
            "The address of Slack's API is not a web address.",
            code="bad_slack_url",
            suggestion="Write MAINSPRING_SLACK_URL like https://slack.com/api.",
        )
    return found


def _check_status(response: HttpResponse) -> None:
    status = response.status
    if status == 200:
        return
    if status == 429:
        raise UpstreamError(
            "Slack asks for a pause: too many requests in a short time.",
            code="slack_ratelimited",
            retry_after=_pause(response),
            unsent=True,
        )
    later = status in {408, 425} or status >= 500
    raise UpstreamError(
        f"Slack answered with status {status}.",
        code="slack_status",
        retryable=later,
        retry_after=_pause(response) if later else None,
        unsent=400 <= status < 500 and not later,
    )


def _pause(response: HttpResponse) -> float | None:
    """The retry delay, in whole seconds."""
    text = response.headers.get("retry-after", "").strip()
    return float(text) if _WHOLE_SECONDS.fullmatch(text) else None


def _read(body: bytes) -> dict[str, Any]:
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool):
        _not_slack()
    return answer


def _not_slack() -> NoReturn:
    """A response that is not Slack's. A retry could post twice, and would most likely fail
    again."""
    raise UpstreamError(
        "The response is not one of Slack's API.",
        code="slack_answer",
        retryable=False,
        suggestion="See whether MAINSPRING_SLACK_URL leads to Slack.",
    )


def _refuse(error: Any, response: HttpResponse, *, connected: bool) -> NoReturn:
    word = error if isinstance(error, str) and _WORD.fullmatch(error) else "unknown_error"
    later = word in _TRY_AGAIN
    plain = (f"Slack refused it: {word}.", None)
    detail, suggestion = _REFUSALS.get(word, plain)
    if connected and word in _RECONNECT:
        raise ReconnectRequired(
            detail,
            code=f"slack_{word}",
            suggestion="Connect Slack again, and agree to everything that it asks for.",
        )
    raise UpstreamError(
        detail,
        code=f"slack_{word}",
        retryable=later,
        retry_after=_pause(response) if later else None,
        suggestion=suggestion,
        unsent=word not in _IN_DOUBT,
    )
