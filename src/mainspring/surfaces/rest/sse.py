"""Server-sent events: a stream that says at once that it is open, and that it still is.

Each event carries an id; a reader that comes back with ``Last-Event-ID`` goes on after it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from starlette.responses import StreamingResponse

from mainspring.contracts.errors import Exhausted, Problem
from mainspring.surfaces.rest.answers import as_json

MEDIA_TYPE: Final = "text/event-stream"
RETRY_MS: Final = 1_000
QUIET_SECONDS: Final = 15.0
STREAMS: Final = 200

HEADERS: Final = {
    # Proxies that gather an answer before passing it on would stop a stream.
    "X-Accel-Buffering": "no",
    "Cache-Control": "no-store",
}


@dataclass(frozen=True, slots=True)
class Told:
    """One event of a stream."""

    kind: str
    data: Any
    id: str | None = None

    def encode(self) -> bytes:
        head = f"id: {self.id}\n" if self.id is not None else ""
        return f"{head}event: {self.kind}\ndata: ".encode() + as_json(self.data) + b"\n\n"


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found, and whether there is any use in looking again."""

    told: Sequence[Told]
    over: bool = False


Looking = Callable[[], Awaitable[Look]]


class Streams:
    """Counts the open streams of a process: each costs a look at the tables now and then."""

    def __init__(self, most: int = STREAMS) -> None:
        self._most = most
        self._open = 0

    def open(self, request: Request, look: Looking, seconds: float) -> StreamingResponse:
        """A stream of what ``look`` finds, every so many seconds, until it is over."""
        if self._open >= self._most:
            raise Exhausted(
                f"This server keeps {self._most} streams open at a time.",
                code="streams",
                retry_after=5,
            )
        events = self._events(request.app.state.closing, look, seconds)
        return StreamingResponse(events, headers=HEADERS, media_type=MEDIA_TYPE)

    async def _events(
        self, closing: asyncio.Event, look: Looking, seconds: float
    ) -> AsyncIterator[bytes]:
        self._open += 1
        try:
            yield f"retry: {RETRY_MS}\n\n".encode()
            quiet = time.monotonic()
            while not closing.is_set():
                found = await _found(look)
                for told in found.told:
                    yield told.encode()
                if found.over:
                    return
                if found.told:
                    quiet = time.monotonic()
                elif time.monotonic() - quiet > QUIET_SECONDS:
                    quiet = time.monotonic()
                    yield b": still here\n\n"
                await _pause(closing, seconds)
        finally:
            self._open -= 1


async def _found(look: Looking) -> Look:
    """A database that is away for a moment does not end a stream; anything else does."""
    try:
        return await look()
    except Problem as problem:
        if problem.retryable:
            return Look(())
        return Look([Told("problem", problem.as_dict())], over=True)


async def _pause(closing: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await closing.wait()
    except TimeoutError:
        return
