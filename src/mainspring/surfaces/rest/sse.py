"""Server-sent events with an immediate first byte and heartbeats.

Each event carries an id; a client that reconnects with ``Last-Event-ID`` continues after it.
"""

from __future__ import annotations

import asyncio
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from fastapi import Request
from starlette.responses import StreamingResponse

from mainspring.contracts.errors import LimitExceeded, Problem
from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest.request_bodies import as_json

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

MEDIA_TYPE: Final = "text/event-stream"
RETRY_MS: Final = 1_000
QUIET_SECONDS: Final = 15.0

HEADERS: Final = {
    # Disables response buffering in proxies.
    "X-Accel-Buffering": "no",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of a stream."""

    kind: str
    data: Any
    id: str | None = None

    def encode(self) -> bytes:
        head = f"id: {self.id}\n" if self.id is not None else ""
        return f"{head}event: {self.kind}\ndata: ".encode() + as_json(self.data) + b"\n\n"


@dataclass(frozen=True, slots=True)
class StreamPoll:
    """The result of one poll, and whether to poll again."""

    events: Sequence[StreamEvent]
    over: bool = False


PollFunction = Callable[[], Awaitable[StreamPoll]]


class StreamLimiter:
    """Limits the open streams of a process, because each polls the tables.

    A stream counts from its opening on, whether or not it is read, and one member gets a share
    only, across all of their tokens and browsers.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open: Counter[UUID] = Counter()

    def open(
        self, request: Request, poll: PollFunction, seconds: float, member_id: UUID
    ) -> StreamingResponse:
        """A stream that polls ``poll`` at an interval until it is over."""
        self._check(member_id)
        answer = _StreamResponse(_events(request.app.state.closing, poll, seconds))
        self._open[member_id] += 1
        # A response that is never sent, because its client disconnected, releases its slot too.
        answer.leave = weakref.finalize(answer, self._leave, member_id)
        return answer

    def _check(self, member_id: UUID) -> None:
        most, of_one = self._limits.streams, self._limits.streams_of_member
        if self._open[member_id] >= of_one:
            detail = f"One member has at most {of_one} streams open at a time."
        elif self._open.total() >= most:
            detail = f"This server keeps {most} streams open at a time."
        else:
            return
        raise LimitExceeded(detail, code="streams", retry_after=5)

    def _leave(self, member_id: UUID) -> None:
        self._open[member_id] -= 1
        if not self._open[member_id]:
            del self._open[member_id]


class _StreamResponse(StreamingResponse):
    """A response that releases its stream slot, however it ends."""

    leave: Callable[[], object]

    def __init__(self, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, headers=HEADERS, media_type=MEDIA_TYPE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self.leave()


async def _events(
    closing: asyncio.Event, poll: PollFunction, seconds: float
) -> AsyncIterator[bytes]:
    yield f"retry: {RETRY_MS}\n\n".encode()
    quiet = time.monotonic()
    while not closing.is_set():
        found = await _poll_once(poll)
        for event in found.events:
            yield event.encode()
        if found.over:
            return
        if found.events:
            quiet = time.monotonic()
        elif time.monotonic() - quiet > QUIET_SECONDS:
            quiet = time.monotonic()
            yield b": still here\n\n"
        await _pause(closing, seconds)


async def _poll_once(poll: PollFunction) -> StreamPoll:
    """A short database outage does not end a stream; any other error does."""
    try:
        return await poll()
    except Problem as problem:
        if problem.retryable:
            return StreamPoll(())
        return StreamPoll([StreamEvent("problem", problem.as_dict())], over=True)


async def _pause(closing: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await closing.wait()
    except TimeoutError:
        return
