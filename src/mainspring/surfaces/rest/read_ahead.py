"""A request's body read before its route does, and handed on unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mainspring.contracts.errors import Invalid

if TYPE_CHECKING:
    from starlette.types import Message, Receive

# An answer to a question is small; a route may set a lower limit.
MOST_BYTES: Final = 1_048_576


async def read_ahead(receive: Receive) -> tuple[bytes, Receive]:
    """The whole body, and what a route receives it from again."""
    body, more = b"", True
    while more:
        message = await receive()
        if message["type"] != "http.request":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MOST_BYTES:
            raise Invalid("What is confirmed at a terminal is too large.", code="too_large")
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return body, again
