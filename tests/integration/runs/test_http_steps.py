"""Runs that reach outside: keys, secrets by name, retries by status, and hosts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest_asyncio

from mainspring.app import build_application
from tests.kit.bench import Bench, document, step
from tests.kit.loopback_doubles import local_server

SECRET = "s3cr3t-value-42"


class Receiver:
    """A system outside that keeps what it was sent and answers by a script."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.answers: list[bytes] = []

    async def __call__(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        self.requests.append(request)
        head = self.answers.pop(0) if self.answers else b"HTTP/1.1 200 OK\r\n"
        body = json.dumps({"echo": request.decode(errors="replace")[-2000:]}).encode()
        writer.write(head + b"Content-Type: application/json\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)


@pytest_asyncio.fixture
async def outside(bench: Bench) -> AsyncIterator[tuple[Bench, Receiver, str]]:
    """The bench, with one loopback address that the operator has allowed."""
    receiver = Receiver()
    async with local_server(receiver) as server:
        pair = f"127.0.0.1:{server.port}"
        settings = replace(bench.application.settings, egress_allow=frozenset({pair}))
        application = build_application(
            settings,
            bench.application.limits,
            bench.application.registry,
            bench.application.database,
        )
        yield Bench(application, bench.outside), receiver, pair
        await application.wakeup_sender.aclose()
        await application.egress.aclose()


Outward = tuple[Bench, Receiver, str]


async def test_a_callback_carries_the_step_s_key(outside: Outward) -> None:
    bench, receiver, pair = outside
    run = await bench.run(
        document(
            step(
                "tell",
                "callback_webhook",
                {"url": f"http://{pair}/hook", "body": {"run": "{{ run.id }}"}},
                approval="automatic",
            )
        )
    )
    assert run["status"] == "succeeded", run["error"]
    (request,) = receiver.requests
    assert request.startswith(b"POST /hook HTTP/1.1\r\n")
    assert f"Idempotency-Key: {run['id']}/tell".lower().encode() in request.lower()
    assert (run["outcome"], run["effects"]) == ("effects", 1)


async def test_a_secret_reaches_the_approved_host_and_no_table(outside: Outward) -> None:
    bench, receiver, pair = outside
    await bench.application.vault.set(bench.secret_scope, "hook_token", SECRET)
    run = await bench.run(
        document(
            step(
                "ask",
                "http_fetch",
                {
                    "url": f"http://{pair}/{{{{ secrets.hook_token }}}}/x",
                    "headers": {"Authorization": "Bearer {{ secrets.hook_token }}"},
                },
            ),
            step("keep", "transform_data", {"output": "{{ ask }}"}),
        )
    )
    assert run["status"] == "succeeded", run["error"]
    assert f"Bearer {SECRET}".encode() in receiver.requests[0]
    assert SECRET not in await _everything(bench)
    assert "[secret hook_token]" in json.dumps(run["steps"], default=str)


async def test_text_that_looks_like_a_placeholder_stays_text(outside: Outward) -> None:
    bench, receiver, pair = outside
    await bench.application.vault.set(bench.secret_scope, "hook_token", SECRET)
    trap = "{{ secrets.hook_token }} [secret hook_token]"
    run = await bench.run(
        document(
            step(
                "ask",
                "http_fetch",
                {
                    "url": f"http://{pair}/",
                    "headers": {"X-Note": "{{ inputs.note }}"},
                },
            ),
            inputs={"schema": {"type": "object", "properties": {"note": {"type": "string"}}}},
        ),
        inputs={"note": trap},
    )
    assert run["status"] == "succeeded", run["error"]
    assert trap.encode() in receiver.requests[0]
    assert SECRET.encode() not in receiver.requests[0]


async def test_busy_answers_are_tried_again_and_refusals_are_not(outside: Outward) -> None:
    bench, receiver, pair = outside
    fetch = {"url": f"http://{pair}/"}
    receiver.answers = [b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\n", b"HTTP/1.1 200 OK\r\n"]
    run = await bench.run(document(step("ask", "http_fetch", fetch, retry_backoff="none")))
    assert [s["status"] for s in run["steps"]] == ["retrying", "succeeded"]
    receiver.answers = [b"HTTP/1.1 404 Gone\r\n"]
    refused = await bench.run(document(step("ask", "http_fetch", fetch), name="other"))
    assert [s["status"] for s in refused["steps"]] == ["failed"]
    assert refused["error"]["status"] == 502


async def test_a_host_that_was_not_approved_is_never_dialled(outside: Outward) -> None:
    bench, receiver, pair = outside
    plan = document(
        step("ask", "http_fetch", {"url": "{{ inputs.url }}"}),
        inputs={"schema": {"type": "object", "properties": {"url": {"type": "string"}}}},
        grants=[{"capability": "http_fetch", "params": {"hosts": ["example.com"]}}],
    )
    run = await bench.run(plan, inputs={"url": f"http://{pair}/"})
    assert (run["status"], run["outcome"]) == ("failed", "blocked")
    assert not receiver.requests


async def test_a_private_address_is_refused_without_the_operator_s_word(bench: Bench) -> None:
    run = await bench.run(
        document(step("ask", "http_fetch", {"url": "http://127.0.0.1:9/"}, max_retries=0))
    )
    assert (run["status"], run["outcome"]) == ("failed", "blocked")


async def _everything(bench: Bench) -> str:
    """Every row of every table, as text."""
    tables = await bench.application.database.fetch(
        "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = "
        "'public'::regnamespace AND NOT relispartition"
    )
    found: list[Any] = []
    for table in tables:
        rows = await bench.application.database.fetch(
            f"SELECT t::text AS row FROM {table['relname']} t"
        )
        found += [row["row"] for row in rows]
    return "\n".join(found)


async def test_a_request_beyond_the_day_s_egress_is_not_sent(outside: Outward) -> None:
    bench, receiver, pair = outside
    small = replace(bench.application.limits, egress_day_bytes=150)
    application = build_application(
        bench.application.settings, small, bench.application.registry, bench.application.database
    )
    plan = document(
        step("small", "http_fetch", {"url": f"http://{pair}/a"}),
        step(
            "large",
            "http_fetch",
            {"url": f"http://{pair}/b", "method": "POST", "text": "x" * 200},
            approval="automatic",
        ),
    )
    run = await Bench(application, bench.outside).run(plan)
    await application.wakeup_sender.aclose()
    await application.egress.aclose()
    assert run["status"] == "failed"
    assert run["error"]["code"] == "egress_cap"
    assert len(receiver.requests) == 1
