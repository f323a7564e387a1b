"""The wire to one server for one session: it carries requests and remembers what went wrong.

The library of the protocol knows a failed request only as an error without a reason. So the
reason is kept here, and nothing more is sent after it. A request that was refused because its
token is not taken any more is sent once more with a new one, if there is one to be had.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

import httpx2

from mainspring.contracts.errors import Conflict, Problem, UpstreamError
from mainspring.outbound.egress.transport import EgressTransport
from mainspring.store.database_errors import log_and_convert_error

Renew = Callable[[], Awaitable[bool]]

SIGN_IN_NEEDED: Final = "sign_in_needed"
# Saying goodbye is a courtesy that nobody waits for.
_GOODBYE_SECONDS: Final = 2.0
_STOPPED: Final = 502
# By which an answer that was broken off is asked for again.
_RESUMING: Final = "last-event-id"
# So often in one session; a server that always breaks off never answers.
_MOST_RESUMED: Final = 30


class McpHttpTransport(httpx2.AsyncBaseTransport):
    """Carries the requests of one session."""

    def __init__(self, inner: EgressTransport, alias: str, renew: Renew | None = None) -> None:
        self._inner = inner
        self._alias = alias
        self._renew = renew
        # Why nothing is sent any more.
        self.problem: Problem | None = None
        # How the last request was answered.
        self.status: int | None = None
        self.retry_after: float | None = None
        # What a server that wants to know us said about where one signs in.
        self.challenge = ""
        self._resumed = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """One request; whatever goes wrong is kept and answered as a failure of the server."""
        if self.problem is not None:
            return httpx2.Response(_STOPPED, request=request)
        if request.method == "DELETE":
            return await self._end_session(request)
        if request.method == "GET" and _RESUMING not in request.headers:
            # A stream that stays open for what a server may say by itself; nobody would listen.
            return httpx2.Response(405, request=request)
        if request.method == "GET" and not self._may_resume():
            return httpx2.Response(_STOPPED, request=request)
        try:
            answer = await self._sent(request)
        except Exception as error:
            self.problem = log_and_convert_error(error)
            return httpx2.Response(_STOPPED, request=request)
        if request.method != "POST":
            return answer
        self.status = answer.status_code
        self.retry_after = _seconds(answer.headers.get("retry-after", ""))
        return answer

    def _may_resume(self) -> bool:
        self._resumed += 1
        if self._resumed > _MOST_RESUMED:
            self.problem = UpstreamError(
                f"The server of {self._alias} breaks its answer off again and again.",
                code="bad_response",
                retryable=False,
            )
        return self.problem is None

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        answer = await self._inner.handle_async_request(request)
        if answer.status_code == 401 and self._renew is not None:
            renew, self._renew = self._renew, None
            if await renew():
                answer = await self._inner.handle_async_request(request)
        if answer.status_code == 401:
            self.challenge = answer.headers.get("www-authenticate", "")
            self.problem = sign_in_needed(self._alias)
        return answer

    async def _end_session(self, request: httpx2.Request) -> httpx2.Response:
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                return await self._inner.handle_async_request(request)
        except (Problem, TimeoutError):
            return httpx2.Response(_STOPPED, request=request)


def sign_in_needed(alias: str, reason: str = "") -> Conflict:
    """The server does not know us, or not any more; only a person can change that."""
    return Conflict(
        reason or f"The server of {alias} asks to be signed in to.",
        code=SIGN_IN_NEEDED,
        suggestion=f"Sign in with `mainspring connections sign-in {alias}`, or give it another "
        f"token with `mainspring connections token {alias}`.",
    )


def _seconds(text: str) -> float | None:
    return float(text) if text.isascii() and text.isdigit() and len(text) < 6 else None
