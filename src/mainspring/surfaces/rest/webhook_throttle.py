"""A flood of one webhook's calls is refused here, before it costs as much as a call.

A route says for how long no other call of its caller could be let in; whoever comes within that
moment is told so without anybody being asked. It is closed for a few hundredths of a second at
most, for this token at this address alone, so nobody is kept out who would have been let in.

It stands before everything else, and its answer looks like every other. Most calls of a flood do
not even become a request of the application: whoever reads them from the wire asks here first.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.rest.error_boundary import HEADERS, id_of
from mainspring.surfaces.rest.json_answers import as_json
from mainspring.surfaces.rest.problems import MEDIA_TYPE
from mainspring.surfaces.rest.request_metrics import RequestMetrics
from mainspring.triggers.webhook_auth import too_often

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# Where a route finds whom to tell that whoever called is to come again later.
_CLOSE: Final = "close"
_LONGEST: Final = 0.05
_MOST: Final = 1_000
_CALLED: Final = "/fire"
STATUS: Final = 429
_HEADERS: Final = [
    *((name.lower().encode(), value.encode()) for name, value in HEADERS.items()),
    (b"content-type", MEDIA_TYPE.encode()),
    (b"retry-after", b"1"),
]

Caller = tuple[str, bytes]
Refusal = tuple[list[tuple[bytes, bytes]], bytes]


class WebhookThrottleMiddleware:
    """Remembers for a moment who was refused."""

    def __init__(
        self, app: ASGIApp, tally: RequestMetrics, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._tally = tally
        self._clock = clock
        # Until when somebody is refused, and the route that said so.
        self._closed: dict[Caller, tuple[float, Any]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = _caller(scope) if scope["type"] == "http" else None
        if caller is None:
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(caller, scope)
        if refusal is None:
            scope.setdefault("state", {})[_CLOSE] = partial(self._close, caller)
            await self._app(scope, receive, send)
            return
        headers, body = refusal
        await send({"type": "http.response.start", "status": STATUS, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def refusal(self, scope: Scope) -> Refusal | None:
        """Headers and body for a call that comes too soon; it is counted as answered."""
        caller = _caller(scope) if self._closed else None
        return None if caller is None else self._refusal(caller, scope)

    def _refusal(self, caller: Caller, scope: Scope) -> Refusal | None:
        now = self._clock()
        until, route = self._closed.get(caller, (0.0, None))
        if until <= now:
            return None
        body = as_json({**too_often(until - now).as_dict(), "instance": scope["path"]})
        headers = [
            *_HEADERS,
            (b"content-length", b"%d" % len(body)),
            (b"x-request-id", id_of(scope).encode()),
        ]
        scope["route"] = route
        self._tally.count(scope, STATUS, self._clock() - now)
        return headers, body

    def _close(self, caller: Caller, route: Any, seconds: float) -> None:
        if len(self._closed) >= _MOST:
            # Whoever floods is back in it with the next refusal.
            self._closed.clear()
        self._closed[caller] = (self._clock() + min(seconds, _LONGEST), route)


def close(scope: Scope, seconds: float) -> None:
    """Says of a call that the next one of its kind could not be let in for so many seconds."""
    told = scope["state"].get(_CLOSE) if seconds > 0 else None
    if told is not None:
        told(scope.get("route"), seconds)


def _caller(scope: Scope) -> Caller | None:
    """The one token that is shown at the address of a webhook."""
    if scope["method"] != "POST" or not scope["path"].endswith(_CALLED):
        return None
    shown = [value for name, value in scope["headers"] if name == b"authorization"]
    return (scope["path"], shown[0]) if len(shown) == 1 else None
