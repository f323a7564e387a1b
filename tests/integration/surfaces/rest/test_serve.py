"""The server under abuse: ports, endless headers, connections that send nothing."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from mainspring.app import application_services
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.surfaces.rest import http_protocol
from mainspring.surfaces.rest.app import build_api
from mainspring.surfaces.rest.route_access import anyone_known
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.rest.serve import GRACE_SECONDS, KEEP_ALIVE_SECONDS, serve
from tests.kit.api import Api, served
from tests.kit.bench import Bench

PATIENCE = 60.0


async def _raw(api: Api, request: bytes, *more: bytes) -> bytes:
    """Sends bytes as they are and reads until the server hangs up."""
    host, port = api.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        async with asyncio.timeout(PATIENCE):
            for piece in (request, *more):
                writer.write(piece)
                await writer.drain()
            return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def _problem(answer: bytes) -> tuple[int, dict[str, Any]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


async def test_the_server_reports_its_port_and_stops_when_asked(bench: Bench) -> None:
    async with served(bench.application) as api:
        assert (await api.anonymous.get("/api/v1/health/live")).status_code == 200
        address = api.address

    host, port = address.removeprefix("http://").split(":")
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection(host, int(port))


async def test_a_port_that_is_taken_is_a_problem_with_a_way_out(api: Api) -> None:
    services = application_services(api.application)
    settings = replace(services.settings, port=int(api.address.rpartition(":")[2]))

    with pytest.raises(Conflict) as result:
        await serve(build_api(services), settings, ready=lambda _: None, stop=asyncio.Event())

    assert (result.value.code, str(settings.port) in result.value.detail) == ("port_in_use", True)
    assert "MAINSPRING_PORT" in str(result.value.suggestion)


async def test_an_address_that_is_not_ours_is_a_problem_too(api: Api) -> None:
    services = application_services(api.application)
    settings = replace(services.settings, host="192.0.2.1")

    with pytest.raises(Invalid) as result:
        await serve(build_api(services), settings, ready=lambda _: None, stop=asyncio.Event())

    assert result.value.code == "cannot_listen"


async def test_the_server_does_not_say_what_it_is_made_of(api: Api) -> None:
    answer = await api.client.get("/api/v1/health")

    assert "Server" not in answer.headers
    assert "X-Powered-By" not in answer.headers


@pytest.mark.parametrize(
    "pieces",
    [
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n",),
        (b"GET /" + b"a" * 40_000 + b" HTTP/1.1\r\n\r\n",),
        (b"GET / HTTP/1.1\r\n" + b"X: a\r\n" * 200 + b"\r\n",),
        (b"GET / HTTP/1.1\r\nX: ", *[b"a" * 10_000] * 20),
    ],
)
async def test_headers_without_end_are_cut_off(api: Api, pieces: tuple[bytes, ...]) -> None:
    answer = await _raw(api, *pieces)

    if answer:  # a client that still sends may see the broken connection first
        status, problem = _problem(answer)
        assert (status, problem["status"]) == (431, 431)
    assert (await api.anonymous.get("/api/v1/health/live")).status_code == 200


@pytest.mark.parametrize(
    "request_", [b"hello\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n"]
)
async def test_what_is_no_request_is_answered_and_hung_up_on(api: Api, request_: bytes) -> None:
    status, problem = _problem(await _raw(api, request_))

    assert (status, problem["code"]) == (400, "not_http")


async def test_a_connection_that_never_asks_is_closed(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_protocol, "HEADER_SECONDS", 0.2)

    assert await _raw(api, b"GET / HT") == b""
    assert await _raw(api, b"") == b""


HEALTH = b"GET /api/v1/health/live HTTP/1.1\r\nHost: x\r\n\r\n"


async def _closed_after(address: str, *pieces: bytes) -> float:
    """Seconds until the server hangs up; each piece but the first follows an answer."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    beginning = asyncio.get_running_loop().time()
    for number, piece in enumerate(pieces):
        if number:
            await reader.readuntil(b"\r\n\r\n")
        writer.write(piece)
    await reader.read()
    writer.close()
    return asyncio.get_running_loop().time() - beginning


async def test_idle_connections_and_unfinished_headers_are_closed(api: Api) -> None:
    shapes: list[tuple[bytes, ...]] = [
        (),
        (b"GET /api/v1/he",),
        (HEALTH[:-2],),
        # A line break between two requests begins none.
        (HEALTH, b"\r\n"),
        (HEALTH, b"GET /api/v1/he"),
    ]
    assert 2 * http_protocol.HEADER_SECONDS < 20, "silence, and then headers without end"
    host, port = api.address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(HEALTH)
    await reader.readuntil(b"\r\n\r\n")
    # A busy machine may be late; a connection that is kept is open for ever.
    async with asyncio.timeout(60):
        lasted = await asyncio.gather(
            *(_closed_after(api.address, *shape) for shape in shapes for _ in range(10))
        )

    assert min(lasted) > 3, "a slow client has its time"
    # Clients and load balancers reuse an idle connection after up to a minute.
    writer.write(HEALTH)
    assert (await reader.readuntil(b"\r\n\r\n")).count(b"HTTP/1.1 200 OK") == 1
    writer.close()
    assert 60 < KEEP_ALIVE_SECONDS < 120


@pytest.mark.parametrize(
    ("heading", "status"),
    [
        (b"HTTP/1.1\r\n", 400),
        (b"HTTP/1.1\r\nHost: a\r\nHost: b\r\n", 400),
        (b"HTTP/1.1\r\nHost: a b\r\n", 400),
        (b"HTTP/1.1\r\nHost: user@a\r\n", 400),
        (b"HTTP/1.1\r\nHost: a,b\r\n", 400),
        (b"HTTP/1.1\r\nHost: {a}\r\n", 400),
        (b"HTTP/1.1\r\nHost: a%2eb\r\n", 400),
        (b"HTTP/1.1\r\nHost: [::1\r\n", 400),
        (b"HTTP/1.1\r\nHost: ::1]\r\n", 400),
        (b"HTTP/1.1\r\nHost: [a]b\r\n", 400),
        (b"HTTP/1.1\r\nHost: []\r\n", 400),
        (b"HTTP/1.1\r\nHost: a:b\r\n", 400),
        (b"HTTP/1.1\r\nHost: a:1:2\r\n", 400),
        (b"HTTP/1.1\r\nHost: \xc3\xbc.example\r\n", 400),
        (b"HTTP/1.1\r\nHost: xn--tda.example.\r\n", 200),
        (b"HTTP/1.1\r\nHost: my_host-1:\r\n", 200),
        (b"HTTP/1.1\r\nHost: [fe80::1.2.3.4]\r\n", 200),
        (b"HTTP/1.1\r\nHost:\r\n", 200),
        (b"HTTP/1.0\r\nHost: a\r\nHost: a\r\n", 400),
        (b"HTTP/1.1\r\nHost: a:8420\r\n", 200),
        (b"HTTP/1.1\r\nHost: a:8420 \t\r\n", 200),
        (b"HTTP/1.1\r\nHost: [::1]:8420\r\n", 200),
        (b"HTTP/1.0\r\n", 200),
    ],
)
async def test_a_request_names_its_host_once(api: Api, heading: bytes, status: int) -> None:
    answer = await _raw(api, b"GET /api/v1/health/live " + heading + b"Connection: close\r\n\r\n")

    assert int(answer.split()[1]) == status, answer
    if status == 400:
        _, problem = _problem(answer)
        assert (problem["code"], problem["status"]) == ("host_header", 400)
        assert "Host" in problem["suggestion"]


async def test_a_large_body_that_is_refused_does_not_break_the_client(bench: Bench) -> None:
    async with served(bench.application, [_echo()]) as api:
        answer = await api.client.post("/api/v1/echo", json={"value": "x" * 3_000_000})

        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
        assert (await api.client.post("/api/v1/echo", json={"value": 1})).json() == {"value": 1}


async def test_what_runs_with_a_router_ends_with_the_server(bench: Bench) -> None:
    lines: list[str] = []
    made = _echo()

    async def close() -> None:
        lines.append("closed")

    made.lifespan_context = _told(lines)
    services = application_services(bench.application)
    settings = replace(services.settings, port=0)
    app, stop = build_api(services, on_close=[close], more=[made]), asyncio.Event()
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve(app, settings, ready=port.set_result, stop=stop))
    await asyncio.wait_for(port, PATIENCE)

    assert lines == ["begun"]
    stop.set()
    await asyncio.wait_for(task, PATIENCE)
    assert lines == ["begun", "ended", "closed"]


async def test_a_stream_hears_that_the_server_closes(bench: Bench) -> None:
    made = router("test")

    @made.get("/endless")
    @anyone_known
    async def endless(request: Request) -> StreamingResponse:
        async def lines() -> AsyncIterator[bytes]:
            yield b"begun\n"
            await request.app.state.closing.wait()
            yield b"ended\n"

        return StreamingResponse(lines())

    async with asyncio.timeout(GRACE_SECONDS / 2):
        async with served(bench.application, [made]) as api:
            reading = asyncio.create_task(api.program.get("/api/v1/endless"))
            while not api.app.state.closing.is_set() and not reading.done():
                if (await api.program.get("/api/v1/health/live")).status_code == 200:
                    break
        answer = await reading

    assert answer.text == "begun\nended\n"


def _echo() -> APIRouter:
    from mainspring.surfaces.rest.request_bodies import JsonAnswer, read_json_body

    made = router("test")

    @made.post("/echo")
    @anyone_known
    async def echo(request: Request) -> JsonAnswer:
        return JsonAnswer(await read_json_body(request))

    return made


def _told(lines: list[str]) -> Any:
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        del app
        lines.append("begun")
        yield
        lines.append("ended")

    return lifespan
