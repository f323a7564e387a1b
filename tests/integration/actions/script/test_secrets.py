"""Secrets and scripts: spelt in the source, put in at the gate, never in the sandbox."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest_asyncio

from mainspring.app import build_application
from mainspring.definition.script import mark_of
from tests.kit.bench import Bench
from tests.kit.leaks import Haystack, add_tables
from tests.kit.loopback_doubles import local_server
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
        settings = replace(bench.application.settings, egress_allow=frozenset(pairs))
        old = bench.application
        application = build_application(
            settings, old.limits, old.registry, old.database, old.script_runner
        )
        await application.vault.set(bench.secret_scope, "api_key", SECRET)
        yield Bench(application, bench.outside), one, other, pairs[0], pairs[1]
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


def _plan(source: str, *hosts: str) -> dict[str, Any]:
    made = script(source)
    made["plan"][0]["config"]["grants"] = [{"tool": "http_fetch", "params": {"hosts": list(hosts)}}]
    return made


Outward = tuple[Bench, Echo, Echo, str, str]


async def test_a_secret_is_inserted_by_the_gate_and_never_reaches_the_script(
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
    assert await add_tables(hay, bench.application.database) > 100
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
            { headers: { "X-Other": made } }, { headers: { [made]: "a" } }]) {
            try { await brains.http_fetch({ url, ...given }); } catch (error) { codes.push(error.code); }
        }
        return codes;
    """.replace("HERE", here)  # noqa: E501
    run = await bench.run(_plan(source, here))
    assert run["status"] == "succeeded", run["error"]
    assert run["output"] == ["secret_not_allowed_here"] * 4
    assert len(one.heads) == 1


async def test_outside_data_never_resolves_to_a_secret(outward: Outward) -> None:
    bench, one, _, here, _ = outward
    source = """
        const said = [];
        for (const subject of trigger.subjects) {
            try {
                await brains.http_fetch({ url: "http://HERE/", query: { token: "{{api_key}}", name: subject } });
                said.push("sent");
            } catch (error) { said.push(error.code + ": " + error.message); }
        }
        return said;
    """.replace("HERE", here)  # noqa: E501
    plan = _plan(source, here)
    mark = mark_of(plan["plan"][0]["config"]["source"])
    names = ["{{api_key}}", "{{ secrets.api_key }}", "{{" + mark + ":api_key}}"]
    plain = ["{{other_key}}", "{{ name }} {{", "Order {{api_key"]
    subjects = [*(f"Order for {name}" for name in names), *plain]
    run = await bench.run(plan, payload={"subjects": subjects})
    assert run["status"] == "succeeded", run["error"]
    refused, sent = run["output"][:3], run["output"][3:]
    assert all(each.startswith("secret_not_allowed_here: ") for each in refused), refused
    assert all("data cannot insert a secret" in each for each in refused)
    assert sent == ["sent"] * 3, "braces that name no secret of the script are plain text"
    queries = [parse_qs(urlsplit(head.split()[1]).query) for head in one.heads]
    assert queries == [{"token": [SECRET], "name": [name]} for name in plain]


async def test_a_client_of_the_script_s_own_has_no_secret_put_in(outward: Outward) -> None:
    bench, one, _, here, _ = outward
    source = """
        const arguments_ = { url: "http://HERE/", headers: { a: "{" + "{api_key}" + "}" } };
        const body = { jsonrpc: "2.0", id: 1, method: "tools/call",
            params: { name: "http_fetch", arguments: arguments_ } };
        const answer = await fetch(Deno.env.get("BRAINS_MCP_URL"), { method: "POST",
            headers: { authorization: "Bearer " + Deno.env.get("BRAINS_RUN_TOKEN"),
                "content-type": "application/json", accept: "application/json, text/event-stream",
                "mcp-protocol-version": "2025-11-25" },
            body: JSON.stringify(body) });
        const said = await answer.text();
        await brains.http_fetch({ url: "http://HERE/", headers: { a: "{{api_key}}" } });
        return said;
    """.replace("HERE", here)
    run = await bench.run(_plan(source, here))
    assert run["status"] == "succeeded", run["error"]
    assert "secret_not_allowed_here" in run["output"]
    (head,) = one.heads
    assert f"a: {SECRET}" in head


async def test_a_request_with_a_secret_is_not_sent_again_when_its_script_goes_on(
    outward: Outward,
) -> None:
    bench, one, _, here, _ = outward
    source = """
        const sent = await brains.http_fetch({ url: "http://HERE/", query: { token: "{{api_key}}" } });
        await brains["test.flaky"]({ failures: 1 });
        return sent.status;
    """.replace("HERE", here)  # noqa: E501
    plan = _plan(source, here)
    plan["plan"][0]["config"]["grants"].append({"tool": "test.flaky"})
    plan["execution"] = {"retry_backoff": "none"}
    run = await bench.run(plan)
    assert run["status"] == "succeeded", run["error"]
    assert [each["status"] for each in run["steps"]] == ["retrying", "succeeded"]
    (head,) = one.heads
    assert f"token={SECRET}" in head
