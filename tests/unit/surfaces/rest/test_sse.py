"""Streams are counted from their opening on, and give their place back however they end."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI, Request

from mainspring.contracts.errors import LimitExceeded
from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest.sse import StreamLimiter, StreamPoll

ADA, BO, CY = (UUID(int=number) for number in (1, 2, 3))
LIMITS = Limits(streams=5, streams_of_member=2)


def _request() -> Request:
    app = FastAPI()
    app.state.closing = asyncio.Event()
    return Request({"type": "http", "app": app, "headers": []})


async def _nothing() -> StreamPoll:
    return StreamPoll(())


async def _over() -> StreamPoll:
    return StreamPoll((), over=True)


async def _broken() -> StreamPoll:
    raise RuntimeError("a look that fails")


async def _send(message: Any) -> None:
    del message


async def _gone(message: Any) -> None:
    del message
    raise OSError("the reader has left")


async def _silence() -> Any:
    await asyncio.Event().wait()


async def _leave() -> Any:
    return {"type": "http.disconnect"}


async def test_one_member_cannot_hold_every_stream_and_none_counts_less_unread() -> None:
    streams = StreamLimiter(LIMITS)
    request = _request()
    held = [streams.open(request, _nothing, 1.0, who) for who in (ADA, ADA, BO)]
    with pytest.raises(LimitExceeded) as refused:
        streams.open(request, _nothing, 1.0, ADA)
    assert "One member" in refused.value.detail
    assert refused.value.retry_after
    held += [streams.open(request, _nothing, 1.0, who) for who in (BO, CY)]
    with pytest.raises(LimitExceeded) as refused:
        streams.open(request, _nothing, 1.0, CY)
    assert "This server" in refused.value.detail
    # Answers that were never sent give their places back as well.
    held.clear()
    assert [streams.open(request, _nothing, 1.0, who) for who in (ADA, ADA, BO, BO, CY)]


async def test_a_stream_gives_its_place_back_however_it_ends() -> None:
    streams = StreamLimiter(LIMITS)
    request = _request()
    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    endings: list[tuple[Any, Any, Any]] = [
        (_over, _silence, _send),
        (_broken, _silence, _send),
        (_nothing, _silence, _gone),
        (_nothing, _leave, _send),
    ]
    for look, receive, send in endings * 3:
        stored = streams.open(request, look, 0.01, ADA)
        other = streams.open(request, _nothing, 0.01, ADA)
        await asyncio.gather(stored(scope, receive, send), return_exceptions=True)
        cut = asyncio.create_task(other(scope, _silence, _send))
        await asyncio.sleep(0)
        cut.cancel()
        await asyncio.gather(cut, return_exceptions=True)
    request.app.state.closing.set()
    await streams.open(request, _nothing, 1.0, ADA)(scope, _silence, _send)
    assert streams.open(request, _nothing, 1.0, ADA) is not None
