"""Whatever does not work is shown as one problem document, and nothing more is shown."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from mainspring.contracts.errors import KINDS
from mainspring.surfaces.rest.problems import problems
from tests.unit.surfaces.rest.small_app import calling, small_app

AN_ID = UUID(int=7)


async def test_a_problem_is_shown_whole_with_the_path_it_happened_at() -> None:
    async with calling(small_app()) as client:
        answer = await client.get("/trouble/clash")

    assert answer.status_code == 409
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:mainspring:problem:clash",
        "title": "Conflict with the current state",
        "status": 409,
        "detail": "It is there already.",
        "code": "twice",
        "suggestion": "Take another name.",
        "instance": "/trouble/clash",
    }


async def test_when_to_come_back_is_a_header_in_whole_seconds() -> None:
    async with calling(small_app()) as client:
        answer = await client.get("/trouble/later")

    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")
    assert answer.json()["retry_after"] == 1.2


async def test_an_error_of_our_own_is_logged_and_tells_the_caller_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with calling(small_app()) as client:
        with caplog.at_level(logging.ERROR):
            answer = await client.get("/trouble/strange")

    assert answer.status_code == 500
    assert answer.headers["Content-Type"] == "application/problem+json"
    for result in ("hunter2", "KeyError", "SELECT", "Traceback", "/etc"):
        assert result not in answer.text
    logged = [record for record in caplog.records if record.exc_info]
    assert len(logged) == 1
    assert answer.headers["X-Request-Id"] in logged[0].getMessage()
    assert answer.headers["X-Request-Id"] in answer.json()["suggestion"]
    assert "/trouble/{kind}" in logged[0].getMessage()
    assert "strange" not in logged[0].getMessage()


async def test_a_wrong_method_is_answered_with_the_allowed_ones() -> None:
    async with calling(small_app()) as client:
        answer = await client.options("/shared")

    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, PUT")


async def test_an_unknown_address_and_an_unknown_method_are_problems_too() -> None:
    async with calling(small_app()) as client:
        nowhere = await client.get("/nowhere")
        wrong = await client.delete("/journeys")

    assert (nowhere.status_code, nowhere.json()["code"]) == (404, "no_route")
    assert (wrong.status_code, wrong.json()["code"]) == (405, "wrong_method")
    assert wrong.json()["status"] == 405
    assert wrong.headers["Allow"] == "POST"


@pytest.mark.parametrize(
    ("address", "pointer", "code"),
    [
        ("/journeys/seven", "/path/journey_id", "format"),
        (f"/journeys/{AN_ID}?limit=0", "/query/limit", "minimum"),
        (f"/journeys/{AN_ID}?limit=201", "/query/limit", "maximum"),
        (f"/journeys/{AN_ID}?limit=many", "/query/limit", "type"),
        (f"/journeys/{AN_ID}?limit=", "/query/limit", "type"),
        (f"/journeys/{AN_ID}?limit={'9' * 5_000}", "/query/limit", "type"),
        (f"/journeys/{AN_ID}?wide=perhaps", "/query/wide", "type"),
        (f"/journeys/{AN_ID}?cursor=abc", "/query/cursor", "cursor"),
        (f"/journeys/{AN_ID}?limt=5", "/query/limt", "unknown_parameter"),
        (f"/journeys/{AN_ID}?limit=5&limit=6", "/query/limit", "repeated_parameter"),
    ],
)
async def test_a_wrong_parameter_is_named_by_its_place(
    address: str, pointer: str, code: str
) -> None:
    async with calling(small_app()) as client:
        answer = await client.get(address)

    assert answer.status_code == 422
    (finding,) = answer.json()["errors"]
    assert (finding["pointer"], finding["code"]) == (pointer, code)
    assert finding["detail"].endswith(".")


async def test_a_misspelt_parameter_is_answered_with_the_nearest_one() -> None:
    async with calling(small_app()) as client:
        answer = await client.get(f"/journeys/{AN_ID}?limt=5")

    assert answer.json()["errors"][0]["suggestion"] == "Did you mean 'limit'?"


async def test_every_answer_carries_the_headers_that_protect_its_reader() -> None:
    async with calling(small_app()) as client:
        answers = [
            await client.get(path) for path in (f"/journeys/{AN_ID}", "/nowhere", "/trouble/x")
        ]

    for answer in answers:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Cache-Control"] == "no-store"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "Access-Control-Allow-Origin" not in answer.headers
    assert len({answer.headers["X-Request-Id"] for answer in answers}) == len(answers)


def test_every_kind_of_problem_can_be_documented() -> None:
    statuses = {made.status for made in KINDS.values()}

    shown = problems(*statuses)

    assert set(shown) == statuses
    assert all("application/problem+json" in entry["content"] for entry in shown.values())
    assert problems(429)[429]["description"] == "Limit exceeded"
