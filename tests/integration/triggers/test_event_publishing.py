"""An automation tells of events itself: exactly when its call is recorded, and only in shape."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from mainspring.contracts.event import EventType
from mainspring.contracts.limits import Limits
from mainspring.workspace.events import declare_type
from tests.kit.bench import Bench, document, step
from tests.kit.events import listen, match_all, runs_of


def _telling(name: str, **arguments: Any) -> dict[str, Any]:
    return document(step("tell", "publish_event", arguments), name=name)


async def _events(bench: Bench, event_type: str) -> list[Any]:
    return await bench.application.database.fetch(
        "SELECT * FROM events WHERE type = $1", event_type
    )


async def test_a_run_tells_of_an_event_and_another_follows_it(bench: Bench) -> None:
    follower = await listen(bench, "follower", "digest.ready", {"pages": 5})
    run = await bench.run(_telling("teller", type="digest.ready", payload={"pages": 5}))
    assert run["status"] == "succeeded"
    (event,) = await _events(bench, "digest.ready")
    assert run["output"] == {"event_id": str(event["id"])}
    assert event["run_id"] == run["id"]
    assert event["source_id"] == str(run["automation_id"])
    await match_all(bench.application)
    (second,) = await runs_of(bench.application, follower)
    assert (second["parent_id"], second["root_id"], second["depth"]) == (run["id"], run["id"], 1)


async def test_product_event_names_are_reserved(bench: Bench) -> None:
    run = await bench.run(_telling("liar", type="automation.run.succeeded"))
    assert run["status"] == "failed"
    assert run["error"]["errors"][0]["pointer"] == "/type"
    assert run["error"]["code"] == "reserved_event_type"
    # The only event of this kind would be of a run that ended well; there is none.
    assert await _events(bench, "automation.run.succeeded") == []


async def test_a_payload_must_fit_the_declared_type(bench: Bench) -> None:
    schema = {"type": "object", "properties": {"pages": {"type": "integer"}}}
    async with bench.application.database.transaction() as tx:
        declared = EventType("digest.ready", "A digest.", schema)
        await declare_type(tx, bench.application.workspace_id, declared, Limits(), ())
    run = await bench.run(_telling("wrong", type="digest.ready", payload={"pages": "5"}))
    assert run["status"] == "failed"
    assert run["error"]["errors"][0]["pointer"] == "/payload/pages"
    assert await _events(bench, "digest.ready") == []
    run = await bench.run(_telling("right", type="digest.ready", payload={"pages": 5}))
    assert run["status"] == "succeeded"


async def test_an_end_tells_which_run_it_was(bench: Bench) -> None:
    run = await bench.run(document(step("a", "transform_data", {"output": 1}), name="plain"))
    (event,) = await _events(bench, "automation.run.succeeded")
    assert event["run_id"] == run["id"]
    assert UUID(event["payload"]["run_id"]) == run["id"]


async def test_a_large_payload_is_refused_with_its_place(bench: Bench) -> None:
    written = _telling(
        "large", type="digest.ready", payload={"a": "{{ inputs.x }}", "b": "{{ inputs.x }}"}
    )
    written["inputs"] = {"schema": {"type": "object", "properties": {"x": {"type": "string"}}}}
    run = await bench.run(written, inputs={"x": "y" * 140_000})
    assert run["status"] == "failed"
    assert run["error"]["errors"][0]["pointer"] == "/payload"
