"""Requests of a script: http_fetch answers the parsed body, http_request the whole response, and
plain fetch() is a recorded http_fetch call with the grants, secrets and limits of one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

import pytest_asyncio

from mainspring.app import build_application
from tests.kit.bench import Bench
from tests.kit.leaks import Haystack, add_tables
from tests.kit.loopback_doubles import local_server
from tests.kit.scripts import script

SECRET = "sk-live-4242-never-shown"
CHARGES = {"object": "list", "data": [{"amount": 120_000}, {"amount": 3_450}]}
PATHS: dict[str, tuple[int, str, bytes]] = {
    "/v1/charges": (200, "application/json", json.dumps(CHARGES).encode()),
    "/named": (200, "application/json", b'{"status": "paid", "json": 7}'),
    "/list": (200, "application/json", b'[{"n": 1}, {"n": 2}]'),
    "/text": (200, "text/plain", b"plain words"),
    "/none": (204, "text/plain", b""),
    "/gone": (410, "application/json", b'{"error": "gone"}'),
}


@dataclass(slots=True)
class Service:
    """A small API that remembers each request."""

    pair: str = ""
    heads: list[str] = field(default_factory=list)

    async def __call__(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        self.heads.append(head.decode())
        path = head.split()[1].decode().partition("?")[0]
        status, kind, body = PATHS[path]
        writer.write(f"HTTP/1.1 {status} Said\r\nContent-Type: {kind}\r\nX-Page: 2\r\n".encode())
        if status != 204:
            writer.write(b"Content-Length: %d\r\n" % len(body))
        writer.write(b"\r\n" + body)


@dataclass(frozen=True, slots=True)
class Outward:
    bench: Bench
    service: Service

    async def run(
        self, source: str, *tools: str, hosts: bool = True, sends: bool = False, **more: Any
    ) -> Any:
        made = script(source.replace("HERE", self.service.pair), *tools)
        if hosts:
            params = {"hosts": [self.service.pair]}
            made["plan"][0]["config"]["grants"] += [{"tool": "http_fetch", "params": params}]
        if sends:
            # What changes something is held otherwise; the grant fixes where it goes.
            made["plan"][0]["approval"] = {"http_fetch": "automatic"}
        made |= more
        return await self.bench.run(made)

    async def output(self, source: str) -> Any:
        run = await self.run(source)
        assert run["status"] == "succeeded", run["error"]
        return run["output"]


@pytest_asyncio.fixture
async def outward(bench: Bench) -> AsyncIterator[Outward]:
    service = Service()
    async with local_server(service) as server:
        service.pair = f"127.0.0.1:{server.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset({service.pair}))
        old = bench.application
        application = build_application(
            settings, old.limits, old.registry, old.database, old.script_runner
        )
        await application.vault.set(bench.secret_scope, "api_key", SECRET)
        yield Outward(Bench(application, bench.outside), service)
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


async def test_http_fetch_answers_the_parsed_body(outward: Outward) -> None:
    output = await outward.output("""
        const json = await brains.http_fetch({ url: "http://HERE/v1/charges" });
        const rows = await brains.http_fetch({ url: "http://HERE/list" });
        const named = await brains.http_fetch({ url: "http://HERE/named" });
        return { total: json.data.reduce((s, c) => s + c.amount, 0) / 100,
            keys: Object.keys(json), numbers: rows.map((row) => row.n), named };
    """)
    assert output == {
        "total": 1234.5,
        "keys": ["object", "data"],
        "numbers": [1, 2],
        "named": {"status": "paid", "json": 7},
    }


async def test_scripts_that_read_the_response_of_http_fetch_keep_working(outward: Outward) -> None:
    output = await outward.output("""
        const { json, status } = await brains.http_fetch({ url: "http://HERE/v1/charges" });
        const r = await brains.http_fetch({ url: "http://HERE/v1/charges" });
        const text = await brains.http_fetch({ url: "http://HERE/text" });
        const none = await brains.http_fetch({ url: "http://HERE/none" });
        const gone = await brains.http_fetch({ url: "http://HERE/gone", allow_error_status: true });
        const refused = await brains.http_fetch({ url: "http://HERE/gone" }).catch((e) => e.code);
        return [json.data.length, status, r.json.data.length, r.ok, r.headers["x-page"],
            r.text.length > 0, r.url, text.text, none.status, gone.status, gone.json, refused];
    """)
    url = f"http://{outward.service.pair}/v1/charges"
    assert output == [
        2,
        200,
        2,
        True,
        "2",
        True,
        url,
        "plain words",
        204,
        410,
        {"error": "gone"},
        "http_status",
    ]


async def test_http_request_answers_status_headers_and_body(outward: Outward) -> None:
    source = """
        const named = await brains.http_request({ url: "http://HERE/named",
            headers: { Authorization: "Bearer {{api_key}}" } });
        return [named.ok, named.status, named.headers["x-page"], named.json, typeof named.text];
    """
    assert await outward.output(source) == [True, 200, "2", {"status": "paid", "json": 7}, "string"]
    (head,) = outward.service.heads
    assert f"authorization: bearer {SECRET}" in head.lower()


async def test_plain_fetch_is_a_recorded_call_with_a_response(outward: Outward) -> None:
    source = """
        const r = await fetch("http://HERE/v1/charges?key={{api_key}}", {
            headers: { Authorization: `Bearer {{api_key}}` },
        });
        const gone = await fetch(new URL("http://HERE/gone"));
        const none = await fetch("http://HERE/none", { method: "DELETE" });
        const json = await r.json();
        return [r instanceof Response, r.ok, r.status, r.headers.get("X-Page"), json.data.length,
            gone.ok, gone.status, await gone.text(), none.status, await none.text()];
    """
    run = await outward.run(source, sends=True)
    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == [
        True,
        True,
        200,
        "2",
        2,
        False,
        410,
        '{"error": "gone"}',
        204,
        "",
    ]
    assert [call["capability"] for call in run["calls"]] == ["http_fetch"] * 3
    first = outward.service.heads[0]
    assert f"authorization: bearer {SECRET}" in first.lower()
    assert f"key={SECRET}" in first
    hay = Haystack()
    await add_tables(hay, outward.bench.application.database)
    assert hay.found({"api_key": SECRET}) == []


async def test_plain_fetch_sends_its_body(outward: Outward) -> None:
    source = """
        const url = "http://HERE/text";
        await fetch(url, { method: "POST", body: JSON.stringify({ a: "ä" }),
            headers: { "Content-Type": "application/json" } });
        await fetch(url, { method: "PUT", body: new URLSearchParams({ a: "1" }) });
        const form = new FormData();
        form.append("a", "1");
        await fetch(new Request(url, { method: "POST", body: form }));
        let binary = "sent", redirect = "sent";
        try { await fetch(url, { method: "POST", body: new Uint8Array([255, 254]) }); }
        catch (error) { binary = error.message; }
        try { await fetch(url, { redirect: "error" }); } catch (error) { redirect = error.message; }
        return [binary, redirect];
    """
    run = await outward.run(source, sends=True)
    assert run["status"] == "succeeded", run["error"]
    binary, redirect = run["output"]
    assert "UTF-8" in binary
    assert "redirect" in redirect
    heads = [head.lower() for head in outward.service.heads]
    kinds = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"]
    assert all(f"content-type: {kind}" in head for kind, head in zip(kinds, heads, strict=True))
    assert all("idempotency-key:" in head for head in heads)
    # A resumed script makes the same request again, so the boundary is not a random one.
    assert "boundary=----mainspring-" in heads[2]


async def test_plain_fetch_needs_the_grant_of_its_host(outward: Outward) -> None:
    source = """
        try { await fetch(["http:/", "HERE", "text"].join("/")); } catch (e) { return e.code; }
    """
    refused = await outward.run(source, hosts=False)
    assert refused["output"] == "not_granted", refused
    assert outward.service.heads == []
    elsewhere = 'try { await fetch("http://127.0.0.1:9/"); } catch (e) { return e.code; }'
    other = await outward.run(elsewhere)
    assert other["output"] == "not_granted", other
    assert outward.service.heads == []


async def test_plain_fetch_is_not_sent_again_when_its_script_is_resumed(outward: Outward) -> None:
    source = """
        const r = await fetch("http://HERE/text", { method: "POST", body: "once" });
        await brains["test.flaky"]({ failures: 1 });
        return await r.text();
    """
    run = await outward.run(source, "test.flaky", sends=True, execution={"retry_backoff": "none"})
    assert run["output"] == "plain words", run["error"]
    assert [each["status"] for each in run["steps"]] == ["retrying", "succeeded"]
    assert len(outward.service.heads) == 1


async def test_a_dry_run_sends_no_change_through_plain_fetch(outward: Outward) -> None:
    source = """
        const read = await fetch("http://HERE/text");
        const written = await fetch("http://HERE/text", { method: "POST", body: "x" });
        return [await read.text(), written.status];
    """
    made = script(source.replace("HERE", outward.service.pair))
    grants = [{"tool": "http_fetch", "params": {"hosts": [outward.service.pair]}}]
    made["plan"][0]["config"]["grants"] = grants
    run = await outward.bench.run(made, mode="dry_run")
    assert run["output"] == ["plain words", 200], run["error"]
    assert [head.split()[0] for head in outward.service.heads] == ["GET"]
