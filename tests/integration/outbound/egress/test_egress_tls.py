"""TLS on loopback: the name is proved, and a secured connection is as strict as a plain one."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from mainspring.contracts.context import HttpRequest, HttpResponse
from mainspring.contracts.errors import DeadlineExceeded, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.outbound.egress import Egress
from tests.kit.certificates import client_side, self_signed, server_side
from tests.kit.loopback_doubles import OK, LocalServer, always, answer, local_server

NAME = "tls.example"


async def _loopback(host: str, port: int) -> Sequence[str]:
    del host, port
    return ["127.0.0.1"]


class Secured:
    """The way to a TLS server on loopback under a name of its own."""

    def __init__(self, server: LocalServer, trust: ssl.SSLContext, name: str = NAME) -> None:
        self.url = f"https://{name}:{server.port}/"
        self.egress = Egress(Limits(), [f"{name}:{server.port}"], resolve=_loopback, trust=trust)

    async def get(self, seconds: float = 10.0) -> HttpResponse:
        return await self.egress.send(HttpRequest("GET", self.url, {}, {}, None, seconds))


async def test_a_proven_name_is_answered_and_its_connection_kept(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, NAME)
    asked_for: list[str | None] = []
    context = server_side(certificate)
    context.sni_callback = lambda _, name, __: asked_for.append(name)

    async with local_server(always(OK), context) as server:
        secured = Secured(server, client_side(certificate))
        for _ in range(5):
            assert (await secured.get()).body == b"ok"
        await secured.egress.aclose()

    assert server.connections == 1
    assert asked_for == [NAME]


@pytest.mark.parametrize("trusted", [True, False])
async def test_a_name_that_is_not_proven_is_refused(tmp_path: Path, trusted: bool) -> None:
    """Another name's certificate, or one that nobody vouches for."""
    certificate = self_signed(tmp_path, "other.example" if trusted else NAME)
    trust = client_side(certificate) if trusted else client_side()

    async with local_server(always(OK), server_side(certificate)) as server:
        with pytest.raises(UpstreamError) as caught:
            await Secured(server, trust).get()

    assert caught.value.code == "tls_failed"
    assert not caught.value.retryable
    assert server.requests == []


async def test_a_server_that_speaks_no_tls_is_refused(tmp_path: Path) -> None:
    async def plain(head: bytes, writer: asyncio.StreamWriter) -> None:
        del head
        writer.write(OK)

    async with local_server(plain) as server:
        with pytest.raises(UpstreamError):
            await Secured(server, client_side(self_signed(tmp_path, NAME))).get(seconds=1.0)


async def test_a_handshake_that_never_ends_counts_against_the_time() -> None:
    hung_up = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        await writer.wait_closed()
        hung_up.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    double = LocalServer(always(OK))
    double.port = server.sockets[0].getsockname()[1]

    with pytest.raises(DeadlineExceeded):
        await Secured(double, client_side()).get(seconds=0.2)

    async with asyncio.timeout(60):
        await hung_up.wait()
    server.close()
    await server.wait_closed()


async def test_a_record_behind_an_answer_is_never_taken_for_the_next_one(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path, NAME)
    # Two writes make two records, which may arrive and wait together.
    smuggling = always(OK, answer(200, b"smuggled"))

    async with local_server(smuggling, server_side(certificate)) as server:
        secured = Secured(server, client_side(certificate))
        bodies = [(await secured.get()).body for _ in range(10)]
        await secured.egress.aclose()

    assert bodies == [b"ok"] * 10
