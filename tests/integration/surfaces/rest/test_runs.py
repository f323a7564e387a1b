"""Runs over REST: read, cancelled, retried, replayed, watched as they happen."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx2
import pytest

from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.surfaces.rest.run_shapes import RunDetail
from tests.kit.api import Api
from tests.kit.bench import PATIENCE, Bench, document, step
from tests.kit.people import browser, make_person, token_of

ONE = document(step("a", "transform_data", {"output": {"n": 1}}), name="one")
SLOW = document(
    step("a", "transform_data", {"output": 1}), step("w", "delay", {"seconds": 30}), name="slow"
)

ASKS = document(
    step("a", "transform_data", {"output": 1}),
    step("ok", "approval", {"title": "Shall it go on?"}),
    name="asks",
)


async def told(answer: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    """The events of a stream, as a reader gets them."""
    event: dict[str, Any] = {}
    async for line in answer.aiter_lines():
        if not line:
            if "data" in event:
                yield {**event, "data": json.loads(event["data"])}
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(": ")
            event[name] = value


async def test_a_run_is_read_whole_and_as_documented(api: Api, bench: Bench) -> None:
    run = await bench.run(ONE)
    answer = await api.client.get(f"/api/v1/runs/{run['id']}")
    assert answer.status_code == 200
    shown = RunDetail.model_validate(answer.json())
    assert (shown.status, shown.outcome) == ("succeeded", "answer_only")
    assert [row.step for row in shown.steps] == ["a"]
    assert shown.story.headline.startswith("Succeeded · returned a result")


async def test_runs_are_listed_page_by_page_without_a_gap(api: Api, bench: Bench) -> None:
    made = [str((await bench.dispatch(ONE)).run_id) for _ in range(5)]
    found: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        page = (await api.client.get("/api/v1/runs", params=query)).json()
        found += [row["id"] for row in page["items"]]
        if page["next"] is None:
            break
        query["cursor"] = page["next"]
    assert found == sorted(made, reverse=True)
    none = await api.client.get("/api/v1/runs", params={"status": "failed"})
    assert none.json()["items"] == []


@pytest.mark.parametrize("verb", ["cancel", "retry", "replay"])
async def test_what_is_not_there_cannot_be_steered(api: Api, verb: str) -> None:
    body: dict[str, str] | None = {} if verb == "replay" else None
    answer = await api.client.post(f"/api/v1/runs/{generate_id()}/{verb}", json=body)
    assert (answer.status_code, answer.json()["code"]) == (404, "no_run")
    odd = await api.client.post(f"/api/v1/runs/nonsense/{verb}", json=body)
    assert odd.status_code == 422
    assert odd.json()["errors"][0]["pointer"] == "/path/run_id"


async def test_a_waiting_run_is_cancelled_and_retried_and_an_ended_one_is_not(
    api: Api, bench: Bench
) -> None:
    made = await bench.dispatch(SLOW)
    async with bench.worker():
        await bench.until(made.run_id, "waiting")
        answer = await api.client.post(f"/api/v1/runs/{made.run_id}/cancel")
        assert (answer.status_code, answer.json()["status"]) == (202, "cancelled")
        again = await api.client.post(f"/api/v1/runs/{made.run_id}/cancel")
        assert (again.status_code, again.json()["code"]) == (409, "run_ended")
        retried = await api.client.post(f"/api/v1/runs/{made.run_id}/retry")
        assert retried.status_code == 202
        run = await bench.until(made.run_id, "waiting")
    assert run["attempt"] == 2


async def test_a_replay_is_a_new_run_that_names_the_old(api: Api, bench: Bench) -> None:
    run = await bench.run(ONE)
    answer = await api.client.post(f"/api/v1/runs/{run['id']}/replay", json={"version": "active"})
    assert answer.status_code == 202
    assert answer.headers["location"] == answer.json()["url"]
    new = (await api.client.get(f"/api/v1/runs/{answer.json()['run_id']}")).json()
    assert new["replay_of"] == str(run["id"])
    other = {"payload": {"n": 7}, "mode": "dry_run", "inputs": {}}
    changed = await api.client.post(f"/api/v1/runs/{run['id']}/replay", json=other)
    read = (await api.client.get(f"/api/v1/runs/{changed.json()['run_id']}")).json()
    assert (read["payload"], read["mode"]) == ({"n": 7}, "dry_run")
    bare = await api.client.post(f"/api/v1/runs/{run['id']}/replay")
    assert bare.status_code == 202
    bad = await api.client.post(f"/api/v1/runs/{run['id']}/replay", json={"version": "newest"})
    assert bad.status_code == 422
    assert bad.json()["errors"][0]["pointer"] == "/version"


async def test_an_operator_cannot_replay_what_the_owner_has_taken_out(
    api: Api, bench: Bench
) -> None:
    def calls(host: str) -> dict[str, Any]:
        headers = {"X-Key": "{{ secrets.key }}"}
        return document(step("a", "http_fetch", {"url": f"https://{host}/", "headers": headers}))

    run = f"/api/v1/runs/{(await bench.dispatch(calls('one.test'))).run_id}/replay"
    application = api.application
    olga = await make_person(
        application.database,
        "olga@example.org",
        workspace_id=application.workspace_id,
        role=Role.OPERATOR,
    )
    hers = await token_of(application.database, application.workspace_id, olga.id)
    assert (await api.anonymous.post(run, headers=hers)).status_code == 202
    await bench.save(calls("two.test"))
    refused = await api.anonymous.post(run, headers=hers)
    assert (refused.status_code, refused.json()["code"]) == (403, "secrets_widened")
    now = await api.anonymous.post(run, headers=hers, json={"version": "active"})
    assert now.status_code == 202
    assert (await api.client.post(run)).status_code == 202


async def test_a_run_is_watched_to_its_end_and_the_stream_closes(api: Api, bench: Bench) -> None:
    made = await bench.dispatch(ONE)
    path = f"/api/v1/runs/{made.run_id}/stream"
    async with bench.worker(), api.client.stream("GET", path) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [event async for event in told(answer)]
    kinds = [event["event"] for event in events]
    assert (kinds.count("step"), kinds[-1]) == (1, "end")
    assert events[-1]["data"]["story"]["next"] == ["replay"]
    last = next(event["id"] for event in events if event["event"] == "step")
    back = {"Last-Event-ID": last}
    async with api.client.stream("GET", path, headers=back) as answer:
        rest = [event["event"] async for event in told(answer)]
    assert rest == ["end"]


async def test_a_stream_of_nothing_is_refused_before_it_begins(api: Api, bench: Bench) -> None:
    missing = await api.client.get(f"/api/v1/runs/{generate_id()}/stream")
    assert missing.status_code == 404
    made = await bench.dispatch(ONE)
    odd = await api.client.get(
        f"/api/v1/runs/{made.run_id}/stream", headers={"Last-Event-ID": "seven"}
    )
    assert odd.status_code == 422
    assert (await api.anonymous.get("/api/v1/stream")).status_code == 401


async def test_the_runs_of_the_workspace_are_watched(api: Api, bench: Bench) -> None:
    async with (
        asyncio.timeout(60),
        bench.worker(),
        api.client.stream("GET", "/api/v1/stream") as answer,
    ):
        events = told(answer)
        made = await bench.dispatch(ONE)
        statuses = []
        async for event in events:
            if event["data"].get("id") == str(made.run_id):
                statuses.append(event["data"]["status"])
            if statuses[-1:] == ["succeeded"]:
                break
    assert statuses[-1] == "succeeded"


async def test_a_page_hears_of_everything_over_one_stream(api: Api, bench: Bench) -> None:
    """What waits for the reader, every run, and one run closely; and it goes on after a break."""
    made = await bench.dispatch(ASKS)
    path = f"/api/v1/stream?run_id={made.run_id}"
    async with asyncio.timeout(PATIENCE), bench.worker():
        # Which of the two is reported first is nobody's promise.
        before = await _until(
            api,
            path,
            lambda event: event["data"].get("approvals") == 1,
            lambda event: event["event"] == "watched" and event["data"]["status"] == "waiting",
        )
        other = await bench.dispatch(ONE)
        (asked,) = (await api.client.get("/api/v1/approvals")).json()["approvals"]
        output = {"decision": "approved"}
        answer = await api.client.post(
            f"/api/v1/approvals/{asked['approval_id']}/answer", json=output
        )
        assert answer.status_code == 200, answer.text
        last = next(event["id"] for event in reversed(before) if "id" in event)
        rest = await _until(
            api,
            path,
            lambda event: (
                event["data"].get("id") == str(other.run_id)
                and event["data"]["status"] == "succeeded"
            ),
            lambda event: event["event"] == "end",
            lambda event: event["event"] == "inbox",
            after=last,
        )
    heard = [*before, *rest]
    steps = [event["data"] for event in heard if event["event"] == "step"]
    assert [(row["step"], row["status"]) for row in steps] == [
        ("a", "succeeded"),
        ("ok", "waiting"),
        ("ok", "succeeded"),
    ]
    (end,) = [event["data"] for event in heard if event["event"] == "end"]
    assert (end["id"], end["story"]["next"]) == (str(made.run_id), ["replay"])
    assert "waiting" in [row["data"]["status"] for row in heard if row["event"] == "watched"]
    numbers = [event["data"] for event in rest if event["event"] == "inbox"][-1]
    assert numbers == {"drafts": 0, "approvals": 0, "consents": 0, "failures": 0, "unread": 1}
    missing = await api.client.get(f"/api/v1/stream?run_id={generate_id()}")
    assert missing.status_code == 404


async def test_a_page_follows_several_runs_over_one_stream(api: Api, bench: Bench) -> None:
    made = [str((await bench.dispatch(ONE)).run_id) for _ in range(2)]
    path = f"/api/v1/stream?run_id={made[0]}&run_id={made[1]}&run_id={made[0]}"

    def is_end(of: str) -> Callable[[dict[str, Any]], bool]:
        return lambda event: event["event"] == "end" and event["data"]["run_id"] == of

    async with asyncio.timeout(PATIENCE), bench.worker():
        before = await _until(api, path, *map(is_end, made))
        # With several runs, and with the part of an id that says nothing of them, from the start.
        last = before[-1]["id"]
        again = await _until(api, path, *map(is_end, made), after=last)
        one = f"/api/v1/stream?run_id={made[0]}"
        alone = await _until(api, one, is_end(made[0]), after=last.partition("~")[0])
    for heard, runs in ((before, made), (again, made), (alone, made[:1])):
        steps = [event["data"]["run_id"] for event in heard if event["event"] == "step"]
        assert sorted(steps) == sorted(runs)
    many = "&".join(f"run_id={generate_id()}" for _ in range(5))
    refused = await api.client.get(f"/api/v1/stream?{many}")
    assert refused.status_code == 422, refused.text


async def test_a_refused_stream_names_each_run_that_is_missing(api: Api, bench: Bench) -> None:
    made, gone = str((await bench.dispatch(ONE)).run_id), [str(generate_id()), str(generate_id())]
    named = [gone[0], gone[0], made, gone[1]]
    query = "&".join(f"run_id={one}" for one in named)
    refused = await api.client.get(f"/api/v1/stream?{query}")
    assert (refused.status_code, refused.json()["code"]) == (404, "no_run")
    errors = refused.json()["errors"]
    assert [one["pointer"] for one in errors] == ["/query/run_id/0", "/query/run_id/3"]
    assert [one["code"] for one in errors] == ["no_run", "no_run"]


async def test_the_first_event_of_a_page_has_an_id_to_come_back_with(
    api: Api, bench: Bench
) -> None:
    async with asyncio.timeout(PATIENCE), bench.worker():
        (opening,) = await _until(api, "/api/v1/stream", lambda event: event["event"] == "inbox")
        # It begins and ends while nobody is connected, and is reported all the same.
        made = await bench.dispatch(ONE)
        await bench.until(made.run_id, "succeeded")
        await _until(
            api,
            "/api/v1/stream",
            lambda event: event["data"].get("id") == str(made.run_id),
            after=opening["id"],
        )


async def _until(
    api: Api, path: str, *wanted: Callable[[dict[str, Any]], bool], after: str | None = None
) -> list[dict[str, Any]]:
    """The events until each of those that are wanted was reported."""
    headers = {} if after is None else {"Last-Event-ID": after}
    seen: list[dict[str, Any]] = []
    async with api.client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200, await answer.aread()
        async for event in told(answer):
            seen.append(event)
            if all(any(map(one, seen)) for one in wanted):
                break
    return seen


async def test_a_stream_ends_when_the_token_that_opened_it_is_revoked(api: Api) -> None:
    made = await api.client.post("/api/v1/tokens", json={"name": "a screen", "role": "viewer"})
    headers = {"Authorization": f"Bearer {made.json()['text']}"}
    async with (
        asyncio.timeout(60),
        api.anonymous.stream("GET", "/api/v1/stream", headers=headers) as answer,
    ):
        assert answer.status_code == 200, await answer.aread()
        revoked = await api.client.delete(f"/api/v1/tokens/{made.json()['token']['id']}")
        assert revoked.status_code == 200, revoked.text
        events = [event async for event in told(answer)]
    # What waits is reported at the opening; the last is why there is no more.
    assert [event["event"] for event in events] == ["inbox", "problem"]
    assert events[-1]["data"]["code"] == "unknown_token"


@pytest.mark.parametrize("removed", [False, True], ids=["gone elsewhere", "removed"])
async def test_a_stream_ends_when_its_reader_is_in_the_workspace_no_longer(
    api: Api, removed: bool
) -> None:
    application = api.application
    user = await make_person(
        application.database, "eve@example.org", workspace_id=application.workspace_id
    )
    async with asyncio.timeout(60), browser(api, user.id) as eve:
        own = {"workspace_id": eve.who["workspace"]["id"]}
        here = {"workspace_id": str(application.workspace_id)}
        assert (await eve.ask("POST", "/session/workspace", json=here)).status_code == 200
        path = f"/api/v1/stream?workspace={application.workspace_id}"
        async with eve.client.stream("GET", path) as answer:
            assert answer.status_code == 200, await answer.aread()
            if removed:
                gone = await api.client.delete(f"/api/v1/members/{user.id}")
            else:
                gone = await eve.ask("POST", "/session/workspace", json=own)
            assert gone.status_code < 300, gone.text
            events = [event async for event in told(answer)]
        assert [event["event"] for event in events] == ["inbox", "problem"]
        assert events[-1]["data"]["code"] in {"other_workspace", "unknown_token"}
        again = await eve.client.get(path)
        assert again.status_code in {401, 409}
