"""Notification channels of Google's APIs, which several integrations watch resources with.

A channel expires, after a week at most. Its notifications have no content: they are authenticated
by a token that was given when the channel was made.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mainspring.contracts.errors import Conflict, Invalid, Problem
from mainspring.contracts.integration import PushRegistration, PushTarget
from mainspring.contracts.provider_responses import malformed_response_error, require_text

_LIFETIME: Final = timedelta(days=7)


def build_channel(target: PushTarget, now: datetime) -> dict[str, Any]:
    """The body of a watch request."""
    return {
        "id": target.channel_id,
        "type": "web_hook",
        "address": target.url,
        "token": target.secret,
        "expiration": str(int((now + _LIFETIME).timestamp() * 1_000)),
    }


def read_channel(found: Mapping[str, Any], name: str) -> PushRegistration:
    """What a watch request has made."""
    expiration = found.get("expiration")
    if not isinstance(expiration, str) or not expiration.isascii() or not expiration.isdigit():
        raise malformed_response_error(name)
    remote = {"id": require_text(found, "id", name)}
    remote["resourceId"] = require_text(found, "resourceId", name)
    return PushRegistration(remote, datetime.fromtimestamp(int(expiration[:15]) / 1_000, UTC))


def explain_watch_error(problem: Problem, reasons: frozenset[str]) -> Problem:
    """What a refusal of a watch request means."""
    if "channelIdNotUnique" in reasons:
        # An earlier attempt got through, and only its lost answer said how to stop it.
        return Conflict("The channel exists.", code="push_channel_exists", unsent=True)
    if any(one.startswith("push.") for one in reasons):
        return Invalid(
            "Google does not accept the public address of this server.",
            code="push_address",
            suggestion="It needs https with a valid certificate: mainspring doctor --public.",
            unsent=True,
        )
    return problem


def is_channel_genuine(headers: Mapping[str, str], body: bytes, target: PushTarget) -> bool:
    """Whether a notification has the token of its channel."""
    del body
    given = headers.get("x-goog-channel-token", "")
    return headers.get("x-goog-channel-id") == target.channel_id and hmac.compare_digest(
        given.encode("utf-8", "replace"), target.secret.encode()
    )


def is_channel_change(headers: Mapping[str, str]) -> bool:
    """Whether a notification is more than the confirmation of a new channel."""
    return headers.get("x-goog-resource-state") != "sync"
