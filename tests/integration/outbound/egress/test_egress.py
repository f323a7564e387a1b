"""The way out against real servers on loopback that behave as badly as they can."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

import httpcore2
import pytest
import pytest_asyncio

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import (
    DeadlineExceeded,
    Invalid,
    PermissionDenied,
    Problem,
    UpstreamError,
)
from mainspring.contracts.limits import Limits
from mainspring.outbound.egress import Egress
from tests.kit.loopback_doubles import OK, LocalServer, Speak, always, answer, local_server

MEGABYTE = 1_048_576
LIMITS = Limits()
HEAD = b"HTTP/1.1 200 OK\r\n"


@dataclass
class Outing:
    """A server on loopback, and the way to it."""

    server: LocalServer
    egress: Egress

    async def send(
        self,
        method: str = "GET",
        path: str = "/",
        body: bytes | None = None,
        *,
        seconds: float = 10.0,
    ) -> HttpResponse:
        url = f"http://127.0.0.1:{self.server.port}{path}"
        return await self.egress.send(HttpRequest(method, url, {}, {}, body, seconds))

    async def problem(self, *, seconds: float = 10.0) -> UpstreamError:
        """Asks, and expects a problem that says what the server did wrong."""
        with pytest.raises(UpstreamError) as caught:
            await self.send(seconds=seconds)
        return caught.value

    @property
    def open_connections(self) -> int:
        return len(self.egress._pool.connections)


Visit = Callable[[Speak], Awaitable[Outing]]


@pytest_asyncio.fixture
async def visit() -> AsyncIterator[Visit]:
    async with contextlib.AsyncExitStack() as stack:

        async def opened(speak: Speak) -> Outing:
            server = await stack.enter_async_context(local_server(speak))
            egress = Egress(LIMITS, [f"127.0.0.1:{server.port}", f"localhost:{server.port}"])
            stack.push_async_callback(egress.aclose)
            return Outing(server, egress)

        yield opened


def _endless(piece: bytes) -> Speak:
    """Writes for ever, as fast as the other side takes it."""

    async def speak(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head
        while True:
            writer.write(piece)
            await writer.drain()

    return speak


def _once_then_endless(first: bytes, piece: bytes) -> Speak:
    async def speak(head: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        await _endless(piece)(head, writer)

    return speak


def _and_hang_up(*pieces: bytes) -> Speak:
    async def speak(head: bytes, writer: asyncio.StreamWriter) -> None:
        await always(*pieces)(head, writer)
        await writer.drain()
        writer.close()

    return speak


def _chunked(chunks: Iterable[bytes]) -> bytes:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks)
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\n\r\n"


async def test_a_connection_is_kept_and_used_again(visit: Visit) -> None:
    outing = await visit(always(OK))

    for _ in range(20):
        assert (await outing.send()).body == b"ok"

    assert outing.server.connections == 1
    assert len(outing.server.requests) == 20


async def test_parallel_requests_have_connections_of_their_own(visit: Visit) -> None:
    outing = await visit(always(OK))

    answers = await asyncio.gather(*(outing.send() for _ in range(30)))

    assert {each.status for each in answers} == {200}
    assert 1 < outing.server.connections <= 30


async def test_a_request_says_who_sends_it_and_what_it_can_read(visit: Visit) -> None:
    outing = await visit(always(OK))

    await outing.send("POST", "/a?b=c", b"hello")

    head = outing.server.requests[0].decode().split("\r\n")
    assert head[0] == "POST /a?b=c HTTP/1.1"
    assert head[1] == f"Host: 127.0.0.1:{outing.server.port}"
    assert {"Content-Length: 5", "Accept-Encoding: gzip, deflate"} <= set(head)


async def test_no_cookie_is_kept(visit: Visit) -> None:
    outing = await visit(always(answer(200, b"x", Set_Cookie="session=1; Path=/")))

    for _ in range(2):
        await outing.send()

    assert b"cookie" not in outing.server.requests[1].lower()


async def test_the_environment_names_no_proxy(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    outing = await visit(always(OK))

    assert (await outing.send()).status == 200


async def test_loopback_is_refused_by_the_real_resolver_too(visit: Visit) -> None:
    outing = await visit(always(OK))
    strict = Egress(Limits())

    for host in ("localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"):
        with pytest.raises(PermissionDenied):
            await strict.send(HttpRequest("GET", f"http://{host}:{outing.server.port}/", {}, {}))

    await strict.aclose()
    assert outing.server.connections == 0


async def test_a_listed_name_is_resolved_and_reached(visit: Visit) -> None:
    outing = await visit(always(OK))
    url = f"http://localhost:{outing.server.port}/"

    assert (await outing.egress.send(HttpRequest("GET", url, {}, {}))).url == url


async def test_a_refused_connection_is_retried(visit: Visit) -> None:
    async with local_server(always(OK)) as gone:
        port = gone.port
    egress = Egress(Limits(), [f"127.0.0.1:{port}"])

    with pytest.raises(UpstreamError) as caught:
        await egress.send(HttpRequest("GET", f"http://127.0.0.1:{port}/", {}, {}))

    assert caught.value.code == "unreachable"
    assert caught.value.retryable


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_a_compressed_answer_is_read(visit: Visit, encoding: str) -> None:
    body = b"hello " * 10_000
    packed = gzip.compress(body) if encoding == "gzip" else zlib.compress(body)
    outing = await visit(always(answer(200, packed, Content_Encoding=encoding)))

    assert (await outing.send()).body == body
    assert (await outing.send()).body == body
    assert outing.server.connections == 1


async def _peak_bytes(work: Awaitable[object]) -> int:
    """The most memory Python held at once while the work was done, above the start."""
    tracemalloc.start()
    try:
        await work
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


async def test_a_bomb_of_a_thousand_to_one_costs_no_more_than_the_cap(visit: Visit) -> None:
    bomb = zlib.compress(b"\0" * 200 * MEGABYTE, 9)
    outing = await visit(always(answer(200, bomb, Content_Encoding="deflate")))

    async def burst() -> None:
        problem = await outing.problem()
        assert problem.code == "response_too_large"
        assert not problem.retryable

    assert len(bomb) * 1_000 < 210 * MEGABYTE
    assert await _peak_bytes(burst()) < 8 * MEGABYTE
    assert outing.open_connections == 0


async def test_an_endless_body_ends_at_the_cap(visit: Visit) -> None:
    endless = _once_then_endless(HEAD + b"Content-Length: 1073741824\r\n\r\n", b"x" * 65_536)
    outing = await visit(endless)

    async def flood() -> None:
        assert (await outing.problem()).code == "response_too_large"

    assert await _peak_bytes(flood()) < 8 * MEGABYTE
    assert outing.open_connections == 0


async def test_a_body_may_be_exactly_as_large_as_the_cap(visit: Visit) -> None:
    outing = await visit(always(answer(200, b"x" * LIMITS.http_response_bytes)))

    assert len((await outing.send()).body) == LIMITS.http_response_bytes


async def test_the_caller_may_want_less_than_the_cap(visit: Visit) -> None:
    outing = await visit(always(answer(200, b"x" * 101)))
    url = f"http://127.0.0.1:{outing.server.port}/"

    with pytest.raises(UpstreamError):
        await outing.egress.send(HttpRequest("GET", url, {}, {}, max_bytes=100))


@pytest.mark.parametrize(
    "first",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        HEAD + b"Content-Length: 100\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n555\r\nhel",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5;",
    ],
)
async def test_a_slow_drip_ends_with_the_time(visit: Visit, first: bytes) -> None:
    gone = asyncio.Event()

    async def drip(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head
        writer.write(first)
        try:
            while True:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.01)
        finally:
            gone.set()

    outing = await visit(drip)

    # The server sends for ever: without the deadline this does not end.
    async with asyncio.timeout(60):
        assert isinstance(await outing.problem(seconds=0.3), DeadlineExceeded)
        assert outing.open_connections == 0
        await gone.wait()


async def test_a_server_that_never_speaks_ends_with_the_time(visit: Visit) -> None:
    async def silent(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head, writer
        await asyncio.Event().wait()

    outing = await visit(silent)

    problem = await outing.problem(seconds=0.1)

    assert isinstance(problem, DeadlineExceeded)
    assert problem.retryable


async def test_the_operators_limit_ends_a_request_that_wants_longer() -> None:
    async def never(host: str, port: int) -> Sequence[str]:
        del host, port
        await asyncio.Event().wait()
        raise AssertionError

    egress = Egress(Limits(http_seconds=1), resolve=never)

    async with asyncio.timeout(60):
        with pytest.raises(DeadlineExceeded):
            await egress.send(HttpRequest("GET", "http://a.example/", {}, {}, timeout_seconds=900))


async def test_dialling_counts_against_the_time() -> None:
    class Deaf(httpcore2.AsyncNetworkBackend):
        async def connect_tcp(self, *args: object, **more: object) -> httpcore2.AsyncNetworkStream:
            del args, more
            await asyncio.Event().wait()
            raise AssertionError

    async def found(host: str, port: int) -> Sequence[str]:
        del host, port
        return ["93.184.216.34"]

    egress = Egress(Limits(), resolve=found, dial=Deaf())

    with pytest.raises(DeadlineExceeded):
        await egress.send(HttpRequest("GET", "http://a.example/", {}, {}, timeout_seconds=0.1))

    assert egress._pool.connections == []


@pytest.mark.parametrize(
    "headers",
    [
        b"".join(b"x%d: y\r\n" % number for number in range(10_000)),
        b"a: b\r\n" * 10_000,
        b"a: " + b"b" * 70_000 + b"\r\n",
        b"a: " + b"b" * 5_000_000 + b"\r\n",
        b"a" * 5_000_000 + b": b\r\n",
    ],
)
async def test_endless_headers_are_refused(visit: Visit, headers: bytes) -> None:
    outing = await visit(always(HEAD + headers + b"Content-Length: 0\r\n\r\n"))

    async def flood() -> None:
        assert (await outing.problem()).code in {"response_too_large", "bad_response"}

    assert await _peak_bytes(flood()) < 24 * MEGABYTE
    assert outing.open_connections == 0


@pytest.mark.parametrize(
    ("first", "piece"),
    [
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1;" + b"e" * 60_000 + b"\r\nx\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000),
        (b"", b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 2_000),
        (_chunked([b"x"])[:-2], b"Trailer: " + b"t" * 60_000 + b"\r\n"),
    ],
)
async def test_what_is_no_part_of_a_body_is_bounded_too(
    visit: Visit, first: bytes, piece: bytes
) -> None:
    outing = await visit(_once_then_endless(first, piece))

    problem = await outing.problem()

    assert problem.code in {"response_too_large", "bad_response"}
    assert not isinstance(problem, DeadlineExceeded)


async def test_a_body_in_one_byte_chunks_does_not_block_other_work(visit: Visit) -> None:
    outing = await visit(always(_chunked([b"x"] * 20_000)))
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    response = await outing.send()
    task.cancel()

    assert len(response.body) == 20_000
    assert turns > 200


async def test_a_body_in_a_million_pieces_is_refused(visit: Visit) -> None:
    endless = _once_then_endless(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 99)
    outing = await visit(endless)

    assert (await outing.problem(seconds=30)).code == "bad_response"
    assert outing.open_connections == 0


@pytest.mark.parametrize(
    "pieces",
    [
        [b""],
        [b"nonsense\r\n\r\n"],
        [b"SSH-2.0-OpenSSH_9\r\n"],
        [b"HTTP/9.9 200 OK\r\n\r\n"],
        [b"HTTP/1.1 999999 OK\r\n\r\n"],
        [HEAD + b"Content-Length: 10\r\n\r\nshort"],
        [HEAD + b"Content-Length: -1\r\n\r\n"],
        [HEAD + b"Content-Length: 1, 2\r\n\r\nxx"],
        [HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx"],
        [HEAD + b"Content-Length: 99999999999999999999999\r\n\r\n"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffffffff\r\nx\r\n"],
        [HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel"],
        [HEAD + b"Transfer-Encoding: chunked, gzip\r\n\r\n"],
        [HEAD + b"Transfer-Encoding: gzip\r\n\r\n"],
        [HEAD + b"bad header\r\n\r\n"],
        [HEAD + b"a\0b: c\r\n\r\n"],
        [b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"],
        [answer(200, b"x", Content_Encoding="br")],
        [answer(200, b"x", Content_Encoding="zstd")],
        [answer(200, b"x", Content_Encoding="gzip")],
        [answer(200, gzip.compress(b"x" * 100, mtime=0)[:-9], Content_Encoding="gzip")],
        [answer(200, b"x", Content_Encoding="gzip, gzip")],
    ],
)
async def test_a_broken_answer_is_a_problem_and_the_connection_is_dropped(
    visit: Visit, pieces: list[bytes]
) -> None:
    outing = await visit(_and_hang_up(*pieces))

    problem = await outing.problem()

    assert problem.detail
    assert problem.code in {"bad_response", "bad_encoding", "response_too_large"}
    assert outing.open_connections == 0


@pytest.mark.parametrize(
    ("method", "content"),
    [
        ("HEAD", HEAD + b"Content-Length: 99\r\nContent-Encoding: gzip\r\n\r\n"),
        ("GET", b"HTTP/1.1 204 No Content\r\n\r\n"),
        ("GET", b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n"),
        ("GET", b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ],
)
async def test_an_answer_without_a_body_is_an_answer(
    visit: Visit, method: str, content: bytes
) -> None:
    outing = await visit(always(content))

    for _ in range(2):
        assert (await outing.send(method)).body == b""

    assert outing.server.connections == 1


async def test_a_body_without_a_length_ends_with_the_connection(visit: Visit) -> None:
    outing = await visit(_and_hang_up(b"HTTP/1.0 200 OK\r\n\r\n", b"hello"))

    assert (await outing.send()).body == b"hello"


async def test_an_answer_behind_an_answer_is_never_taken_for_the_next_one(visit: Visit) -> None:
    """A peer that says more than it was asked must not answer somebody else's question."""
    outing = await visit(always(OK + answer(200, b"smuggled")))

    bodies = [(await outing.send()).body for _ in range(5)]

    assert bodies == [b"ok"] * 5


async def test_a_redirect_to_another_listed_host_drops_sensitive_headers(
    visit: Visit,
) -> None:
    second = await visit(always(OK))
    to = f"http://127.0.0.1:{second.server.port}/there"
    first = await visit(always(answer(307, Location=to)))
    ports = (first.server.port, second.server.port)
    egress = Egress(Limits(), [f"127.0.0.1:{port}" for port in ports])
    request = HttpRequest(
        "POST",
        f"http://127.0.0.1:{ports[0]}/here",
        {"Authorization": "Bearer x", "X-Plain": "p"},
        {},
        b"hello",
    )

    response = await egress.send(request, allowed_hosts=frozenset({"127.0.0.1"}))
    await egress.aclose()

    assert (response.status, response.url) == (200, to)
    assert b"Authorization: Bearer x" in first.server.requests[0]
    assert b"Authorization" not in second.server.requests[0]
    assert b"X-Plain: p" in second.server.requests[0]


async def test_a_redirect_to_a_host_that_is_not_listed_is_refused(visit: Visit) -> None:
    second = await visit(always(OK))
    to = f"http://127.0.0.1:{second.server.port}/"
    first = await visit(always(answer(302, Location=to)))

    with pytest.raises(PermissionDenied):
        await first.send()

    assert second.server.connections == 0


async def test_a_cancelled_request_lets_go_of_its_connection(visit: Visit) -> None:
    asked = asyncio.Event()

    async def silent(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head, writer
        asked.set()
        await asyncio.Event().wait()

    outing = await visit(silent)
    task = asyncio.create_task(outing.send())
    await asked.wait()

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert outing.open_connections == 0


async def test_many_failures_leave_nothing_behind(visit: Visit) -> None:
    async def silent(head: bytes, writer: asyncio.StreamWriter) -> None:
        if b"/ok" in head:
            writer.write(OK)
        else:
            await asyncio.Event().wait()

    outing = await visit(silent)

    failed = await asyncio.gather(
        *(outing.send(seconds=0.2) for _ in range(300)), return_exceptions=True
    )

    assert {type(each) for each in failed} == {DeadlineExceeded}
    assert outing.open_connections == 0
    assert (await outing.send(path="/ok")).status == 200


@pytest.mark.parametrize("method", ["", "get", "GET\r\nX: y", "CONNECT", "TRACE"])
async def test_a_method_that_cannot_be_sent_never_leaves(visit: Visit, method: str) -> None:
    outing = await visit(always(OK))

    with pytest.raises(Invalid):
        await outing.send(method)

    assert outing.server.connections == 0


async def test_a_request_body_has_a_greatest_size(visit: Visit) -> None:
    outing = await visit(always(OK))

    assert (await outing.send("POST", "/", b"x" * MEGABYTE)).status == 200
    with pytest.raises(Invalid):
        await outing.send("POST", "/", b"x" * (MEGABYTE + 1))

    assert len(outing.server.requests) == 1


@pytest.mark.parametrize("seconds", [0.0, -5.0])
async def test_no_time_at_all_is_too_little(visit: Visit, seconds: float) -> None:
    outing = await visit(always(OK))

    with pytest.raises(Problem):
        await outing.send(seconds=seconds)
