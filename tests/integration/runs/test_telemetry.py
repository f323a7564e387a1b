"""What an OpenTelemetry collector receives about runs and requests, and what it does not."""

from __future__ import annotations

import logging
from dataclasses import replace
from uuid import UUID

import pytest

from mainspring.outbound.telemetry import TelemetryExporter, first_span
from tests.kit.api import served
from tests.kit.bench import Bench, document, step
from tests.kit.collector import attributes, collecting
from tests.kit.webhooks import hook, webhook

CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HIDDEN = "a-word-that-nobody-may-see"
WALK = step(
    "walk",
    "for_each",
    {"items": [1, 2], "steps": [step("each", "transform_data", {"output": HIDDEN})]},
)


async def test_an_mcp_request_is_a_span_of_its_route(bench: Bench) -> None:
    with collecting() as collector:
        application = replace(bench.application, telemetry=TelemetryExporter(collector.address))
        async with served(application, own_app=True) as api:
            await api.client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        await application.telemetry.aclose()

    (asked,) = [one for one in collector.spans if one.name.startswith("POST")]
    assert (asked.name, attributes(asked)["http.route"]) == ("POST /mcp", "/mcp")


async def test_a_request_and_its_run_are_exported_as_linked_spans(
    bench: Bench,
) -> None:
    with collecting() as collector:
        application = replace(bench.application, telemetry=TelemetryExporter(collector.address))
        notified = replace(bench, application=application)
        async with served(application, own_app=True) as api:
            called = await hook(notified, api, webhook(), plan=[WALK])
            answer = await called.fire({"word": HIDDEN}, headers={"traceparent": CALLER})
            run_id = answer.json()["run_id"]
            oops = step("oops", "transform_data", {"output": "{{ trigger.nothing }}"})
            made = await notified.dispatch(document(oops))
            async with notified.worker():
                await notified.until(UUID(run_id))
                await notified.until(made.run_id)
        await application.telemetry.aclose()

    spans = collector.spans
    (run,) = [one for one in spans if one.name == "run" and one.trace_id.hex() == UUID(run_id).hex]
    about = attributes(run)
    assert about["mainspring.run_id"] == run_id
    assert about["mainspring.trigger"] == "webhook"
    assert about["mainspring.queue"] == "fast"
    assert (about["mainspring.status"], about["mainspring.version"]) == ("succeeded", 1)
    # A step of an item is within the step that walks the items, and that is within the run.
    (walk,) = [one for one in spans if one.name == "step walk"]
    assert walk.parent_span_id == run.span_id
    each = [one for one in spans if one.name == "step each"]
    assert sorted(attributes(one)["mainspring.item"] for one in each) == ["0", "1"]
    assert {one.parent_span_id for one in each} == {walk.span_id}
    # The request goes on in the trace that it came with, and points to the run's.
    (fired,) = [one for one in spans if one.name.startswith("POST") and one.name.endswith("/fire")]
    assert fired.trace_id.hex() == CALLER.split("-")[1]
    assert fired.parent_span_id.hex() == CALLER.split("-")[2]
    assert attributes(fired)["http.response.status_code"] == 202
    assert [link.trace_id.hex() for link in fired.links] == [UUID(run_id).hex]
    assert int.from_bytes(fired.links[0].span_id) == first_span(UUID(run_id))
    assert fired.links[0].span_id == run.span_id
    # A failure is reported by its code.
    (failed,) = [
        one for one in spans if one.trace_id.hex() == made.run_id.hex and one.name == "run"
    ]
    assert attributes(failed)["mainspring.status"] == "failed"
    assert attributes(failed)["error.type"]
    assert failed.status.code == 2
    ended = {
        attributes(point)["status"]: point.as_int
        for point in collector.metrics["mainspring.runs"].sum.data_points
    }
    assert ended == {"succeeded": 1, "failed": 1}
    assert {"mainspring.step.duration", "mainspring.run.wait"} <= collector.metrics.keys()
    everything = b"".join(collector.raw)
    assert HIDDEN.encode() not in everything
    assert called.token.encode() not in everything


async def test_a_run_that_slept_goes_on_in_its_trace(bench: Bench) -> None:
    with collecting() as collector:
        application = replace(bench.application, telemetry=TelemetryExporter(collector.address))
        notified = replace(bench, application=application)
        made = await notified.dispatch(
            document(
                step("rest", "delay", {"seconds": 1}), step("one", "transform_data", {"output": 1})
            )
        )
        async with notified.worker():
            await notified.until(made.run_id)
        await application.telemetry.aclose()

    of_run = [one for one in collector.spans if one.trace_id.hex() == made.run_id.hex]
    (first,) = [one for one in of_run if one.name == "run"]
    (later,) = [one for one in of_run if one.name == "run resumed"]
    assert attributes(first)["mainspring.status"] == "waiting"
    assert later.parent_span_id == first.span_id
    assert [link.span_id for link in later.links] == [first.span_id]


async def test_a_collector_that_is_away_costs_a_line(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    application = replace(bench.application, telemetry=TelemetryExporter("http://127.0.0.1:9"))
    notified = replace(bench, application=application)

    with caplog.at_level(logging.WARNING):
        for name in ("one", "two"):
            run = await notified.run(
                document(step("one", "transform_data", {"output": 1}), name=name)
            )
            assert run["status"] == "succeeded"
        await application.telemetry.aclose()

    output = [one for one in caplog.records if "collector" in one.getMessage()]
    assert 1 <= len(output) <= 2
    assert not [one for one in caplog.records if one.name.startswith("opentelemetry")]
