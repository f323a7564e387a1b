"""The shell around every request: an id, headers that protect readers, and no raw error.

It is plain ASGI, so that a stream passes through it piece by piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import MutableHeaders

from mainspring.contracts.ids import new_id
from mainspring.surfaces.rest.problems import send_problem, unexpected

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# A route that knows better (a file that may be kept) sets its own and is left alone.
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class Shell:
    """Outermost: whatever happens inside, the caller gets a whole answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        made = new_id().hex
        scope.setdefault("state", {})["request_id"] = made
        begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                _add_headers(message, made)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            problem = unexpected(error, scope)
            if begun:
                raise  # half an answer is out; a broken connection says so
            await send_problem(problem, scope, receive, send_with_headers)


def _add_headers(message: dict[str, Any] | Message, made: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers["X-Request-Id"] = made
