"""What a body may be: JSON in UTF-8, of a size that is taken, of the shape that is expected."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from typing import Any

import pytest

from mainspring.contracts.limits import Limits
from tests.unit.surfaces.rest.small_app import calling, small_app

JSON = {"Content-Type": "application/json"}


async def _post(
    content: bytes | str, headers: Any = JSON, path: str = "/journeys", limits: Limits | None = None
) -> tuple[int, dict[str, Any]]:
    async with calling(small_app(limits)) as client:
        answer = await client.post(path, content=content, headers=headers)
        return answer.status_code, answer.json()


def _findings(problem: dict[str, Any]) -> set[tuple[str, str]]:
    return {(entry["pointer"], entry["code"]) for entry in problem["errors"]}


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON;charset="UTF-8"',
        "application/merge-patch+json",
    ],
)
async def test_json_is_read_however_it_is_announced(content_type: str) -> None:
    status, shown = await _post('{"name": "north"}', {"Content-Type": content_type})

    assert (status, shown["name"]) == (200, "north")


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Content-Type", "")],
        [("Content-Type", "text/plain")],
        [("Content-Type", "text/json")],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "multipart/form-data; boundary=x")],
        [("Content-Type", "application/xml")],
        [("Content-Type", "application/yaml")],
        [("Content-Type", "application/jsonx")],
        [("Content-Type", "application/json, text/plain")],
        [("Content-Type", "application/json; charset=utf-16")],
        [("Content-Type", "application/json; charset=latin-1")],
        [("Content-Type", "application/json"), ("Content-Type", "application/json")],
        [("Content-Type", "application/json"), ("Content-Type", "text/plain")],
    ],
)
async def test_a_body_that_is_not_said_to_be_json_is_refused(
    headers: list[tuple[str, str]],
) -> None:
    status, problem = await _post('{"name": "north"}', headers)

    assert (status, problem["code"]) == (415, "content_type")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "identity, gzip"])
async def test_a_compressed_body_is_refused_unopened(encoding: str) -> None:
    headers = {**JSON, "Content-Encoding": encoding}
    status, problem = await _post(gzip.compress(b'{"name": "north"}'), headers)

    assert (status, problem["code"]) == (415, "content_encoding")


async def test_a_body_above_the_limit_is_refused_by_its_announced_size() -> None:
    content = b'{"name": "' + b"x" * 100 + b'"}'
    status, problem = await _post(content, limits=Limits(json_bytes=100))

    assert (status, problem["code"]) == (413, "body_too_large")


async def test_a_body_without_a_size_is_refused_while_it_arrives() -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 1_000:
            sent += 1
            yield b" " * 50

    async with calling(small_app(Limits(json_bytes=100))) as client:
        answer = await client.post("/journeys", content=endless(), headers=JSON)

    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


async def test_a_body_of_exactly_the_limit_is_read() -> None:
    content = b'{"name": "north"}'.ljust(100)
    status, _ = await _post(content, limits=Limits(json_bytes=100))

    assert status == 200


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "json_empty"),
        (b"   ", "json_empty"),
        (b"{", "json_syntax"),
        (b'{"name": "a"} x', "json_trailing"),
        (b'{"name": "a", "name": "b"}', "json_duplicate_key"),
        (b'{"name": NaN}', "json_constant"),
        (b'{"name": -Infinity}', "json_constant"),
        (b'{"notes": {"n": 1e999}}', "json_overflow"),
        (b'{"name": "\\ud800"}', "json_surrogate"),
        (b'{"name": "\\u0000"}', "json_nul"),
        (b'\xef\xbb\xbf{"name": "a"}', "json_byte_order_mark"),
        (b'{"name": "\xff"}', "json_encoding"),
        ('{"name": "a"}'.encode("utf-16"), "json_encoding"),
        (b"[" * 100_000 + b"]" * 100_000, "json_depth"),
        (b'{"notes": {"n": ' + b"9" * 100_000 + b"}}", "json_digits"),
    ],
)
@pytest.mark.parametrize("path", ["/journeys", "/anything"])
async def test_bad_json_gets_a_clear_problem(content: bytes, code: str, path: str) -> None:
    status, problem = await _post(content, path=path)

    assert status == 422
    assert [entry["code"] for entry in problem["errors"]] == [code]
    assert problem["errors"][0]["detail"].endswith((".", ")"))


@pytest.mark.parametrize(
    ("content", "pointer", "code"),
    [
        ("[]", "", "type"),
        ("null", "", "type"),
        ("{}", "/name", "required"),
        ('{"name": 7}', "/name", "type"),
        ('{"name": null}', "/name", "type"),
        ('{"name": ""}', "/name", "min_length"),
        ('{"name": "aaaaaaaaaaaaaaaaaaaaa"}', "/name", "max_length"),
        ('{"name": "a", "legs": {}}', "/legs", "type"),
        ('{"name": "a", "legs": [{"minutes": "5"}]}', "/legs/0/minutes", "type"),
        ('{"name": "a", "legs": [{"minutes": 5.5}]}', "/legs/0/minutes", "type"),
        ('{"name": "a", "legs": [{"minutes": true}]}', "/legs/0/minutes", "type"),
        ('{"name": "a", "legs": [{"minutes": 0}]}', "/legs/0/minutes", "minimum"),
        ('{"name": "a", "legs": [{"minutes": 601}]}', "/legs/0/minutes", "maximum"),
        ('{"name": "a", "legs": [{"by": "train"}]}', "/legs/0/minutes", "required"),
        ('{"name": "a", "legs": [{"minutes": 1, "by": "trian"}]}', "/legs/0/by", "enum"),
        ('{"name": "a", "ticket": "no id"}', "/ticket", "format"),
        ('{"name": "a", "a/b~c": 1}', "/a~1b~0c", "additional_properties"),
        ('{"name": "a", "__proto__": 1}', "/__proto__", "additional_properties"),
    ],
)
async def test_a_field_that_is_wrong_is_named_by_its_pointer(
    content: str, pointer: str, code: str
) -> None:
    status, problem = await _post(content)

    assert status == 422
    assert _findings(problem) == {(pointer, code)}


async def test_every_mistake_of_a_body_is_reported_at_once() -> None:
    _, problem = await _post('{"nme": "a", "legs": [{"minuts": 3}, {"minutes": 1, "by": 2}]}')

    assert _findings(problem) == {
        ("/name", "required"),
        ("/nme", "additional_properties"),
        ("/legs/0/minutes", "required"),
        ("/legs/0/minuts", "additional_properties"),
        ("/legs/1/by", "enum"),
    }
    result = {entry["pointer"]: entry.get("suggestion") for entry in problem["errors"]}
    assert result["/nme"] == "Did you mean 'name'?"
    assert result["/legs/0/minuts"] == "Did you mean 'minutes'?"


async def test_a_choice_between_shapes_points_into_what_was_sent() -> None:
    _, problem = await _post('{"name": "a", "either": {"minutes": 0}}')

    assert {pointer for pointer, _ in _findings(problem)} == {"/either", "/either/minutes"}


async def test_a_wrong_choice_is_answered_with_the_nearest_one() -> None:
    _, problem = await _post('{"name": "a", "legs": [{"minutes": 1, "by": "trian"}]}')

    assert problem["errors"][0]["suggestion"] == "Did you mean 'train'?"


async def test_a_body_with_a_thousand_mistakes_is_answered_briefly() -> None:
    legs = ",".join(['{"minutes": 0}'] * 1_000)
    status, problem = await _post(f'{{"name": "a", "legs": [{legs}]}}')

    assert (status, len(problem["errors"])) == (422, 100)


async def test_a_large_body_is_read_without_holding_the_others_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    apart: list[Any] = []
    real = asyncio.to_thread

    async def noticed(work: Any, *more: Any) -> Any:
        apart.append(work)
        return await real(work, *more)

    monkeypatch.setattr(asyncio, "to_thread", noticed)
    small, large = (f'{{"value": "{"x" * size}"}}' for size in (1_000, 100_000))

    assert (await _post(small, path="/anything"))[0] == 200
    assert apart == []
    assert (await _post(large, path="/anything"))[0] == 200
    assert len(apart) == 1


async def test_values_come_back_as_they_were_sent() -> None:
    content = '{"value": ["ü\\u00fc𝄞", 1e-7, 12345678901234567, -0.0, {"": null}]}'
    _, shown = await _post(content, path="/anything")

    assert shown == {"value": {"value": ["üü𝄞", 1e-7, 12345678901234567, -0.0, {"": None}]}}
