"""The header ``Idempotency-Key``, parsed the same way by every route that accepts one."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Request

from mainspring.triggers.webhook_auth import one_key

KEY_HEADER: Final[dict[str, Any]] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A second call with the same key, within 24 hours, finds the first one's "
    "run. The member idempotency_key of the body does the same.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
}
EVENT_KEY_HEADER: Final[dict[str, Any]] = {
    **KEY_HEADER,
    "description": "A second call with the same key, within 24 hours, tells nothing new. The "
    "member idempotency_key of the body does the same.",
}
# The response header that marks a replayed response.
REPLAY: Final = "Idempotent-Replay"


def key_of(request: Request, inside: str | None) -> str | None:
    """The key of a request; header and body must not differ."""
    return one_key(request.headers.getlist("idempotency-key"), inside)
