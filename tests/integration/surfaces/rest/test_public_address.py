"""The public address is tested over real connections, and what is wrong with it is named."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from mainspring.outbound.public_address import PURPOSE, PublicAddressProbe
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.certificates import client_side, server_side, signed_by_private_ca


@asynccontextmanager
async def proxy(
    api: Api, context: ssl.SSLContext | None, change: Callable[[bytes], bytes] = lambda head: head
) -> AsyncIterator[int]:
    """A reverse proxy in front of the server, which may change the head of each request."""
    port = int(api.address.rpartition(":")[2])

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = change(await reader.readuntil(b"\r\n\r\n"))
        size = int(dict(_headers(head)).get(b"content-length", b"0"))
        body = await reader.readexactly(size)
        behind_reader, behind = await asyncio.open_connection("127.0.0.1", port)
        behind.write(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + body)
        writer.write(await behind_reader.read())
        writer.close()
        behind.close()

    server = await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


def _headers(head: bytes) -> list[tuple[bytes, bytes]]:
    lines = [line.partition(b":") for line in head.split(b"\r\n")[1:] if line]
    return [(name.lower(), value.strip()) for name, _, value in lines]


async def _verdicts(
    api: Api, url: str | None, *, proxies: int | None = None, trust: ssl.SSLContext | None = None
) -> dict[str, str]:
    key = await api.application.vault.derived_key(PURPOSE)
    found = await PublicAddressProbe(url, key, proxies=proxies, trust=trust).run()
    return {one.name: one.verdict for one in found}


async def test_without_a_public_address_only_that_is_reported(api: Api) -> None:
    assert await _verdicts(api, None) == {"address": "wrong"}
    shown = (await api.client.get("/api/v1/public-address")).json()
    assert (shown["url"], shown["kind"], shown["checks"]) == (None, "unset", [])


async def test_a_server_behind_https_proves_itself(api: Api, tmp_path: Path) -> None:
    ca, served_with = signed_by_private_ca(tmp_path, "localhost")
    async with proxy(api, server_side(served_with)) as port:
        found = await _verdicts(api, f"https://localhost:{port}", trust=client_side(ca))
    assert found == {
        # Loopback, which the internet cannot reach.
        "address": "wrong",
        "name": "doubtful",
        # The test's certificate lasts a day.
        "certificate": "doubtful",
        "server": "ok",
        "proxy": "ok",
        "clock": "ok",
        "webhooks": "ok",
        "from outside": "unknown",
    }


async def test_an_untrusted_certificate_and_a_silent_port_are_wrong(
    api: Api, tmp_path: Path
) -> None:
    _, served_with = signed_by_private_ca(tmp_path, "localhost")
    async with proxy(api, server_side(served_with)) as port:
        found = await _verdicts(api, f"https://localhost:{port}")
        assert (found["certificate"], found["server"]) == ("wrong", "wrong")
    found = await _verdicts(api, f"http://localhost:{port}")
    assert found["server"] == "wrong"


async def test_another_server_at_the_address_is_recognised(api: Api, bench: Bench) -> None:
    other = await PublicAddressProbe(api.address, b"another key").run()
    assert {one.name: one.verdict for one in other}["server"] == "wrong"
    assert (await _verdicts(api, api.address))["server"] == "ok"


async def test_a_redirect_is_named(api: Api) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(
            b"HTTP/1.1 301 -\r\nLocation: https://www.example.com/\r\nContent-Length: 0\r\n"
            b"Connection: close\r\n\r\n"
        )
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        key = await api.application.vault.derived_key(PURPOSE)
        port = server.sockets[0].getsockname()[1]
        found = await PublicAddressProbe(f"http://127.0.0.1:{port}", key).run()
    [one] = [one for one in found if one.name == "server"]
    assert one.verdict == "wrong"
    assert "https://www.example.com/" in one.detail


async def test_proxy_headers_are_compared_with_the_settings(api: Api) -> None:
    def forward(head: bytes) -> bytes:
        return head.replace(b"\r\n", b"\r\nX-Forwarded-For: 203.0.113.9\r\n", 1)

    def rename(head: bytes) -> bytes:
        lines = head.split(b"\r\n")
        return b"\r\n".join(
            b"Host: inside" if line.lower().startswith(b"host:") else line for line in lines
        )

    for change, proxies, verdict in (
        (forward, 1, "ok"),
        (forward, None, "doubtful"),
        (forward, 2, "wrong"),
        (rename, None, "doubtful"),
    ):
        async with proxy(api, None, change) as port:
            found = await _verdicts(api, f"http://127.0.0.1:{port}", proxies=proxies)
        assert found["proxy"] == verdict, (change.__name__, proxies)


async def test_a_member_tests_the_address_and_the_result_stays(bench: Bench) -> None:
    settings = replace(bench.application.settings, public_url="https://hooks.invalid")
    async with served(replace(bench.application, settings=settings), own_app=True) as api:
        made = await api.client.post("/api/v1/public-address/check")
        assert made.status_code == 200
        verdicts = {one["name"]: one["verdict"] for one in made.json()["checks"]}
        assert verdicts == {"address": "ok", "name": "wrong", "from outside": "unknown"}
        shown = (await api.client.get("/api/v1/public-address")).json()
        assert shown == made.json()
        assert (await api.anonymous.post("/api/v1/public-address/check")).status_code == 401
