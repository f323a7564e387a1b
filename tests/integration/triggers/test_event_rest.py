"""Events over REST: published, listed, read, published again, declared, and filters tried."""

from __future__ import annotations

import asyncio
import threading
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from mainspring.integration_loader import load_integrations
from mainspring.surfaces.rest.routes import events as event_routes
from mainspring.surfaces.rest.routes.events import (
    EventDetail,
    EventShape,
    EventTypesShape,
    PublishedShape,
    TriedAll,
)
from mainspring.triggers import filter_trial
from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.events import listen, match_all, matching, runs_of, tell


async def _post(api: Api, **body: Any) -> httpx2.Response:
    return await api.client.post("/api/v1/events", json=body)


async def _count(api: Api) -> int:
    return int(await api.application.database.fetchval("SELECT count(*) FROM events"))


async def test_an_event_that_is_published_starts_its_automations_soon(
    api: Api, bench: Bench
) -> None:
    automation = await listen(bench, "paid", "orders.paid", {"total": {"gt": 10}})
    async with matching(bench.application):
        answer = await _post(api, type="orders.paid", payload={"total": 12}, source_id="o-7")
        assert answer.status_code == 202
        result = PublishedShape.model_validate(answer.json())
        async with asyncio.timeout(60):
            while not (runs := await runs_of(bench.application, automation)):
                await asyncio.sleep(0.01)
    assert runs[0]["payload"] == {"total": 12}
    shown = await api.client.get(f"/api/v1/events/{result.event_id}")
    event = EventDetail.model_validate(shown.json())
    assert (event.type, event.source_id) == ("orders.paid", "o-7")
    assert [one.run_id for one in event.consumed_by] == [runs[0]["id"]]


async def test_a_key_that_comes_twice_tells_one_event(api: Api) -> None:
    body: dict[str, Any] = {"type": "orders.paid", "payload": {"n": 1}, "idempotency_key": "k-1"}
    answers = await asyncio.gather(*(_post(api, **body) for _ in range(5)))
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["event_id"] for answer in answers}) == 1
    assert [answer.json()["existed"] for answer in answers].count(False) == 1
    assert await _count(api) == 1
    other = await _post(api, **{**body, "payload": {"n": 2}})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    del body["idempotency_key"]
    key = {"Idempotency-Key": "k-1"}
    by_header = await api.client.post("/api/v1/events", json=body, headers=key)
    assert by_header.json() == {"event_id": answers[0].json()["event_id"], "existed": True}


async def test_a_key_whose_event_was_refused_is_free_again(api: Api) -> None:
    body: dict[str, Any] = {"type": "automation.x", "idempotency_key": "k-1"}
    assert (await _post(api, **body)).status_code == 422
    assert (await _post(api, **{**body, "type": "orders.paid"})).status_code == 202


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({}, "/type"),
        ({"type": "Orders"}, "/type"),
        ({"type": "orders.paid\n"}, "/type"),
        ({"type": "a." + "b" * 200}, "/type"),
        ({"type": "automation.run.succeeded"}, "/type"),
        ({"type": "orders.paid", "payload": []}, "/payload"),
        ({"type": "orders.paid", "payload": {"x": "y" * 300_000}}, "/payload"),
        ({"type": "orders.paid", "source_id": ""}, "/source_id"),
        ({"type": "orders.paid", "idempotency_key": "é"}, "/idempotency_key"),
        ({"type": "orders.paid", "kind": "x"}, "/kind"),
    ],
)
async def test_a_bad_event_gets_a_pointer_and_leaves_nothing(
    api: Api, body: dict[str, Any], pointer: str
) -> None:
    answer = await _post(api, **body)
    assert answer.status_code == 422
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert await _count(api) == 0


async def test_events_are_listed_newest_first_page_by_page(api: Api) -> None:
    ids = await tell(api.application, "orders.paid", *({"n": n} for n in range(5)))
    await tell(api.application, "orders.lost", {})
    query: dict[str, Any] = {"limit": 2, "type": "orders.paid"}
    found: list[EventShape] = []
    while True:
        shown = (await api.client.get("/api/v1/events", params=query)).json()
        found += [EventShape.model_validate(item) for item in shown["items"]]
        if shown["next"] is None:
            break
        query["cursor"] = shown["next"]
    assert [event.id for event in found] == ids[::-1]
    later = {"since": "2999-01-01T00:00:00Z"}
    assert (await api.client.get("/api/v1/events", params=later)).json()["items"] == []
    vague = await api.client.get("/api/v1/events", params={"since": "2999-01-01T00:00:00"})
    assert vague.status_code == 422
    assert vague.json()["errors"][0]["pointer"] == "/query/since"


async def test_an_event_that_is_not_there_is_missing(api: Api) -> None:
    for method, path in (("GET", ""), ("POST", "/replay")):
        answer = await api.client.request(method, f"/api/v1/events/{uuid4()}{path}")
        assert (answer.status_code, answer.json()["code"]) == (404, "no_event")


async def test_a_replayed_event_meets_the_triggers_of_today(api: Api, bench: Bench) -> None:
    (first,) = await tell(api.application, "orders.paid", {"n": 1})
    automation = await listen(bench, "later", "orders.paid")
    await match_all(api.application)
    assert await runs_of(api.application, automation) == []
    answer = await api.client.post(f"/api/v1/events/{first}/replay")
    assert answer.status_code == 202
    await match_all(api.application)
    (run,) = await runs_of(api.application, automation)
    assert run["payload"] == {"n": 1}
    again = await api.client.get(f"/api/v1/events/{answer.json()['event_id']}")
    assert again.json()["replay_of"] == str(first)


SCHEMA = {
    "type": "object",
    "required": ["total"],
    "properties": {"total": {"type": "number"}},
}


async def test_a_declared_type_is_listed_and_holds_events_to_its_schema(api: Api) -> None:
    path = "/api/v1/event-types/orders.paid"
    declared = {"description": "An order was paid.", "payload_schema": SCHEMA}
    assert (await api.client.put(path, json=declared)).status_code == 200
    listed = EventTypesShape.model_validate((await api.client.get("/api/v1/event-types")).json())
    result = {entry.type: entry.built_in for entry in listed.items}
    ours = {
        entry.type for one in load_integrations(api.application.settings) for entry in one.events
    }
    assert "gmail.message_received" in ours
    assert result == {
        "automation.run.succeeded": True,
        "automation.run.failed": True,
        "automation.run.cancelled": True,
        "board.changed": True,
        "page.ingested": True,
        "orders.paid": False,
        **dict.fromkeys(ours, True),
        "workflow.status_changed": True,
    }
    answer = await _post(api, type="orders.paid", payload={"total": "12"})
    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/payload/total"]
    assert (await _post(api, type="orders.paid", payload={"total": 12})).status_code == 202

    assert (await api.client.delete(path)).status_code == 204
    assert (await api.client.delete(path)).status_code == 404
    assert (await _post(api, type="orders.paid", payload={"total": "12"})).status_code == 202


@pytest.mark.parametrize(
    ("name", "body", "pointer"),
    [
        ("Orders", {"description": "x", "payload_schema": {}}, "/path/event_type"),
        ("automation.x", {"description": "x", "payload_schema": {}}, "/path/event_type"),
        ("orders.paid", {"description": "", "payload_schema": {}}, "/description"),
        ("orders.paid", {"description": "x"}, "/payload_schema"),
        (
            "orders.paid",
            {"description": "x", "payload_schema": {"properties": {"a": {"type": "text"}}}},
            "/payload_schema/properties/a/type",
        ),
        (
            "orders.paid",
            {"description": "x", "payload_schema": {"$ref": "https://example.com/x"}},
            "/payload_schema/$ref",
        ),
    ],
)
async def test_a_bad_event_type_gets_a_pointer(
    api: Api, name: str, body: dict[str, Any], pointer: str
) -> None:
    answer = await api.client.put(f"/api/v1/event-types/{name}", json=body)
    assert answer.status_code == 422
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert await api.application.database.fetchval("SELECT count(*) FROM event_types") == 0


async def test_a_filter_is_tried_on_recent_events_and_says_what_is_unmet(api: Api) -> None:
    ids = await tell(api.application, "orders.paid", {"total": 5}, {"total": 50, "kind": "new"})
    await tell(api.application, "orders.lost", {"total": 50})
    written = {"total": {"gt": 10}, "$and": [{"kind": "new"}]}
    answer = await api.client.post(
        "/api/v1/filters/test", json={"filter": written, "event_type": "orders.paid"}
    )
    tried = TriedAll.model_validate(answer.json())
    assert [(one.event_id, one.matches, one.unmet) for one in tried.items] == [
        (ids[1], True, []),
        (ids[0], False, ["/filter/total/gt", "/filter/$and/0/kind"]),
    ]
    assert tried.matched == 1
    assert await runs_of(api.application) == []

    answer = await api.client.post(
        "/api/v1/filters/test", json={"filter": written, "payload": {"total": 11, "kind": "new"}}
    )
    assert answer.json()["matched"] == 1
    answer = await api.client.post(
        "/api/v1/filters/test", json={"filter": {"total": {"like": 1}}, "payload": {}}
    )
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/filter/total/like"


async def test_a_filter_that_takes_too_much_work_is_refused_with_a_pointer(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    patterns = [{"text": {"regex": f"(a|b)*c{number}"}} for number in range(90)]
    body = {"filter": {"$or": patterns}, "payload": {"text": "ab" * 100_000}}
    answer = await api.client.post("/api/v1/filters/test", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "filter_too_costly")
    assert answer.json()["errors"][0]["pointer"] == "/filter"

    light = {"filter": {"total": 1}, "payload": {"total": 1}}
    assert (await api.client.post("/api/v1/filters/test", json=light)).status_code == 200
    monkeypatch.setattr(filter_trial, "MOST_SECONDS", -1.0)
    answer = await api.client.post("/api/v1/filters/test", json=light)
    assert (answer.status_code, answer.json()["code"]) == (422, "filter_too_costly")


async def test_a_text_that_a_pattern_cannot_read_is_named_when_a_filter_is_tried(
    api: Api,
) -> None:
    body = {
        "filter": {"$not": {"text": {"regex": r"\p{L}+ \p{L}+"}}},
        "payload": {"text": "Ada Lovelace" + "!" * 2_000},
    }
    answer = await api.client.post("/api/v1/filters/test", json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, "filter_text_unread")
    assert answer.json()["errors"][0]["pointer"] == "/filter/text/regex"


async def test_the_application_keeps_serving_while_a_filter_is_tried(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_loop = threading.get_ident()
    seen: list[int] = []

    def note(*arguments: Any) -> list[list[str]]:
        seen.append(threading.get_ident())
        return filter_trial.find_unmet_conditions(*arguments)

    monkeypatch.setattr(event_routes, "find_unmet_conditions", note)
    body = {"filter": {"total": 1}, "payload": {"total": 1}}
    assert (await api.client.post("/api/v1/filters/test", json=body)).status_code == 200
    assert len(seen) == 1
    assert on_loop not in seen


async def test_a_schema_that_is_too_large_is_refused_with_a_pointer(api: Api) -> None:
    schema = {"properties": {f"field{n}": {"type": "string"} for n in range(10_000)}}
    answer = await api.client.put(
        "/api/v1/event-types/orders.paid", json={"description": "x", "payload_schema": schema}
    )
    assert (answer.status_code, answer.json()["code"]) == (422, "schema_too_large")
    assert answer.json()["errors"][0]["pointer"] == "/payload_schema"
    assert await api.application.database.fetchval("SELECT count(*) FROM event_types") == 0


async def test_a_stranger_hears_nothing_of_the_log(api: Api) -> None:
    for method, path in (
        ("GET", "/events"),
        ("POST", "/events"),
        ("GET", "/event-types"),
        ("POST", "/filters/test"),
    ):
        answer = await api.anonymous.request(method, f"/api/v1{path}")
        assert answer.status_code == 401
