"""What a script says, over the API: while it runs, page by page, and as one text."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2

from mainspring.contracts.ids import generate_id
from mainspring.surfaces.rest.paging import Page
from mainspring.surfaces.rest.routes.health import WallsAnswer
from mainspring.surfaces.rest.run_shapes import PieceShape, RunDetail
from tests.kit.api import Api
from tests.kit.bench import PATIENCE, Bench
from tests.kit.scripts import script

SOURCE = """
console.log("first <b>line</b>");
console.error("careful");
await brains["test.hang"]({});
console.log("last");
return 7;
"""


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


async def test_what_a_script_says_is_reported_while_it_runs_and_read_afterwards(
    api: Api, bench: Bench
) -> None:
    made = await bench.dispatch(script(SOURCE, "test.hang"))
    path = f"/api/v1/runs/{made.run_id}"
    async with bench.worker():
        before = await _until_said(api, f"{path}/stream")
        # It waits in the middle of its script, and what it has said is there already.
        assert not bench.outside.release.is_set()
        assert (await bench.read(made.run_id))["status"] == "running"
        lines = (await _text(api, f"{path}/output")).splitlines()
        assert sorted(lines) == ["careful", "first <b>line</b>"]
        bench.outside.release.set()
        rest = await _to_the_end(api, f"{path}/stream", before[-1]["id"])
    output = [event["data"] for event in (*before, *rest) if event["event"] == "output"]
    assert [row["seq"] for row in output] == [1, 2, 3, 4]
    # Two pipes are heard as they come, so the first two may have changed places.
    assert sorted(row["stream"] for row in output[:2]) == ["err", "out"]
    assert [row["stream"] for row in output[2:]] == ["out", "end"]
    kinds = [event["event"] for event in rest]
    assert kinds.index("step") > max(n for n, kind in enumerate(kinds) if kind == "output")
    assert kinds[-1] == "end"
    await _read_afterwards(api, path)


async def _until_said(api: Api, path: str) -> list[dict[str, Any]]:
    seen: list[dict[str, Any]] = []
    async with asyncio.timeout(PATIENCE), api.client.stream("GET", path) as answer:
        async for event in told(answer):
            seen.append(event)
            if sum(one["event"] == "output" for one in seen) == 2:
                break
    return seen


async def _to_the_end(api: Api, path: str, last: str) -> list[dict[str, Any]]:
    back = {"Last-Event-ID": last}
    async with asyncio.timeout(PATIENCE), api.client.stream("GET", path, headers=back) as answer:
        assert answer.status_code == 200
        return [event async for event in told(answer)]


async def _text(api: Api, path: str, **query: str) -> str:
    answer = await api.client.get(path, params=query, headers={"Accept": "text/plain"})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer.text


async def _read_afterwards(api: Api, path: str) -> None:
    run = RunDetail.model_validate((await api.client.get(path)).json())
    (only,) = run.steps
    assert only.process is not None
    assert (only.process.exit_code, only.process.reason) == (0, None)
    assert (only.process.out_bytes, only.process.err_bytes) == (23, 8)
    pages, query = [], {"limit": "1"}
    while True:
        page = (await api.client.get(f"{path}/output", params=query)).json()
        Page[PieceShape].model_validate(page)
        pages += page["items"]
        if page["next"] is None:
            break
        query["after"] = page["next"]
    assert [row["seq"] for row in pages] == [1, 2, 3, 4]
    later = await api.client.get(f"{path}/output", params={"after": pages[1]["id"]})
    assert [row["seq"] for row in later.json()["items"]] == [3, 4]
    assert await _text(api, f"{path}/output", stream="err") == "careful\n"
    assert await _text(api, f"{path}/output", step="other") == ""


async def test_output_of_nothing_and_bad_questions_are_refused(api: Api, bench: Bench) -> None:
    made = await bench.dispatch(script("return 1;"))
    path = f"/api/v1/runs/{made.run_id}/output"
    assert (await api.client.get(path)).json() == {"items": [], "next": None}
    assert (await api.client.get(f"/api/v1/runs/{generate_id()}/output")).status_code == 404
    assert (await api.anonymous.get(path)).status_code == 401
    for query in (
        {"after": "x"},
        {"stream": "in"},
        {"step": "A b"},
        {"limit": "0"},
        {"steps": "a"},
    ):
        refused = await api.client.get(path, params=query)
        assert refused.status_code == 422, query
        assert refused.json()["errors"][0]["pointer"] == f"/query/{next(iter(query))}"
    odd = {"Last-Event-ID": "2026-11-15T12:00:00+00:00/x"}
    assert (await api.client.get(path.replace("output", "stream"), headers=odd)).status_code == 422
    # Which isolation layers hold scripts here is reported as it was tried.
    shown = WallsAnswer.model_validate((await api.client.get("/api/v1/health/scripts")).json())
    assert shown.walls
    assert shown.strong == (not shown.warnings)
