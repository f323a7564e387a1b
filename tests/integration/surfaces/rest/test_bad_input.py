"""Bad input on every route that takes a body: a clear refusal, and nothing stored."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import pytest_asyncio
from fastapi import APIRouter, Request

from mainspring.surfaces.rest.openapi import describe, operations
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import anyone_known
from mainspring.surfaces.rest.router import router
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step

AN_ID = "01900000-0000-7000-8000-0000000000ff"
JSON = {"Content-Type": "application/json"}
# It answers with a verdict on whatever it is given.
JUDGE = "/api/v1/validate"
CALL = "/api/v1/capabilities/{capability_id}"
# Only for a browser that is signed in: a token is refused before anything else.
AGREEING = "/api/v1/oauth/requests/"
# Only with a link: any other is refused before anything is read. Its own tests send bad bodies.
FORM = "/api/v1/forms/{token}"
# Only for a CLI that is not signed in yet: a browser is refused before its body is read.
OF_TERMINALS = {"/api/v1/session/terminal", "/api/v1/session/terminal/collect"}
TABLES = (
    "automations",
    "automation_versions",
    "triggers",
    "runs",
    "events",
    "firings",
    "event_types",
    "artifacts",
    "access_tokens",
    "notifications",
)

WRONG_TYPES: dict[str, list[tuple[str, str]]] = {
    "form": [("Content-Type", "application/x-www-form-urlencoded")],
    "multipart": [("Content-Type", "multipart/form-data; boundary=x")],
    "xml": [("Content-Type", "application/xml")],
    "yaml": [("Content-Type", "application/yaml")],
    "plain": [("Content-Type", "text/plain")],
    "none": [],
    "two": [("Content-Type", "application/json"), ("Content-Type", "text/plain")],
    "charset": [("Content-Type", "application/json; charset=utf-16")],
    "gzip": [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
}
BAD_TEXTS: dict[str, bytes] = {
    "empty": b"",
    "half": b'{"name": ',
    "trailing": b"{} {}",
    "twice": b'{"a": 1, "a": 2}',
    "nan": b'{"a": NaN}',
    "infinity": b"[-Infinity]",
    "overflow": b"[1e999]",
    "surrogate": b'{"a": "\\udc00"}',
    "nul": b'{"a": "\\u0000"}',
    "mark": b"\xef\xbb\xbf{}",
    "latin": b'{"a": "\xe9"}',
    "deep": b"[" * 50_000 + b"]" * 50_000,
    "deep, left open": b'{"a":' * 100_000,
    "digits": b'{"a": ' + b"1" * 100_000 + b"}",
}
WRONG_SHAPES: dict[str, bytes] = {
    "a list": b"[]",
    "a number": b"7",
    "null": b"null",
    "text": b'"x"',
    "unknown fields": b'{"__proto__": {"x": 1}, "id": "x", "workspace_id": "x", "zz": 1}',
    "many unknown fields": b"{%s}" % b",".join(b'"k%d":1' % n for n in range(300)),
}
# What takes long to read is sent to some routes of each kind, not to all of them.
MANY: bytes = b"{%s}" % b",".join(b'"k%d":1' % n for n in range(20_000))
EVERY: int = 12


class Thing(Body):
    """A body of a route that only the tests have."""

    name: str


def _own_route() -> APIRouter:
    made = router("test")

    @made.post("/things", summary="Add a thing", openapi_extra=takes(Thing))
    @anyone_known
    async def add_thing(request: Request) -> JsonAnswer:
        return JsonAnswer((await read_body(request, Thing)).model_dump())

    return made


@pytest_asyncio.fixture
async def open_api(bench: Bench) -> AsyncIterator[Api]:
    await bench.save(document(step("one", "transform_data", {"output": 1})))
    async with served(bench.application, [_own_route()]) as api:
        yield api


Writing = list[tuple[str, str, str]]


@pytest.fixture
def writing(open_api: Api) -> Writing:
    """Routes that need a JSON body, with something in each place of their address."""
    found = list(_writing(describe(open_api.app)))
    assert any(path.endswith("/things") for *_, path in found)
    return found


def _writing(description: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    for path, method, entry in operations(description):
        body = entry.get("requestBody", {})
        if path.startswith(AGREEING) or path == FORM:
            continue
        if body.get("required") and "application/json" in body["content"]:
            filled = "/".join(
                "1" if piece == "{version}" else AN_ID if piece.startswith("{") else piece
                for piece in path.split("/")
            )
            yield method.upper(), filled, path


async def _counts(api: Api) -> list[int]:
    return [
        await api.application.database.fetchval(f"SELECT count(*) FROM {table}") for table in TABLES
    ]


async def _answers(
    api: Api, writing: Writing, content: bytes, headers: Any
) -> list[tuple[str, int, dict[str, Any]]]:
    found = []
    for method, address, path in writing:
        client = api.anonymous if path in OF_TERMINALS else api.client
        answer = await client.request(method, address, content=content, headers=headers)
        assert answer.headers["Content-Type"] == "application/problem+json", (path, answer.text)
        found.append((f"{method} {path}", answer.status_code, answer.json()))
    return found


async def test_no_route_reads_a_body_that_is_not_said_to_be_json(
    open_api: Api, writing: Writing
) -> None:
    before = await _counts(open_api)
    for name, headers in WRONG_TYPES.items():
        for route, status, problem in await _answers(open_api, writing, b'{"name": "a"}', headers):
            assert status == 415, (name, route, problem)

    assert await _counts(open_api) == before


async def test_no_route_reads_broken_json(open_api: Api, writing: Writing) -> None:
    before = await _counts(open_api)
    for name, content in BAD_TEXTS.items():
        for route, status, problem in await _answers(open_api, writing, content, JSON):
            assert status == 422, (name, route, problem)
            assert problem["errors"][0]["detail"], (name, route)

    assert await _counts(open_api) == before


async def test_no_route_reads_more_than_its_limit(open_api: Api, writing: Writing) -> None:
    before = await _counts(open_api)
    # More than the largest of them takes, which is a bundle to import.
    content = b'{"name": "' + b"x" * open_api.application.limits.import_bytes + b'"}'
    for route, status, problem in await _answers(open_api, writing, content, JSON):
        assert status == 413, (route, problem)

    assert await _counts(open_api) == before


async def test_no_route_takes_what_it_does_not_know(open_api: Api, writing: Writing) -> None:
    before = await _counts(open_api)
    # A capability that is not there takes nothing at all.
    writing = [entry for entry in writing if entry[2] not in {JUDGE, CALL}]
    for name, content in WRONG_SHAPES.items():
        for route, status, problem in await _answers(open_api, writing, content, JSON):
            assert status == 422, (name, route, problem)
            assert problem["errors"], (name, route)
        verdict = await open_api.client.post(JUDGE, content=content, headers=JSON)
        assert (verdict.status_code, verdict.json()["ok"]) == (200, False), name
    for route, status, problem in await _answers(open_api, writing[::EVERY], MANY, JSON):
        assert status == 422, (route, problem)
        assert problem["errors"], route

    assert await _counts(open_api) == before


async def test_no_id_is_anything_but_an_id(open_api: Api) -> None:
    odd = (
        "x",
        "..",
        "%2e%2e",
        "0",
        "-1",
        "NULL",
        "'",
        "%00",
        "%F0%9D%84%9E",
        "a" * 5_000,
        f"{AN_ID}%0a",
        f"{{{AN_ID}}}",
        "..%2f..%2fetc%2fpasswd",
    )
    for path, method, _ in operations(describe(open_api.app)):
        if method != "get" or "{" not in path or path.startswith(AGREEING):
            continue
        for value in odd:
            target = "/".join(value if "{" in piece else piece for piece in path.split("/"))
            answer = await open_api.client.request(
                "GET", "/", extensions={"target": target.encode()}
            )
            assert answer.status_code in {401, 404, 422}, (target, answer.text)
            assert answer.headers["Content-Type"] == "application/problem+json", target
