"""A page of the web cannot make a browser speak to the MCP server, by whatever name."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import product

import httpx2

from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.mcp import NEW, OLD, RawMcpClient

ECHO = {"name": "test.echo", "arguments": {"mark": "x"}}


def _foreign_hosts(port: str) -> list[str]:
    return [
        "evil.example",
        f"evil.example:{port}",
        f"localhost.evil.example:{port}",
        f"127.0.0.1.nip.example:{port}",
        f"127.0.0.1:{port}.evil.example",
        "localhost",
        "127.0.0.1",
        "localhost:1",
        "127.0.0.1:80",
        f"localhost.:{port}",
        f"127.1:{port}",
        f"2130706433:{port}",
        f"0.0.0.0:{port}",
        f"[::]:{port}",
        f"[::ffff:127.0.0.1]:{port}",
        f"user@localhost:{port}",
        f"localhost:{port}@evil.example",
        f"localhost:0{port}",
        f"localhost:{port}, evil.example",
        f"xn--lcalhost-e1a:{port}",
        f"local host:{port}",
    ]


def _foreign_origins(port: str) -> list[str]:
    return [
        "null",
        "http://evil.example",
        f"http://evil.example:{port}",
        "https://evil.example",
        f"http://localhost.evil.example:{port}",
        f"http://127.0.0.1:{port}.evil.example",
        "http://localhost",
        "http://localhost:1",
        f"https://localhost:{port}",
        "file://",
        f"http://user@localhost:{port}",
        f"http://localhost:{port}/",
        f"http://0.0.0.0:{port}",
        f"localhost:{port}",
        "chrome-extension://abcdef",
        "",
        f"http://localhost:{port} ",
        f"http://[::ffff:127.0.0.1]:{port}",
        "*",
    ]


async def test_a_request_under_a_foreign_name_is_refused_and_calls_nothing(
    bench: Bench, wire: RawMcpClient
) -> None:
    port = wire.address.rpartition(":")[2]
    asked = [{"host": host} for host in _foreign_hosts(port)]
    # The client takes the space off; on the wire it is no part of the value either.
    asked += [{"origin": origin} for origin in _foreign_origins(port) if origin.strip() == origin]
    for version, headers in product((OLD, NEW), asked):
        answer = await replace(wire, version=version).send("tools/call", ECHO, **headers)

        # What is no name at all does not even get as far as the check.
        assert answer.status_code in ({403} if "origin" in headers else {400, 403}), headers
        assert answer.headers["content-type"] == "application/problem+json"
        expected = "foreign_host" if "host" in headers else "foreign_origin"
        assert answer.status_code == 400 or answer.json()["code"] == expected
    assert not bench.outside.tries


async def test_every_method_is_refused_under_a_foreign_name(wire: RawMcpClient) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        for headers in ({"host": "evil.example"}, {"origin": "null"}):
            shown = {"authorization": f"Bearer {wire.token}", **headers}
            answer = await wire.http.request(method, f"{wire.address}/mcp", headers=shown)

            assert answer.status_code == 403, (method, headers)
            assert "access-control-allow-origin" not in answer.headers


async def test_names_of_this_machine_and_pages_of_this_server_are_taken(
    bench: Bench, wire: RawMcpClient
) -> None:
    port = wire.address.rpartition(":")[2]
    for name in (f"127.0.0.1:{port}", f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}"):
        for headers in ({"host": name}, {"host": name, "origin": f"http://{name.lower()}"}):
            answer = await wire.send("tools/call", ECHO, **headers)

            assert answer.json()["result"]["isError"] is False, headers
    assert sum(bench.outside.tries.values()) == 8


async def test_the_public_name_is_taken_and_no_other(bench: Bench) -> None:
    public = replace(bench.application.settings, public_url="https://spring.example")
    async with (
        served(replace(bench.application, settings=public)) as api,
        httpx2.AsyncClient(timeout=30) as http,
    ):
        wire = RawMcpClient(http, api.address, api.token)
        for name, origin, status in (
            ("spring.example", "https://spring.example", 200),
            ("spring.example:443", "https://spring.example:443", 200),
            ("Spring.Example", "https://spring.example", 200),
            ("spring.example", "http://spring.example", 403),
            ("spring.example:8443", "https://spring.example", 403),
            ("spring.example.evil.example", "https://spring.example", 403),
            ("spring.example", "https://spring.example:8443", 403),
        ):
            answer = await wire.send("tools/call", ECHO, host=name, origin=origin)

            assert answer.status_code == status, (name, origin)
    assert sum(bench.outside.tries.values()) == 3


async def test_two_hosts_or_none_are_refused(api: Api) -> None:
    port = int(api.address.rpartition(":")[2])
    own = f"Host: localhost:{port}\r\n"
    for heading in ("", own + "Host: evil.example\r\n", own + own):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(
            f"POST /mcp HTTP/1.1\r\n{heading}Authorization: Bearer {api.token}\r\n"
            "Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        answer = await reader.read()
        writer.close()

        assert answer.split(b" ", 2)[1] in {b"403", b"400"}, (heading, answer)


async def test_a_websocket_is_not_taken(api: Api, bench: Bench) -> None:
    port = int(api.address.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET /mcp HTTP/1.1\r\nHost: localhost:{port}\r\nAuthorization: Bearer {api.token}\r\n"
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    answer = await reader.readuntil(b"\r\n")
    writer.close()

    assert b" 101 " not in answer
    assert not bench.outside.tries
