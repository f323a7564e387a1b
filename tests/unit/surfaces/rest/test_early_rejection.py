"""The wire: a call of a flood is answered before it is a request, and only what is plain is."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
import uvicorn
from uvicorn.server import ServerState

from mainspring.surfaces.rest import http_protocol
from mainspring.surfaces.rest.http_protocol import BoundedHttpProtocol
from mainspring.surfaces.rest.middleware import RequestMetrics, WebhookThrottleMiddleware, close

PATH = "/api/v1/automations/1/fire"
BODY = b'{"say":"x"}'


def _call(*, version: str = "1.1", path: str = PATH, more: str = "", body: bytes = BODY) -> bytes:
    return (
        f"POST {path} HTTP/{version}\r\nHost: here\r\nAuthorization: Bearer a\r\n"
        f"Content-Length: {len(BODY)}\r\n{more}\r\n"
    ).encode() + body


@dataclass
class _Line:
    """The other end of a connection: what was written, and how often."""

    written: list[bytes] = field(default_factory=list)
    closed: bool = False

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def get_extra_info(self, name: str) -> None:
        del name

    def is_closing(self) -> bool:
        return self.closed

    def close(self) -> None:
        self.closed = True

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


@dataclass
class _Inside:
    """What is behind it: takes each call, after a while if it is asked to."""

    bodies: list[bytes] = field(default_factory=list)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        message = await receive()
        self.bodies.append(message["body"])
        close(scope, 0.05)
        await self.go_on.wait()
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})


@dataclass
class _Opened:
    wire: BoundedHttpProtocol
    line: _Line
    inside: _Inside
    clock: list[float]

    async def send(self, *pieces: bytes) -> None:
        for piece in pieces:
            self.wire.data_received(piece)
            for _ in range(5):
                await asyncio.sleep(0)

    def statuses(self) -> list[str]:
        output = b"".join(self.line.written)
        return [part[:3].decode() for part in output.split(b"HTTP/1.1 ")[1:]]


@asynccontextmanager
async def _opened() -> AsyncIterator[_Opened]:
    inside, clock = _Inside(), [10.0]
    inside.go_on.set()
    app = WebhookThrottleMiddleware(inside, RequestMetrics(), clock=lambda: clock[0])
    config = uvicorn.Config(
        app,
        http=BoundedHttpProtocol,
        ws="none",
        loop="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
    )
    config.load()
    wire, line = BoundedHttpProtocol(config, ServerState(), {}), _Line()
    wire.connection_made(cast("asyncio.Transport", line))
    try:
        yield _Opened(wire, line, inside, clock)
    finally:
        line.closed = True
        wire.connection_lost(None)


async def test_a_call_that_comes_too_soon_is_answered_at_once_and_whole() -> None:
    async with _opened() as opened:
        await opened.send(_call())
        before = len(opened.line.written)
        opened.wire.data_received(_call(more="X-Request-Id: sender-0001\r\n"))
        # Nobody had a turn in between.
        (answer,) = opened.line.written[before:]
        head, _, body = answer.partition(b"\r\n\r\n")
        lines = [line.lower() for line in head.split(b"\r\n")]
        assert lines[0] == b"http/1.1 429 too many requests"
        assert {b"retry-after: 1", b"x-request-id: sender-0001"} <= set(lines)
        assert b"content-length: %d" % len(body) in lines
        result = json.loads(body)
        assert (result["code"], result["instance"]) == ("too_many_calls", PATH)
        assert len(opened.inside.bodies) == 1
        # The connection goes on, and what came of the refused one is nobody's body.
        opened.clock[0] += 0.06
        await opened.send(_call())
        assert opened.statuses() == ["202", "429", "202"]
        assert opened.inside.bodies == [BODY, BODY]


async def test_a_body_that_comes_in_pieces_is_passed_over_and_waited_for_with_an_end() -> None:
    async with _opened() as opened:
        await opened.send(_call())
        await opened.send(_call(body=b""), BODY[:4])
        assert opened.wire.timeout_keep_alive_task is not None
        opened.clock[0] += 0.06
        await opened.send(BODY[4:] + _call())
        assert opened.statuses() == ["202", "429", "202"]
        assert opened.inside.bodies == [BODY, BODY]


@pytest.mark.parametrize(
    "call",
    [
        _call(path=PATH + "?x=/fire"),
        _call(version="1.0"),
        _call(more="Connection: close\r\n"),
        _call(more="Expect: 100-continue\r\n"),
        _call(more="X-A: b\r\n")
        .replace(b"Content-Length: 11", b"Transfer-Encoding: chunked")
        .replace(BODY, b"b\r\n" + BODY + b"\r\n0\r\n\r\n"),
        _call(more="Connection: Upgrade\r\nUpgrade: h2c\r\n"),
    ],
)
async def test_what_is_not_plain_is_refused_where_all_requests_are_answered(call: bytes) -> None:
    async with _opened() as opened:
        await opened.send(_call())
        opened.wire.data_received(call)
        assert opened.statuses() == ["202"]
        for _ in range(5):
            await asyncio.sleep(0)
        assert opened.statuses() == ["202", "429"]
        assert len(opened.inside.bodies) == 1


@pytest.mark.parametrize("path", ["/api/v1/automations/2/fire", "/health"])
async def test_other_addresses_are_asked_for_as_ever(path: str) -> None:
    async with _opened() as opened:
        await opened.send(_call())
        await opened.send(_call(path=path))
        assert opened.statuses() == ["202", "202"]


async def test_nobody_is_answered_before_the_one_that_came_first() -> None:
    async with _opened() as opened:
        opened.inside.go_on.clear()
        await opened.send(_call(), _call())
        assert opened.statuses() == []
        opened.inside.go_on.set()
        await opened.send(b"")
        assert opened.statuses() == ["202", "429"]


async def test_a_client_that_does_not_read_is_sent_no_more() -> None:
    async with _opened() as opened:
        await opened.send(_call())
        opened.wire.pause_writing()
        await opened.send(*[_call()] * 50)
        assert len(opened.statuses()) <= 2
        opened.wire.resume_writing()
        await opened.send(b"")
        assert set(opened.statuses()) == {"202", "429"}


async def test_the_time_of_an_idle_connection_does_not_run_for_one_that_waits() -> None:
    """Two in one breath: the first is refused, and the other takes its time."""
    async with _opened() as opened:
        await opened.send(_call())
        opened.inside.go_on.clear()
        await opened.send(_call() + _call(path="/api/v1/automations/2/fire"))
        assert opened.statuses() == ["202", "429"]
        assert opened.wire.timeout_keep_alive_task is None
        opened.inside.go_on.set()
        await opened.send(b"")
        assert opened.statuses() == ["202", "429", "202"]


async def test_many_calls_at_once_leave_slots_for_others() -> None:
    async with _opened() as opened:
        await opened.send(_call())
        opened.wire.data_received(_call() * 100)
        assert 1 < len(opened.statuses()) < 20
        for _ in range(300):
            await asyncio.sleep(0)
        assert opened.statuses() == ["202", *["429"] * 100]


async def test_what_comes_after_a_body_in_pieces_is_not_kept_and_has_an_end() -> None:
    async with _opened() as opened:
        head = _call(body=b"").replace(b"Content-Length: 11", b"Transfer-Encoding: chunked")
        await opened.send(head + b"0\r\n")
        stored = len(opened.wire.headers)
        await opened.send(b"X-Much: " + b"x" * 1_000 + b"\r\n")
        assert (len(opened.wire.headers), opened.line.closed) == (stored, False)
        for _ in range(40):
            await opened.send(b"X-Much: " + b"x" * 1_000 + b"\r\n")
        assert opened.line.closed


@pytest.mark.parametrize("first", [b"0\r\nX-Much: ", b"1;much="])
async def test_a_line_between_the_pieces_of_a_body_has_an_end_too(first: bytes) -> None:
    async with _opened() as opened:
        head = _call(body=b"").replace(b"Content-Length: 11", b"Transfer-Encoding: chunked")
        await opened.send(head + b"1\r\na\r\n" + first, b"x" * 1_000)
        assert not opened.line.closed
        await opened.send(*[b"x" * 1_000] * 40)
        assert opened.line.closed


async def test_a_long_body_in_pieces_is_not_taken_for_such_a_line() -> None:
    async with _opened() as opened:
        head = _call(body=b"").replace(b"Content-Length: 11", b"Transfer-Encoding: chunked")
        await opened.send(head, *[b"3e8\r\n", b"x" * 1_000, b"\r\n"] * 100, b"0\r\n\r\n")
        assert not opened.line.closed
        await opened.send(*[b"\r\n"] * 100, _call(path="/health"))
        assert opened.statuses() == ["202", "202"]


@pytest.mark.parametrize(
    ("length", "piece"), [(b"100000", b"x"), (b"11", b"\r\n")], ids=["body", "line breaks"]
)
async def test_a_client_that_was_refused_cannot_keep_the_connection_by_sending_slowly(
    monkeypatch: pytest.MonkeyPatch, length: bytes, piece: bytes
) -> None:
    monkeypatch.setattr(http_protocol, "REST_SECONDS", 0.2, raising=False)
    async with _opened() as opened:
        await opened.send(_call())
        refused = _call(body=BODY).replace(b"Content-Length: 11", b"Content-Length: " + length)
        await opened.send(refused)
        assert opened.statuses() == ["202", "429"]
        async with asyncio.timeout(60):
            while not opened.line.closed:
                await opened.send(piece)
                await asyncio.sleep(0.01)


async def test_the_time_for_the_rest_of_a_body_ends_with_the_next_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_protocol, "REST_SECONDS", 0.05)
    async with _opened() as opened:
        await opened.send(_call())
        await opened.send(_call(body=b""), BODY[:4])
        opened.inside.go_on.clear()
        await opened.send(BODY[4:] + _call(path="/api/v1/automations/2/fire"))
        await asyncio.sleep(0.1)
        assert not opened.line.closed
        opened.inside.go_on.set()
        await opened.send(b"")
        assert opened.statuses() == ["202", "429", "202"]
