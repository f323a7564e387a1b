"""The shell around every request: an id, headers that protect readers, and no raw error.

It is plain ASGI, so that a stream passes through it piece by piece.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import MutableHeaders

from mainspring.contracts.ids import generate_id
from mainspring.contracts.log_context import HERE, LogContext
from mainspring.surfaces.rest.problems import send_problem, unexpected_problem
from mainspring.surfaces.rest.request_metrics import RequestMetrics

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# An id of another's that is taken over.
_SANE: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9.-]{7,127}")
# A route that knows better (a file that may be kept) sets its own and is left alone.
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
}


class ErrorBoundaryMiddleware:
    """Outermost: whatever happens inside, the caller gets a whole answer."""

    def __init__(self, app: ASGIApp, tally: RequestMetrics | None = None) -> None:
        self._app = app
        self._tally = tally or RequestMetrics()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        made = id_of(scope)
        scope.setdefault("state", {})["request_id"] = made
        status = 0
        began = time.perf_counter()
        before = HERE.set(LogContext(made))

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(message, made)
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except Exception as error:
            problem = unexpected_problem(error, scope)
            if status:
                raise  # half an answer is out; a broken connection says so
            await send_problem(problem, scope, receive, send_with_headers)
        finally:
            HERE.reset(before)
            self._tally.count(scope, status, time.perf_counter() - began)


def id_of(scope: Scope) -> str:
    """The id of a request: its sender's, or a new one."""
    return _read_request_id(scope) or generate_id().hex


def _read_request_id(scope: Scope) -> str | None:
    """The id that whoever sent this gave it, so that two logs can be laid beside each other.

    It goes into our log and back to them, so only what can do no harm there is taken.
    """
    found = [value for name, value in scope["headers"] if name == b"x-request-id"]
    if len(found) != 1 or _SANE.fullmatch(found[0]) is None:
        return None
    return str(found[0], "ascii")


def _add_headers(message: dict[str, Any] | Message, made: str) -> None:
    headers = MutableHeaders(scope=message)
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    headers["X-Request-Id"] = made
