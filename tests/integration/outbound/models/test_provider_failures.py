"""A provider that does not answer well: each way to fail has its sentence, and says who pays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.errors import (
    DeadlineExceeded,
    Invalid,
    PermissionDenied,
    Problem,
    TooLarge,
    UpstreamError,
)
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import CUT_OFF
from mainspring.outbound.egress import Egress
from mainspring.outbound.models.model_client import Kind, ModelEndpoint, ask
from tests.kit.loopback_doubles import RecordingDial, ResolverDouble
from tests.kit.model_server import Answer
from tests.kit.provider_clients import KEY, LOOK, MODELS, Connection, connected, said

BOTH: tuple[Kind, ...] = ("anthropic", "openai")


async def _problem(connection: Connection, kind: Kind, text: str = "Well?") -> Problem:
    with pytest.raises(Problem) as caught:
        await connection.ask(kind, text)
    assert KEY not in json.dumps(caught.value.as_dict())
    return caught.value


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("answer", "made", "code", "retryable"),
    [
        (Answer(status=400, error="messages: too odd"), Invalid, "model_refused", False),
        (Answer(status=403, error="no"), UpstreamError, "model_key_refused", False),
        (Answer(status=402, error="pay"), UpstreamError, "model_account_empty", False),
        (Answer(status=404, error="model: x"), Invalid, "unknown_model", False),
        (Answer(status=404, body="<html>"), UpstreamError, "model_address", False),
        (Answer(status=413, error="too big"), TooLarge, "model_request_too_large", False),
        (
            Answer(status=400, error="prompt is too long: 300 tokens > 200 maximum"),
            TooLarge,
            "model_request_too_large",
            False,
        ),
        (
            Answer(status=400, error="Your credit balance is too low"),
            UpstreamError,
            "model_account_empty",
            False,
        ),
        (Answer(status=422, error="odd"), Invalid, "model_refused", False),
        (
            Answer(status=429, error="slow", headers={"retry-after": "7"}),
            UpstreamError,
            "model_busy",
            True,
        ),
        (
            Answer(status=429, error="slow", error_type="insufficient_quota"),
            UpstreamError,
            "model_account_empty",
            False,
        ),
        (Answer(status=503, error="soon"), UpstreamError, "model_busy", True),
        (
            Answer(status=529, error="Overloaded", headers={"retry-after": "7"}),
            UpstreamError,
            "model_busy",
            True,
        ),
        (Answer(status=500, error="oops"), UpstreamError, "model_failed", True),
        (Answer(status=500, body="no json"), UpstreamError, "model_failed", True),
        (
            Answer(status=307, body="", headers={"location": "http://127.0.0.1:1/v1"}),
            UpstreamError,
            "model_address",
            False,
        ),
        (
            Answer(status=302, body="", headers={"location": "/v1/elsewhere"}),
            UpstreamError,
            "model_address",
            False,
        ),
    ],
)
async def test_a_provider_that_says_no_takes_nothing(
    kind: Kind, answer: Answer, made: type[Problem], code: str, retryable: bool
) -> None:
    async with connected([answer]) as connection:
        problem = await _problem(connection, kind)
        # It is asked once; the caller decides about a retry with the budget at hand.
        assert connection.server.count == 1
    assert (type(problem), problem.code, problem.retryable) == (made, code, retryable)
    assert problem.code != CUT_OFF
    assert problem.retry_after == (7.0 if "retry-after" in answer.headers else None)
    assert f"my-{kind}" in problem.detail or MODELS[kind] in problem.detail


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    "answer",
    [
        Answer("Half of it", broken="cut"),
        Answer(broken="hang_up"),
        Answer(broken="no_json"),
        Answer(broken="no_object"),
        Answer("Words", broken="no_usage"),
        Answer("Words", broken="no_finish"),
        Answer(body=""),
        Answer(body="null"),
        Answer(body="{}"),
        Answer(body="[" * 5_000),
        Answer("Words", input_tokens=-1),
        Answer("Words", output_tokens=10**30),
        Answer(body='{"error": {"message": "later"}}'),
        Answer(status=502, error="bad gateway"),
        Answer(status=504, error="gateway timeout"),
        Answer("<html>", headers={"content-type": "text/html"}, broken="no_json"),
    ],
    ids=lambda answer: answer.broken or answer.body or str(answer.status),
)
async def test_an_answer_that_is_not_whole_may_be_charged(kind: Kind, answer: Answer) -> None:
    async with connected([answer]) as connection:
        problem = await _problem(connection, kind)
        assert connection.server.count == 1
    assert (type(problem), problem.code) == (UpstreamError, CUT_OFF)
    assert f"my-{kind}" in problem.detail


@pytest.mark.parametrize(
    "usage",
    [
        None,
        [],
        {},
        {"prompt_tokens": 5},
        {"prompt_tokens": "5", "completion_tokens": 1},
        {"prompt_tokens": 5, "completion_tokens": True},
        {"prompt_tokens": 5.5, "completion_tokens": 1},
    ],
)
async def test_numbers_that_cannot_be_are_no_numbers(usage: Any) -> None:
    body: Mapping[str, Any] = {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "usage": usage,
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}
        ],
    }
    async with connected([Answer(body=json.dumps(body))]) as connection:
        problem = await _problem(connection, "compatible")
    assert problem.code == CUT_OFF


async def test_a_gateway_that_hides_an_error_in_a_good_answer_is_seen_through() -> None:
    hidden = Answer(body=json.dumps({"error": {"code": 429, "message": "later"}}))
    async with connected([hidden]) as connection:
        problem = await _problem(connection, "compatible")
    assert (problem.code, problem.retryable) == ("model_busy", True)


@pytest.mark.parametrize("kind", BOTH)
async def test_a_key_that_is_not_accepted_names_its_connection(kind: Kind) -> None:
    async with connected(["Hello."], key="another-key-altogether") as connection:
        problem = await _problem(connection, kind)
    assert problem.code == "model_key_refused"
    assert problem.detail == f"my-{kind} does not accept the key of this connection."
    assert f"my-{kind}" in str(problem.suggestion)


@pytest.mark.parametrize("kind", BOTH)
async def test_a_missing_key_is_said(kind: Kind) -> None:
    async with connected(["Hello."]) as connection:
        connection.secrets.clear()
        problem = await _problem(connection, kind)
    assert problem.detail == f"my-{kind} requires a key, and this connection has none."


@pytest.mark.parametrize("kind", BOTH)
async def test_a_model_that_is_not_there_is_named(kind: Kind) -> None:
    async with connected(["Hello."], models=["another"]) as connection:
        problem = await _problem(connection, kind)
    assert (type(problem), problem.code) == (Invalid, "unknown_model")
    assert MODELS[kind] in problem.detail
    assert problem.findings[0].pointer == "/model"


@pytest.mark.parametrize("kind", BOTH)
async def test_an_error_that_quotes_the_key_comes_back_masked_short_and_on_one_line(
    kind: Kind,
) -> None:
    sentence = f"The key {KEY}\nis odd\x1b[31m. " + "Very odd. " * 200
    async with connected([Answer(status=400, error=sentence)]) as connection:
        problem = await _problem(connection, kind)
    assert "The key [secret api_key] is odd" in problem.detail
    assert "\n" not in problem.detail
    assert "\x1b" not in problem.detail
    assert len(problem.detail) < 400


async def test_a_slow_answer_is_late_and_may_be_charged() -> None:
    limits = replace(Limits(), model_seconds=1)
    async with connected([Answer(broken="never", keep=True)], limits=limits) as connection:
        problems = await asyncio.gather(*(_problem(connection, kind) for kind in BOTH))
    for kind, problem in zip(BOTH, problems, strict=True):
        assert (type(problem), problem.code) == (DeadlineExceeded, "model_timeout")
        assert f"my-{kind}" in problem.detail


@pytest.mark.parametrize("kind", BOTH)
async def test_a_huge_answer_is_bounded_and_not_asked_for_again(kind: Kind) -> None:
    limits = replace(Limits(), model_response_bytes=100_000)
    async with connected([Answer(broken="huge")], limits=limits) as connection:
        problem = await _problem(connection, kind)
    assert (problem.code, problem.retryable) == (CUT_OFF, False)


@pytest.mark.parametrize("kind", BOTH)
async def test_a_server_that_is_not_there_was_not_asked(kind: Kind) -> None:
    async with connected() as connection:
        pass
    problem = await _problem(connection, kind)
    assert (type(problem), problem.code, problem.retryable) == (UpstreamError, "unreachable", True)


@pytest.mark.parametrize("kind", BOTH)
async def test_a_private_address_is_not_called(kind: Kind) -> None:
    dial = RecordingDial()
    names = ResolverDouble({"models.example": ["10.0.0.7"]})
    egress = Egress(Limits(), resolve=names, dial=dial)
    inside = ModelEndpoint(kind, "https://models.example/v1", "mine", "m", has_key=False)
    other = replace(inside, base_url="https://elsewhere.example/v1")
    way = egress.bound(frozenset({"models.example:443"}), None)
    try:
        with pytest.raises(PermissionDenied) as caught:
            await ask(inside, said("Hello?"), way, Limits(), key="")
        # Nor is any other host than the one of the connection.
        with pytest.raises(PermissionDenied) as another:
            await ask(other, said("Hello?"), way, Limits(), key="")
    finally:
        await egress.aclose()
    assert caught.value.code == "address_not_public"
    assert another.value.code == "host_not_approved"
    assert dial.dialled == []


@pytest.mark.parametrize("kind", BOTH)
async def test_an_ask_that_is_cancelled_stays_cancelled(kind: Kind) -> None:
    async with connected([Answer(broken="never")]) as connection:
        asking = asyncio.ensure_future(connection.ask(kind, said("?", tools=(LOOK,))))
        while not connection.server.at_work:
            await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (Answer(status=429, error="slow", headers={"retry-after": "7"}), "model_busy"),
        (Answer(broken="cut"), CUT_OFF),
        (Answer(body='{"data": [], "usage": {"prompt_tokens": 1}}'), CUT_OFF),
        (Answer(body='{"data": [{"index": 0, "embedding": [1.0, NaN]}]}'), CUT_OFF),
        (Answer(body='{"data": [{"index": 1, "embedding": [1.0]}]}'), CUT_OFF),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_vectors_that_do_not_come_are_a_problem_too(answer: Answer, code: str) -> None:
    async with connected([answer]) as connection:
        with pytest.raises(Problem) as caught:
            await connection.embed(["a lamp"], "compatible")
        assert connection.server.count == 1
    assert caught.value.code == code


async def test_anthropic_makes_no_vectors() -> None:
    async with connected() as connection:
        with pytest.raises(Invalid, match="has no model for vectors"):
            await connection.embed(["a lamp"], "anthropic")
        assert connection.server.count == 0
