"""Automations over REST: what is refused, what is saved, and how people live with them."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import httpx2
import pytest

from mainspring.contracts.ids import generate_id
from mainspring.surfaces.rest.automation_shapes import (
    AutomationDetail,
    AutomationSummary,
    DiffShape,
    ExportShape,
    ImportShape,
    MessageShape,
    SavedShape,
    StateShape,
    Verdict,
    VersionDetail,
    VersionSummary,
)
from mainspring.surfaces.rest.paging import Page
from mainspring.surfaces.rest.run_shapes import Accepted
from tests.kit.api import Api
from tests.kit.bench import Bench, document, step
from tests.kit.declarative_integration import PRINTED

V1 = "/api/v1"
DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
JSON = {"Content-Type": "application/json"}


def _says(text: str = "hello", **more: Any) -> dict[str, Any]:
    return document(step("say", "transform_data", {"output": text}), **more)


async def _made(api: Api, written: dict[str, Any] | None = None) -> str:
    answer = await api.client.post(f"{V1}/automations", json=written or _says())
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def _pointers(answer: httpx2.Response) -> list[str]:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    return [entry["pointer"] for entry in answer.json().get("errors", [])]


async def _stored(api: Api) -> list[int]:
    tables = ("automations", "automation_versions", "definitions", "triggers")
    count = api.application.database.fetchval
    return [await count(f"SELECT count(*) FROM {table}") for table in tables]


_NO_JSON: list[tuple[bytes, int, list[str] | None]] = [
    (b"", 422, [""]),
    (b"{", 422, [""]),
    (b"[]", 422, [""]),
    (b"null", 422, [""]),
    (b'"definition"', 422, [""]),
    (b'{"name": "a", "name": "b"}', 422, ["/name"]),
    (b'{"goal": NaN}', 422, ["/goal"]),
    (b'{"goal": "\\ud800"}', 422, ["/goal"]),
    (b'{"goal": "a\\u0000b"}', 422, ["/goal"]),
    (b"[" * 100_000, 422, None),
    (b"\xff", 422, [""]),
    (b" " * 1_048_577, 413, []),
]


async def test_a_declarative_integration_is_saved_as_it_is_printed(api: Api) -> None:
    validated = await api.client.post(f"{V1}/validate", json=PRINTED)
    assert (validated.status_code, validated.json()["ok"]) == (200, True), validated.text
    found = (await api.client.get(f"{V1}/automations/{await _made(api, PRINTED)}")).json()
    assert found["name"] == PRINTED["name"]
    assert found["definition"] == validated.json()["definition"]
    assert [one["action"] for one in found["definition"]["plan"]] == ["ingest_from_endpoint"]
    wrong = {**PRINTED, "trigger": {"kind": "cron", "cron": "every hour"}}
    refused = await api.client.post(f"{V1}/automations", json=wrong)
    assert (refused.status_code, _pointers(refused)) == (422, ["/trigger/cron"])


@pytest.mark.parametrize("path", ["validate", "automations", "import"])
async def test_what_is_no_json_is_refused_with_its_place(api: Api, path: str) -> None:
    for body, status, pointers in _NO_JSON:
        # A bundle may be larger than one definition.
        larger = path == "import" and status == 413
        sent = b" " * (api.application.limits.import_bytes + 1) if larger else body
        answer = await api.client.post(f"{V1}/{path}", content=sent, headers=JSON)
        if path == "validate" and answer.status_code == 200:
            assert not answer.json()["ok"]
            found = [entry["pointer"] for entry in answer.json()["errors"]]
        else:
            assert answer.status_code == status, body[:40]
            found = _pointers(answer)
        assert pointers is None or found == pointers, body[:40]
    assert await _stored(api) == [0, 0, 0, 0]


_RESERVED = (
    "workspace_id",
    "created_by",
    "state",
    "version",
    "id",
    "__proto__",
    "constructor",
)


async def test_fields_that_are_not_the_author_s_are_refused(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}"
    before = await _stored(api)
    for field in _RESERVED:
        written = {**_says("other", name="other"), field: "x"}
        created = await api.client.post(f"{V1}/automations", json=written)
        imported = await api.client.post(f"{V1}/import", json=written)
        changed = await api.client.put(place, json=written)
        for answer in (created, imported, changed):
            assert (answer.status_code, _pointers(answer)) == (422, [f"/{field}"])
    assert await _stored(api) == before


_WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("run", {"inputs": []}, "/inputs"),
    ("run", {"inputs": None}, "/inputs"),
    ("run", {"idempotency_key": ""}, "/idempotency_key"),
    ("run", {"idempotency_key": "k" * 201}, "/idempotency_key"),
    ("run", {"idempotency_key": 7}, "/idempotency_key"),
    ("run", {"workspace_id": "x"}, "/workspace_id"),
    ("run", {"trigger_type": "schedule"}, "/trigger_type"),
    ("rollback", {}, "/version"),
    ("rollback", {"version": "1"}, "/version"),
    ("rollback", {"version": 0}, "/version"),
    ("rollback", {"version": 1.5}, "/version"),
    ("rollback", {"version": True}, "/version"),
    ("rollback", {"version": 2**40}, "/version"),
    ("rollback", {"version": 1, "state": "active"}, "/state"),
]


async def test_a_body_with_a_wrong_field_is_refused_and_does_nothing(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}"
    for path, body, pointer in _WRONG:
        answer = await api.client.post(f"{place}/{path}", json=body)
        assert (answer.status_code, _pointers(answer)) == (422, [pointer])
    assert await api.application.database.fetchval("SELECT count(*) FROM runs") == 0
    assert (await _stored(api))[1] == 1


_PLACES = [
    ("GET", ""),
    ("PUT", ""),
    ("POST", "/activate"),
    ("POST", "/pause"),
    ("POST", "/archive"),
    ("POST", "/restore"),
    ("POST", "/acknowledge"),
    ("POST", "/run"),
    ("GET", "/versions"),
    ("GET", "/versions/1"),
    ("GET", "/diff?from=1&to=2"),
    ("POST", "/rollback"),
    ("GET", "/export"),
]


async def test_an_automation_that_is_not_there_is_missing(api: Api) -> None:
    bodies: dict[str, Any] = {"": _says(), "/rollback": {"version": 1}, "/run": {}}
    for method, tail in _PLACES:
        body = bodies.get(tail) if method != "GET" else None
        for known in (generate_id(), UUID(int=0)):
            place = f"{V1}/automations/{known}{tail}"
            answer = await api.client.request(method, place, json=body)
            assert (answer.status_code, answer.json()["code"]) == (404, "no_automation"), place
        wrong = await api.client.request(method, f"{V1}/automations/1%27--{tail}", json=body)
        assert (wrong.status_code, _pointers(wrong)) == (422, ["/path/automation_id"])


_QUERIES = [
    "state=running",
    "limit=0",
    "limit=201",
    "cursor=x",
    "sort=luck",
    "order=name",
    "search=" + "x" * 201,
]


async def test_a_query_that_is_not_read_here_is_refused(api: Api) -> None:
    for query in _QUERIES:
        answer = await api.client.get(f"{V1}/automations?{query}")
        assert answer.status_code == 422, query
        assert _pointers(answer) == [f"/query/{query.partition('=')[0]}"]
    assert (await api.client.get(f"{V1}/automations?search=%00")).status_code == 422
    odd = await api.client.get(f"{V1}/automations?search=%ED%A0%80%FF%25")
    assert (odd.status_code, odd.json()["items"]) == (200, [])


async def test_a_definition_is_judged_and_never_stored(api: Api) -> None:
    good = await api.client.post(
        f"{V1}/validate", json=document(step("a", "test.note"), schema_version="1.1")
    )
    shown = Verdict.model_validate(good.json())
    assert (good.status_code, shown.ok, shown.errors) == (200, True, [])
    assert [grant.capability for grant in shown.grants] == ["test.note"]
    bad = await api.client.post(f"{V1}/validate", json=document(step("a", "no_such")))
    shown = Verdict.model_validate(bad.json())
    assert [finding.pointer for finding in shown.errors] == ["/plan/0/action"]
    assert shown.definition is None
    assert await _stored(api) == [0, 0, 0, 0]


async def test_an_automation_is_made_paused_and_read_back(api: Api) -> None:
    answer = await api.client.post(f"{V1}/automations", json=_says(triggers=[DAILY]))
    saved = SavedShape.model_validate(answer.json())
    assert (answer.status_code, saved.version, saved.state) == (201, 1, "paused")
    assert answer.headers["location"] == f"{V1}/automations/{saved.id}"
    found = await api.client.get(answer.headers["location"])
    shown = AutomationDetail.model_validate(found.json())
    assert found.headers["etag"] == answer.headers["etag"] == '"1"'
    assert (shown.name, shown.state, shown.next_due_at) == ("a test", "paused", None)
    assert [trigger.slug for trigger in shown.triggers] == ["daily"]
    again = await api.client.put(answer.headers["location"], json=shown.definition)
    assert (again.status_code, again.json()["changed"]) == (200, False)


async def test_the_secrets_of_an_automation_are_reported_with_where_they_go(api: Api) -> None:
    source = """
    await brains.http_fetch({url: "https://a.example/", headers: {x: "{{secrets.dotted}}"}});
    await brains.http_fetch({url: "https://a.example/", headers: {y: "{{in_script}}"}});
    """
    hook = {"id": "t", "type": "webhook", "config": {"signature": {"secret": "in_trigger"}}}
    fetch = {"url": "https://b.example/", "query": {"key": "{{secrets.in_step}}"}}
    written = document(
        step("one", "script", {"source": source}),
        step("two", "http_fetch", fetch),
        triggers=[hook],
    )
    found = await api.client.get(f"{V1}/automations/{await _made(api, written)}")
    shown = AutomationDetail.model_validate(found.json())
    assert [tuple(one.model_dump().values()) for one in shown.secrets] == [
        ("dotted", "http_fetch", "headers", "a.example:443"),
        ("in_script", "http_fetch", "headers", "a.example:443"),
        ("in_step", "http_fetch", "query", "b.example:443"),
        ("in_trigger", "webhook", "", ""),
    ]
    none = await api.client.get(f"{V1}/automations/{await _made(api, _says(name='bare'))}")
    assert none.json()["secrets"] == []


async def test_a_name_that_is_taken_is_a_clash_and_makes_no_version(api: Api) -> None:
    await _made(api)
    before = await _stored(api)
    answer = await api.client.post(f"{V1}/automations", json=_says("other"))
    assert (answer.status_code, _pointers(answer)) == (409, ["/name"])
    assert await _stored(api) == before


async def test_a_change_to_an_older_version_is_a_clash(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}"
    first = await api.client.put(place, json=_says("two"), headers={"If-Match": '"1"'})
    assert (first.status_code, first.headers["etag"]) == (200, '"2"')
    second = await api.client.put(place, json=_says("three"), headers={"If-Match": '"1"'})
    assert (second.status_code, second.json()["code"]) == (409, "version_changed")
    for header in ("3", 'W/"2"', '"x"', '"2", "3"', '"0"', '"99999999999"'):
        wrong = await api.client.put(place, json=_says("x"), headers={"If-Match": header})
        assert (wrong.status_code, _pointers(wrong)) == (422, ["/header/if-match"])
    free = await api.client.put(place, json=_says("four"), headers={"If-Match": "*"})
    assert free.json()["version"] == 3


async def test_a_save_tells_what_widens(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}"
    written = document(step("a", "http_fetch", {"url": "https://example.com/"}))
    answer = await api.client.put(place, json=written)
    assert answer.json()["widened"] == [
        {"capability": "http_fetch", "params": {"hosts": ["example.com"]}}
    ]


async def test_an_automation_goes_through_its_states(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api, _says(triggers=[DAILY]))}"
    for act, state in (
        ("activate", "active"),
        ("activate", "active"),
        ("pause", "paused"),
        ("activate", "active"),
        ("archive", "archived"),
        ("restore", "paused"),
        ("acknowledge", "paused"),
    ):
        answer = await api.client.post(f"{place}/{act}")
        assert answer.status_code == 200, answer.text
        assert StateShape.model_validate(answer.json()).state == state
        assert (await api.client.get(place)).json()["state"] == state
    await api.client.post(f"{place}/archive")
    refused = await api.client.post(f"{place}/activate")
    assert (refused.status_code, refused.json()["code"]) == (409, "archived")


async def test_activating_warns_of_a_board_that_is_not_there_and_of_nothing_else(api: Api) -> None:
    nowhere = {"id": "rows", "type": "board_change", "config": {"board_id": str(generate_id())}}
    for triggers, codes in (([DAILY], []), ([DAILY, nowhere], ["board_missing"])):
        written = _says(name=f"with {len(triggers)}", triggers=triggers)
        place = f"{V1}/automations/{await _made(api, written)}"
        active = (await api.client.post(f"{place}/activate")).json()
        paused = (await api.client.post(f"{place}/pause")).json()

        warned = StateShape.model_validate(active).warnings
        assert [one.code for one in warned] == codes
        assert [one.pointer for one in warned] == ["/triggers/1/config/board_id" for _ in codes]
        assert (paused["state"], paused["warnings"]) == ("paused", [])


async def test_automations_are_listed_as_documented(api: Api) -> None:
    for name in ("one", "two", "three"):
        await _made(api, _says(name=name))
    first = (await api.client.get(f"{V1}/automations?limit=2")).json()
    Page[AutomationSummary].model_validate(first)
    assert [row["name"] for row in first["items"]] == ["three", "two"]
    rest = (await api.client.get(f"{V1}/automations?limit=2&cursor={first['next']}")).json()
    assert ([row["name"] for row in rest["items"]], rest["next"]) == (["one"], None)
    found = (await api.client.get(f"{V1}/automations?search=TW")).json()
    assert [row["name"] for row in found["items"]] == ["two"]
    assert (await api.client.get(f"{V1}/automations?state=active")).json()["items"] == []


async def test_a_paused_automation_is_run_manually(api: Api, bench: Bench) -> None:
    needs = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}
    written = document(
        step("say", "transform_data", {"output": "{{ inputs.n + 1 }}"}),
        inputs={"schema": needs},
    )
    place = f"{V1}/automations/{await _made(api, written)}/run"
    answer = await api.client.post(place, json={"inputs": {"n": 1}})
    accepted = Accepted.model_validate(answer.json())
    assert (answer.status_code, accepted.status) == (202, "pending")
    assert answer.headers["location"] == accepted.url
    assert accepted.url.endswith(f"{V1}/runs/{accepted.run_id}")
    async with bench.worker():
        assert (await bench.until(accepted.run_id))["output"] == 2
    for body, pointer in (({}, "/inputs/n"), ({"inputs": {"n": "x"}}, "/inputs/n")):
        wrong = await api.client.post(place, json=body)
        assert (wrong.status_code, _pointers(wrong)) == (422, [pointer])


async def test_a_manual_run_needs_no_body(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}/run"
    output = {"Content-Type": "application/json"}
    assert (await api.client.post(place, headers=output, content=b"")).status_code == 202
    answer = await api.client.post(place)
    assert answer.status_code == 202, answer.text


async def test_a_run_asked_for_twice_with_one_key_is_one_run(api: Api) -> None:
    accepted = {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    place = f"{V1}/automations/{await _made(api, _says(inputs=accepted))}/run"
    body = {"inputs": {"a": 1}, "idempotency_key": "order 7"}
    first, second = [await api.client.post(place, json=body) for _ in range(2)]
    assert first.json()["run_id"] == second.json()["run_id"]
    other = await api.client.post(place, json={**body, "inputs": {"a": 2}})
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert await api.application.database.fetchval("SELECT count(*) FROM runs") == 1


async def test_the_header_of_a_manual_run_is_its_key_as_much_as_the_body_is(api: Api) -> None:
    accepted = {"schema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    place = f"{V1}/automations/{await _made(api, _says(inputs=accepted))}/run"
    key, inputs = {"Idempotency-Key": "order-7"}, {"inputs": {"a": 1}}
    first, second = [await api.client.post(place, json=inputs, headers=key) for _ in range(2)]
    assert first.status_code == second.status_code == 202
    assert first.json()["run_id"] == second.json()["run_id"]
    assert "Idempotent-Replay" not in first.headers
    assert second.headers["Idempotent-Replay"] == "true"
    named = await api.client.post(place, json={**inputs, "idempotency_key": "order-7"})
    assert named.json()["run_id"] == first.json()["run_id"]
    other = await api.client.post(place, json={"inputs": {"a": 2}}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
    assert await api.application.database.fetchval("SELECT count(*) FROM runs") == 1

    wrong: list[tuple[list[tuple[str, str]], dict[str, Any], str]] = [
        ([("Idempotency-Key", "a b")], {}, "/header/idempotency-key"),
        ([("Idempotency-Key", "k" * 256)], {}, "/header/idempotency-key"),
        ([("Idempotency-Key", "a"), ("Idempotency-Key", "b")], {}, "/header/idempotency-key"),
        ([("Idempotency-Key", "a")], {"idempotency_key": "b"}, "/idempotency_key"),
    ]
    for headers, body, pointer in wrong:
        answer = await api.client.post(place, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key")
        assert answer.json()["errors"][0]["pointer"] == pointer
    # No inputs are other inputs.
    assert (await api.client.post(place, headers=key)).status_code == 422
    assert await api.application.database.fetchval("SELECT count(*) FROM runs") == 1


async def test_versions_are_listed_read_compared_and_brought_back(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}"
    for text in ("two", "three"):
        await api.client.put(place, json=_says(text))
    page = (await api.client.get(f"{place}/versions?limit=2")).json()
    Page[VersionSummary].model_validate(page)
    assert [(row["version"], row["in_force"]) for row in page["items"]] == [(3, True), (2, False)]
    rest = (await api.client.get(f"{place}/versions?limit=2&cursor={page['next']}")).json()
    assert [row["version"] for row in rest["items"]] == [1]
    one = VersionDetail.model_validate((await api.client.get(f"{place}/versions/1")).json())
    found = DiffShape.model_validate((await api.client.get(f"{place}/diff?from=1&to=3")).json())
    assert [(c.op, c.pointer, c.before, c.after) for c in found.changes] == [
        ("replace", "/plan/0/config/output", "hello", "three")
    ]
    back = await api.client.post(f"{place}/rollback", json={"version": 1})
    assert SavedShape.model_validate(back.json()).version == 4
    four = VersionDetail.model_validate((await api.client.get(f"{place}/versions/4")).json())
    assert (four.rollback_of, four.definition_hash) == (1, one.definition_hash)
    assert (four.definition, four.grants) == (one.definition, one.grants)


_NO_VERSIONS = [
    ("/versions/9", 404),
    ("/versions/0", 422),
    ("/versions/x", 422),
    ("/versions/99999999999", 422),
    ("/diff", 422),
    ("/diff?from=1", 422),
    ("/diff?from=1&to=9", 404),
    ("/diff?from=1&to=1&to=1", 422),
    ("/versions?cursor=x", 422),
]


async def test_versions_that_are_not_there_are_reported(api: Api) -> None:
    place = f"{V1}/automations/{await _made(api)}"
    for tail, status in _NO_VERSIONS:
        answer = await api.client.get(place + tail)
        assert answer.status_code == status, tail
        assert answer.headers["content-type"] == "application/problem+json"


async def test_what_is_exported_can_be_imported(api: Api) -> None:
    for name in ("one", "two"):
        await _made(api, _says(name=name, triggers=[DAILY]))
    bundle = (await api.client.get(f"{V1}/export")).json()
    ExportShape.model_validate(bundle)
    refused = await api.client.post(f"{V1}/import", json=bundle)
    assert (refused.status_code, _pointers(refused)) == (
        409,
        ["/automations/0/name", "/automations/1/name"],
    )
    again = await api.client.post(f"{V1}/import?on_clash=new_version", json=bundle)
    shown = ImportShape.model_validate(again.json())
    assert [(one.version, one.changed) for one in shown.imported] == [(1, False), (1, False)]
    renamed = await api.client.post(f"{V1}/import?on_clash=rename", json=bundle)
    shown = ImportShape.model_validate(renamed.json())
    assert [(one.name, one.renamed_from, one.state) for one in shown.imported] == [
        ("one (2)", "one", "paused"),
        ("two (2)", "two", "paused"),
    ]
    wrong = await api.client.post(f"{V1}/import?on_clash=overwrite", json=bundle)
    assert (wrong.status_code, _pointers(wrong)) == (422, ["/query/on_clash"])


async def test_one_automation_is_exported_as_its_definition(api: Api) -> None:
    automation_id = await _made(api, _says(triggers=[DAILY]))
    exported = (await api.client.get(f"{V1}/automations/{automation_id}/export")).json()
    await api.client.post(f"{V1}/automations/{automation_id}/archive")
    answer = await api.client.post(f"{V1}/import", json=exported)
    assert (answer.status_code, len(answer.json()["imported"])) == (200, 1)
    assert automation_id not in json.dumps(exported)


async def test_the_inbox_is_read_message_by_message_and_as_a_whole(api: Api, bench: Bench) -> None:
    for title in ("one", "two", "three"):
        await bench.run(
            document(step("n", "inbox.post_notification", {"title": title}), name=title)
        )
    page = (await api.client.get(f"{V1}/inbox?limit=2")).json()
    Page[MessageShape].model_validate(page)
    assert [row["title"] for row in page["items"]] == ["three", "two"]
    rest = (await api.client.get(f"{V1}/inbox?limit=2&cursor={page['next']}")).json()
    assert [row["title"] for row in rest["items"]] == ["one"]
    seen = page["items"][1]["id"]
    marked = await api.client.post(f"{V1}/inbox/{seen}/read")
    first = MessageShape.model_validate(marked.json())
    assert first.read_at is not None
    assert (await api.client.post(f"{V1}/inbox/{seen}/read")).json() == marked.json()
    unread = (await api.client.get(f"{V1}/inbox?unread=true")).json()
    assert [row["title"] for row in unread["items"]] == ["three", "one"]
    some = await api.client.post(f"{V1}/inbox/read-all", json={"up_to": seen})
    assert some.json() == {"marked": 1}
    assert (await api.client.post(f"{V1}/inbox/read-all")).json() == {"marked": 1}
    assert (await api.client.get(f"{V1}/inbox?unread=true")).json()["items"] == []


async def test_messages_that_are_not_there_are_reported(api: Api) -> None:
    missing = await api.client.post(f"{V1}/inbox/{generate_id()}/read")
    assert (missing.status_code, missing.json()["code"]) == (404, "no_message")
    for query in ("unread=perhaps", "unread=", "read=1"):
        wrong = await api.client.get(f"{V1}/inbox?{query}")
        assert (wrong.status_code, _pointers(wrong)) == (422, [f"/query/{query.split('=')[0]}"])
    wrong = await api.client.post(f"{V1}/inbox/read-all", json={"up_to": "x"})
    assert (wrong.status_code, _pointers(wrong)) == (422, ["/up_to"])


async def test_unauthenticated_callers_are_refused(api: Api) -> None:
    automation_id = await _made(api)
    for method, tail in _PLACES:
        answer = await api.anonymous.request(method, f"{V1}/automations/{automation_id}{tail}")
        assert answer.status_code == 401
    others = [
        ("POST", "validate"),
        ("GET", "automations"),
        ("POST", "automations"),
        ("POST", "import"),
        ("GET", "export"),
        ("GET", "inbox"),
        ("POST", "inbox/read-all"),
    ]
    for method, path in others:
        assert (await api.anonymous.request(method, f"{V1}/{path}")).status_code == 401
