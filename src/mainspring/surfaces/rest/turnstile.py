"""A flood of one webhook's calls is refused here, before it costs as much as a call.

A route says for how long no other call of its caller could be let in; whoever comes within that
moment is told so without anybody being asked. It is closed for a few hundredths of a second at
most, for this token at this address alone, so nobody is kept out who would have been let in.

It stands before everything else, and its answer looks like every other.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.rest.answers import as_json
from mainspring.surfaces.rest.problems import MEDIA_TYPE
from mainspring.surfaces.rest.request_tally import RequestTally
from mainspring.surfaces.rest.shell import HEADERS, id_of
from mainspring.triggers.entrance import too_often

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# Where a route finds whom to tell that whoever called is to come again later.
_CLOSE: Final = "close"
_LONGEST: Final = 0.05
_MOST: Final = 1_000
_CALLED: Final = "/fire"
_HEADERS: Final = [
    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
    (b"content-type", MEDIA_TYPE.encode()),
    (b"retry-after", b"1"),
]

Caller = tuple[str, bytes]


class Turnstile:
    """Remembers for a moment who was refused."""

    def __init__(
        self, app: ASGIApp, tally: RequestTally, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._tally = tally
        self._clock = clock
        # Until when somebody is refused, and the route that said so.
        self._closed: dict[Caller, tuple[float, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = _caller(scope)
        if caller is None:
            await self._app(scope, receive, send)
            return
        now = self._clock()
        until, route = self._closed.get(caller, (0.0, None))
        if until > now:
            await _refuse(scope, send, until - now)
            scope["route"] = route
            self._tally.count(scope, 429, self._clock() - now)
            return
        scope.setdefault("state", {})[_CLOSE] = partial(self._close, caller, scope)
        await self._app(scope, receive, send)

    def _close(self, caller: Caller, scope: Scope, seconds: float) -> None:
        if len(self._closed) >= _MOST:
            # Whoever floods is back in it with the next refusal.
            self._closed.clear()
        self._closed[caller] = (self._clock() + min(seconds, _LONGEST), scope.get("route"))


def close(scope: Scope, seconds: float) -> None:
    """Says of a call that the next one of its kind could not be let in for so many seconds."""
    told = scope["state"].get(_CLOSE) if seconds > 0 else None
    if told is not None:
        told(seconds)


def _caller(scope: Scope) -> Caller | None:
    """The one token that is shown at the address of a webhook."""
    if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].endswith(_CALLED):
        return None
    shown = [value for name, value in scope["headers"] if name == b"authorization"]
    return (scope["path"], shown[0]) if len(shown) == 1 else None


async def _refuse(scope: Scope, send: Send, seconds: float) -> None:
    body = as_json({**too_often(seconds).as_dict(), "instance": scope["path"]})
    headers = [
        *_HEADERS,
        (b"content-length", str(len(body)).encode()),
        (b"x-request-id", id_of(scope).encode()),
    ]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": body})
