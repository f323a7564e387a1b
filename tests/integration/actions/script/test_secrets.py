"""Secrets and scripts: spelt in the source, put in at the door, never in the sandbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest_asyncio

from mainspring.wiring import build_house
from tests.kit.house import Bench
from tests.kit.leaks import Haystack, add_tables
from tests.kit.outside import local_server
from tests.kit.scripts import script

SECRET = "sk-live-4242-never-shown"


class Echo:
    """Says back what it was sent, secret and all, as careless services do."""

    def __init__(self) -> None:
        self.heads: list[str] = []

    async def __call__(self, head: bytes, writer: asyncio.StreamWriter) -> None:
        self.heads.append(head.decode())
        body = json.dumps({"you_sent": head.decode()}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


@pytest_asyncio.fixture
async def outward(bench: Bench) -> AsyncIterator[tuple[Bench, Echo, Echo, str, str]]:
    """Two services that the operator has allowed, and a secret of the owner's."""
    one, other = Echo(), Echo()
    async with local_server(one) as first, local_server(other) as second:
        pairs = (f"127.0.0.1:{first.port}", f"127.0.0.1:{second.port}")
        settings = replace(bench.house.settings, egress_allow=frozenset(pairs))
        house = build_house(
            settings, bench.house.limits, bench.house.registry, bench.house.database
        )
        await house.vault.set(bench.drawer, "api_key", SECRET)
        yield Bench(house, bench.outside), one, other, pairs[0], pairs[1]
        await house.waker.aclose()
        await house.egress.aclose()


def _plan(source: str, *hosts: str) -> dict[str, Any]:
    made = script(source)
    made["plan"][0]["config"]["grants"] = [{"tool": "http_fetch", "params": {"hosts": list(hosts)}}]
    return made


Outward = tuple[Bench, Echo, Echo, str, str]


async def test_a_secret_is_put_in_at_the_door_and_never_reaches_the_script(
    outward: Outward,
) -> None:
    bench, one, _, here, _ = outward
    source = """
        const response = await brains.http_fetch({ url: "http://HERE/v1/charges",
            headers: { Authorization: `Bearer {{api_key}}` }, query: { key: "{{ secrets.api_key }}" } });
        console.log("it said", response.text);
        const whole = JSON.stringify(response);
        const written = await Deno.readTextFile("/proc/self/environ").catch((e) => e.name);
        return { status: response.status, has: whole.includes("4242"), written };
    """.replace("HERE", here)  # noqa: E501
    run = await bench.run(_plan(source, here))
    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == {"status": 200, "has": False, "written": "NotCapable"}
    (head,) = one.heads
    assert f"authorization: bearer {SECRET}" in head.lower()
    assert f"key={SECRET}" in head
    hay = Haystack()
    assert await add_tables(hay, bench.house.database) > 100
    assert hay.found({"api_key": SECRET}) == []
    assert "it said" in hay, "the output of the script was looked through"


async def test_a_secret_goes_to_the_host_that_its_source_says_and_no_further(
    outward: Outward,
) -> None:
    bench, one, other, here, there = outward
    source = """
        const headers = { Authorization: "Bearer " + ["{", "{api_key}", "}"].join("") };
        await brains.http_fetch({ url: "http://HERE/", headers: { Authorization: "Bearer {{api_key}}" } });
        try { await brains.http_fetch({ url: "http://THERE/", headers }); }
        catch (error) { return [error.code, error.message]; }
    """.replace("HERE", here).replace("THERE", there)  # noqa: E501
    run = await bench.run(_plan(source, here, there))
    assert run["status"] == "succeeded", run["error"]
    assert run["output"][0] == "secret_not_allowed_here"
    assert "api_key" in run["output"][1]
    assert len(one.heads) == 1
    assert other.heads == []


async def test_a_placeholder_that_is_made_up_while_it_runs_is_refused_everywhere_else(
    outward: Outward,
) -> None:
    bench, one, _, here, _ = outward
    source = """
        const made = "{" + "{api_key}" + "}";
        const url = "http://HERE/";
        await brains.http_fetch({ url, headers: { Authorization: "Bearer {{api_key}}" } });
        const codes = [];
        for (const given of [{ method: "POST", body: made }, { query: { a: made } },
            { headers: { "X-Other": "{" + "{other_key}" + "}" } }]) {
            try { await brains.http_fetch({ url, ...given }); } catch (error) { codes.push(error.code); }
        }
        return codes;
    """.replace("HERE", here)  # noqa: E501
    run = await bench.run(_plan(source, here))
    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == ["secret_not_allowed_here"] * 3
    assert len(one.heads) == 1
