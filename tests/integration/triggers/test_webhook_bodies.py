"""What is no body: other formats, too much of it, and JSON that only looks like JSON."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.kit.api import Api
from tests.kit.bench import Bench
from tests.kit.webhooks import hook, runs

JSON = {"Content-Type": "application/json"}

NASTY: dict[str, tuple[bytes, str | None]] = {
    "half an object": (b'{"a": 1', None),
    "text after it": (b'{"a": 1} x', ""),
    "a comma too many": (b'{"a": [1, 2,]}', None),
    "single quotes": (b"{'a': 1}", None),
    "not a number": (b'{"a": NaN}', "/a"),
    "infinity": (b'{"a": [-Infinity]}', "/a/0"),
    "a number of many digits": (b'{"a": ' + b"7" * 100_000 + b"}", "/a"),
    "a raw control character": (b'{"a": "x\x01y"}', None),
    "a byte order mark": (b'\xef\xbb\xbf{"a": 1}', ""),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), ""),
    "no UTF-8": (b'{"a": "\xff"}', ""),
    "depth": (b"[" * 100_000 + b"]" * 100_000, None),
    "depth that never closes": (b'{"a":' * 40_000, None),
    "only spaces": (b"   \n", ""),
}

# What real senders send and strict JSON has no place for, with what a run is given.
ODD: dict[str, tuple[bytes, Any]] = {
    "a number too large": (b'{"a": 1e999}', {"a": "1e999"}),
    "a key that comes twice": (b'{"a": {"b": 1, "b": 2}}', {"a": {"b": 2}}),
    "half a character": (b'{"a": "\\ud800"}', {"a": "\N{REPLACEMENT CHARACTER}"}),
    "a NUL": (b'{"a": "x\\u0000y"}', {"a": "x\N{REPLACEMENT CHARACTER}y"}),
    "beyond 64 bits": (b'{"a": 123456789012345678901}', {"a": "123456789012345678901"}),
}


@pytest.mark.parametrize("name", ODD)
async def test_json_that_is_only_unusual_is_normalized(bench: Bench, api: Api, name: str) -> None:
    body, expected = ODD[name]
    called = await hook(bench, api)
    answer = await called.fire(content=body, headers=JSON)
    assert answer.status_code == 202, answer.text
    assert (await bench.read(answer.json()["run_id"]))["payload"] == expected


@pytest.mark.parametrize("name", NASTY)
async def test_json_that_is_none_is_refused_with_its_place_and_nothing_is_kept(
    bench: Bench, api: Api, name: str
) -> None:
    body, pointer = NASTY[name]
    called = await hook(bench, api)
    answer = await called.fire(content=body, headers=JSON)
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    (error,) = answer.json()["errors"]
    assert pointer is None or error["pointer"] == pointer
    assert error["detail"]
    assert await runs(bench) == 0
    assert (await called.fire({"well": True})).status_code == 202


async def test_a_hundred_thousand_keys_are_read_and_kept(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    body = {f"k{number}": 1 for number in range(20_000)}
    answer = await called.fire(body)
    assert answer.status_code == 202, answer.text
    assert (await bench.read(answer.json()["run_id"]))["payload"] == body


async def test_a_body_up_to_the_limit_is_taken_and_one_byte_more_is_not(
    bench: Bench, api: Api
) -> None:
    called = await hook(bench, api)
    most = bench.application.limits.payload_bytes
    fits = b'"' + b"x" * (most - 2) + b'"'
    assert (await called.fire(content=fits, headers=JSON)).status_code == 202
    for content in (fits + b" ", b"[" * 10_485_760):
        answer = await called.fire(content=content, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")
    assert await runs(bench) == 1


async def test_a_body_without_a_length_is_measured_as_it_comes(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)

    async def pieces(many: int) -> Any:
        yield b"["
        for _ in range(many):
            yield b"1," * 5_000
        yield b"1]"

    answer = await called.fire(content=pieces(2), headers=JSON)
    assert answer.status_code == 202
    answer = await called.fire(content=pieces(50), headers=JSON)
    assert answer.status_code == 413
    assert await runs(bench) == 1


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Content-Type", "application/x-www-form-urlencoded")],
        [("Content-Type", "multipart/form-data; boundary=x")],
        [("Content-Type", "text/plain")],
        [("Content-Type", "application/xml")],
        [("Content-Type", "application/x-yaml")],
        [("Content-Type", "application/json; charset=latin-1")],
        [("Content-Type", "application/json"), ("Content-Type", "application/json")],
        [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
    ],
)
async def test_only_plain_json_is_read(
    bench: Bench, api: Api, headers: list[tuple[str, str]]
) -> None:
    called = await hook(bench, api)
    known = [("Authorization", f"Bearer {called.token}"), *headers]
    answer = await api.anonymous.post(called.path, content=b'{"a":1}', headers=known)
    assert answer.status_code == 415
    assert await runs(bench) == 0


async def test_another_kind_of_json_is_json(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    kind = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
    assert (await called.fire(content=b"{}", headers=kind)).status_code == 202


async def test_a_large_body_does_not_hold_up_the_small_ones(bench: Bench, api: Api) -> None:
    called = await hook(bench, api)
    most = bench.application.limits.payload_bytes
    large = b"[" + b"1," * (most // 2 - 2) + b"1]"
    firing = [called.fire(content=large, headers=JSON) for _ in range(4)]
    answers = await asyncio.gather(*firing, *(called.fire({"n": n}) for n in range(40)))
    assert {answer.status_code for answer in answers} == {202}
    assert await runs(bench) == 44
