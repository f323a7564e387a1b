"""Slack's Web API: the only place that knows its addresses and its answers.

Slack says 200 also when it refuses; what counts is ``ok`` in the body, and ``error`` says
why. Each known refusal is told in a sentence, with whether another try can help. The API
honours no idempotency key, so none is sent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NoReturn

import orjson

from mainspring.contracts.base_address import read_base_address
from mainspring.contracts.context import Http, HttpRequest, HttpResponse
from mainspring.contracts.errors import Invalid, Upstream
from mainspring.contracts.secret import SecretText

_SECONDS = 30.0
_WORD = re.compile(r"[a-z0-9_]{1,80}")
_WHOLE_SECONDS = re.compile(r"[0-9]{1,9}")

_KEEP_ONE = "Keep a valid bot token with `mainspring secrets set`, with the scope chat:write."
_TRY_AGAIN = frozenset(
    {
        "accesslimited", "fatal_error", "internal_error", "message_limit_exceeded",
        "rate_limited", "ratelimited", "request_timeout", "service_unavailable",
        "team_added_to_org",
    }
)  # fmt: skip
# Slack broke off in the middle, and says that some of it may have been done.
_IN_DOUBT = frozenset({"fatal_error", "internal_error", "request_timeout", "service_unavailable"})
# What Slack's own word means, and what to do about it.
_REFUSALS: Mapping[str, tuple[str, str | None]] = {
    "account_inactive": ("The token belongs to an account that was switched off.", _KEEP_ONE),
    "channel_not_found": (
        "Slack knows no such channel, or the bot may not see it.",
        "Give the channel's id, and invite the bot into private channels.",
    ),
    "invalid_auth": ("Slack does not accept the token.", _KEEP_ONE),
    "is_archived": ("The channel is archived.", "Choose another channel, or open it again."),
    "missing_scope": ("The token does not allow posting.", _KEEP_ONE),
    "msg_too_long": ("The message is too long for Slack.", "Shorten it, or send a link."),
    "no_permission": ("The bot may not post in this workspace.", _KEEP_ONE),
    "no_text": ("The message is empty.", None),
    "not_authed": ("Slack was given no token.", _KEEP_ONE),
    "not_in_channel": ("The bot is not in the channel.", "Invite it: /invite @its-name."),
    "restricted_action": ("The settings of the Slack workspace forbid this message.", None),
    "thread_not_found": ("There is no such thread in the channel.", "Check thread_ts."),
    "token_expired": ("The token has expired.", _KEEP_ONE),
    "token_revoked": ("The token was revoked.", _KEEP_ONE),
}


class Slack:
    """Slack's API at one address."""

    def __init__(self, base_url: str) -> None:
        self._base, host = _checked(base_url)
        self.hosts = frozenset({host})

    async def post_message(
        self, http: Http, token: SecretText, message: Mapping[str, str]
    ) -> tuple[str, str]:
        """Posts one message; answers with the channel's id and the message's ts."""
        answer = await self._call(http, token, "chat.postMessage", message)
        channel, ts = answer.get("channel"), answer.get("ts")
        if not isinstance(channel, str) or not isinstance(ts, str):
            _not_slack()
        return channel, ts

    async def _call(
        self, http: Http, token: SecretText, method: str, body: Mapping[str, str]
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
        _check_status(response)
        answer = _read(response.body)
        if answer["ok"] is not True:
            _refuse(answer.get("error"), response)
        return answer


def _checked(base_url: str) -> tuple[str, str]:
    """The address as it is called, and the host and port that may be dialled."""
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
        raise Upstream(
            "Slack asks for a pause: too many messages in a short time.",
            code="slack_ratelimited",
            retry_after=_pause(response),
            unsent=True,
        )
    later = status in {408, 425} or status >= 500
    raise Upstream(
        f"Slack answered with status {status}.",
        code="slack_status",
        retryable=later,
        retry_after=_pause(response) if later else None,
        unsent=400 <= status < 500 and not later,
    )


def _pause(response: HttpResponse) -> float | None:
    """Slack says it in whole seconds."""
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
    """Trying again could post twice, and would most likely meet the same stranger."""
    raise Upstream(
        "What answered does not speak as Slack's API does.",
        code="slack_answer",
        retryable=False,
        suggestion="See whether MAINSPRING_SLACK_URL leads to Slack.",
    )


def _refuse(error: Any, response: HttpResponse) -> NoReturn:
    word = error if isinstance(error, str) and _WORD.fullmatch(error) else "unknown_error"
    later = word in _TRY_AGAIN
    plain = (f"Slack refused the message: {word}.", None)
    detail, suggestion = _REFUSALS.get(word, plain)
    raise Upstream(
        detail,
        code=f"slack_{word}",
        retryable=later,
        retry_after=_pause(response) if later else None,
        suggestion=suggestion,
        unsent=word not in _IN_DOUBT,
    )
