"""A flood of one webhook's calls is refused here, before it costs as much as a call.

Who has just been told to come again later, and comes again within that moment, gets the same
answer without anybody being asked. It is closed for a few hundredths of a second at most, for
this token at this address alone, so nobody is kept out who would have been let in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from mainspring.surfaces.rest.problems import send_problem
from mainspring.triggers.entrance import too_often

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

# Where a route leaves word that whoever called is to come again later: a number of seconds.
CLOSED: Final = "closed_for"
_LONGEST: Final = 0.05
_MOST: Final = 1_000
_CALLED: Final = "/fire"

Caller = tuple[str, bytes]


class Turnstile:
    """Remembers for a moment who was refused."""

    def __init__(self, app: ASGIApp, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._until: dict[Caller, float] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller = _caller(scope)
        if caller is None:
            await self._app(scope, receive, send)
            return
        left = self._until.get(caller, 0.0) - self._clock()
        if left > 0:
            await send_problem(too_often(left), scope, receive, send)
            return
        await self._app(scope, receive, send)
        seconds = scope["state"].get(CLOSED)
        if seconds is not None:
            self._close(caller, min(seconds, _LONGEST))

    def _close(self, caller: Caller, seconds: float) -> None:
        if len(self._until) >= _MOST:
            # Whoever floods is back in it with the next refusal.
            self._until.clear()
        self._until[caller] = self._clock() + seconds


def _caller(scope: Scope) -> Caller | None:
    """The one token that is shown at the address of a webhook."""
    if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].endswith(_CALLED):
        return None
    shown = [value for name, value in scope["headers"] if name == b"authorization"]
    return (scope["path"], shown[0]) if len(shown) == 1 else None
