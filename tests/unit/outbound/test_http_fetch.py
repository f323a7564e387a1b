"""http_fetch: what is sent, what comes back, and which failures are worth another try."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest

from mainspring.contracts.capability import Effect
from mainspring.contracts.clock import Clock
from mainspring.contracts.context import (
    Account,
    Actor,
    CallContext,
    ClientWait,
    HttpRequest,
    HttpResponse,
    Mailbox,
    Mailer,
    RunRef,
    Transaction,
)
from mainspring.contracts.errors import InternalError, Invalid, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.definition.json_schema.validator import compile_schema
from mainspring.outbound.http_fetch import (
    effect_of,
    http_fetch_capability,
    is_read,
    parse_retry_after,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LIMITS = Limits()
FETCH = http_fetch_capability(LIMITS)
URL = "https://api.example.com/x"


class Noon:
    def now(self) -> datetime:
        return NOW

    def monotonic(self) -> float:
        return 0.0


@dataclass
class Upstreams:
    """An http double that remembers the request and gives one answer."""

    response: HttpResponse
    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        return self.response


@dataclass
class Context:
    """As little of a call's context as the handler may use."""

    http: Upstreams
    key: str = "run/step/1"
    client_wait: ClientWait | None = None
    repeated: bool = False
    actor: Actor = field(default_factory=lambda: Actor(UUID(int=1), "run", UUID(int=2)))
    run: RunRef | None = None
    clock: Clock = field(default_factory=Noon)

    @property
    def tx(self) -> Transaction:
        raise InternalError("not transactional")

    @property
    def mail(self) -> Mailer:
        raise InternalError("no mail")

    @property
    def account(self) -> Account | None:
        return None

    def mailbox(self) -> AbstractAsyncContextManager[Mailbox]:
        raise InternalError("no mailbox")

    async def owner_address(self) -> str | None:
        return None

    def spend(self, usd: Decimal) -> None:
        raise AssertionError(usd)

    @property
    def model(self) -> str:
        raise InternalError("no model")

    async def complete(self, request: ModelRequest) -> ModelReply:
        raise InternalError("no model")


def _response(status: int = 200, body: bytes = b"", url: str = URL, **headers: str) -> HttpResponse:
    return HttpResponse(
        status, {name.replace("_", "-"): value for name, value in headers.items()}, body, url
    )


async def _fetch(
    arguments: Mapping[str, Any], response: HttpResponse | None = None, key: str = "run/step/1"
) -> tuple[dict[str, Any], HttpRequest]:
    http = Upstreams(response or _response())
    context: CallContext = Context(http, key)
    result = await FETCH.handler(context, arguments)
    jsonschema_rs.validator_for(dict(FETCH.output_schema)).validate(result)
    return result, http.requests[0]


async def test_the_defaults_ask_and_change_nothing() -> None:
    _, request = await _fetch({"url": URL})

    assert request == HttpRequest("GET", URL, {}, {}, None, 30.0, LIMITS.http_response_bytes)


async def test_secrets_are_handed_on_as_markers() -> None:
    url = SecretText((URL, SecretRef("a")))
    header = SecretText(("Bearer ", SecretRef("b")))

    _, request = await _fetch(
        {"url": url, "headers": {"Authorization": header}, "query": {"k": header}}
    )

    assert (request.url, request.headers, request.query) == (
        url,
        {"Authorization": header},
        {"k": header},
    )


@pytest.mark.parametrize(
    ("arguments", "body", "content_type"),
    [
        ({"json": {"a": [1, None, "ü"]}}, '{"a":[1,null,"ü"]}'.encode(), "application/json"),
        ({"json": None}, b"null", "application/json"),
        ({"text": "grüß"}, "grüß".encode(), "text/plain; charset=utf-8"),
        (
            {"form": {"a b": "c&d", "e": "ü"}},
            b"a+b=c%26d&e=%C3%BC",
            "application/x-www-form-urlencoded",
        ),
    ],
)
async def test_a_body_is_sent_with_its_type(
    arguments: dict[str, Any], body: bytes, content_type: str
) -> None:
    _, request = await _fetch({"url": URL, "method": "POST", **arguments})

    assert (request.body, request.headers["Content-Type"]) == (body, content_type)


def test_a_body_by_another_name_is_led_to_the_three_there_are() -> None:
    result = compile_schema(FETCH.input_schema, LIMITS).findings({"url": URL, "body": "x"})

    assert [(one.pointer, one.suggestion) for one in result] == [
        ("/body", "Send it as json, text or form.")
    ]


async def test_the_caller_may_name_the_type_of_the_body() -> None:
    _, request = await _fetch(
        {"url": URL, "method": "POST", "text": "<a/>", "headers": {"content-type": "text/xml"}}
    )

    assert "Content-Type" not in request.headers
    assert request.headers["content-type"] == "text/xml"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_change_carries_the_key_of_the_call(method: str) -> None:
    _, request = await _fetch({"url": URL, "method": method})

    assert request.headers["Idempotency-Key"] == "run/step/1"


async def test_a_key_in_any_script_is_sent_as_ascii() -> None:
    _, request = await _fetch({"url": URL, "method": "POST"}, key="run/größe\n/1")

    assert request.headers["Idempotency-Key"] == "run/gr%C3%B6%C3%9Fe%0A/1"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"method": "HEAD"},
        {"method": "POST", "idempotency": False},
    ],
)
async def test_no_key_is_sent_where_none_is_wanted(arguments: dict[str, Any]) -> None:
    _, request = await _fetch({"url": URL, **arguments})

    assert "Idempotency-Key" not in request.headers


async def test_the_callers_own_key_is_kept() -> None:
    _, request = await _fetch(
        {"url": URL, "method": "POST", "headers": {"idempotency-key": "mine"}}
    )

    assert request.headers == {"idempotency-key": "mine"}


async def test_the_envelope_is_whole() -> None:
    response = _response(201, b'{"a": 1}', "https://api.example.com/y", x_b="c")

    result, _ = await _fetch({"url": URL, "method": "POST"}, response)

    assert result == {
        "ok": True,
        "status": 201,
        "headers": {"x-b": "c"},
        "text": '{"a": 1}',
        "json": {"a": 1},
        "url": "https://api.example.com/y",
    }


@pytest.mark.parametrize(
    ("body", "content_type", "text"),
    [
        ("grüß".encode(), "text/plain", "grüß"),
        ("grüß".encode("latin-1"), 'text/plain; charset="ISO-8859-1"', "grüß"),
        ("grüß".encode("utf-16"), "text/plain; charset=utf-16", "grüß"),
        ("日本".encode("shift_jis"), "text/html;charset=Shift_JIS", "日本"),
        (b"\xef\xbb\xbfhi", "text/plain; charset=utf-8", "hi"),
        (b"a\xffb", "text/plain", "a\ufffdb"),
        (b"a\0b", "text/plain", "a\ufffdb"),
        ("grüß".encode(), "text/plain; charset=nonsense", "grüß"),
        (b"+AGEA-", "text/plain; charset=utf-7", "+AGEA-"),
        (b"x-yz", "text/plain; charset=punycode", "x-yz"),
        (b"\\u0041", "text/plain; charset=unicode_escape", "\\u0041"),
        (b"", "text/plain", ""),
    ],
)
async def test_a_body_is_text_in_its_charset_or_replaced(
    body: bytes, content_type: str, text: str
) -> None:
    result, _ = await _fetch({"url": URL}, _response(200, body, content_type=content_type))

    assert result["text"] == text


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a": [1, 2.5, true, null, "x"]}', {"a": [1, 2.5, True, None, "x"]}),
        (b" 12345678901234567890 ", 12345678901234567890),
        (b'"text"', "text"),
        (b"", None),
        (b"<html>", None),
        (b'{"a": NaN}', None),
        (b'{"a": 1, "a": 2}', None),
        (b'{"a": 1} x', None),
        (b'"\\ud800"', None),
        (b'"\\u0000"', None),
        (b"[" * 5_000 + b"]" * 5_000, None),
        (b"[" * 80 + b"]" * 80, None),
        (b"1" * 5_000, None),
    ],
)
async def test_json_is_the_value_or_null(body: bytes, value: Any) -> None:
    result, _ = await _fetch({"url": URL}, _response(200, body))

    assert result["json"] == value


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (304, False),
        (400, False),
        (401, False),
        (404, False),
        (408, True),
        (409, False),
        (425, True),
        (429, True),
        (451, False),
        (500, True),
        (503, True),
        (599, True),
    ],
)
async def test_a_failure_says_whether_another_try_can_help(status: int, retryable: bool) -> None:
    with pytest.raises(UpstreamError) as caught:
        await _fetch({"url": URL}, _response(status, b"  no\n such   thing ", retry_after="7"))

    assert caught.value.code == "http_status"
    assert caught.value.retryable is retryable
    assert caught.value.retry_after == (7.0 if retryable else None)
    assert caught.value.detail == f"The answer to GET was status {status}: no such thing"


async def test_a_failure_quotes_little_of_a_long_answer() -> None:
    with pytest.raises(UpstreamError) as caught:
        await _fetch({"url": URL}, _response(500, b"x" * 100_000))

    assert len(caught.value.detail) < 300


@pytest.mark.parametrize("status", [304, 404, 500])
async def test_a_caller_may_look_at_a_failure(status: int) -> None:
    result, _ = await _fetch({"url": URL, "allow_error_status": True}, _response(status, b"[]"))

    assert (result["ok"], result["status"], result["json"]) == (False, status, [])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 12 ", 12.0),
        ("999999999", 3_600.0),
        ("Sun, 01 Mar 2026 12:01:30 GMT", 90.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2099 11:00:00 GMT", 3_600.0),
        ("Sun, 01 Mar 2026 12:01:30 -0000", 90.0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("9" * 5_000, None),
        ("Sun, 99 Mar 2026 99:99:99 GMT", None),
    ],
)
def test_the_pause_a_server_asks_for_is_read_and_bounded(
    value: str | None, seconds: float | None
) -> None:
    assert parse_retry_after(value, NOW, LIMITS.retry_seconds) == seconds


@pytest.mark.parametrize(
    ("arguments", "reads"),
    [
        ({}, True),
        ({"method": "GET"}, True),
        ({"method": "HEAD"}, True),
        ({"method": "POST"}, False),
    ],
)
def test_only_asking_is_a_read(arguments: dict[str, Any], reads: bool) -> None:
    assert is_read(arguments) is reads
    assert effect_of(arguments) is (Effect.READ if reads else Effect.SEND)


@pytest.mark.parametrize("limits", [LIMITS, replace(LIMITS, http_seconds=5)])
def test_examples_are_valid_and_anti_examples_are_not(limits: Limits) -> None:
    fetch = http_fetch_capability(limits)
    for schema in (fetch.input_schema, fetch.output_schema):
        jsonschema_rs.meta.validate(dict(schema))
        validator = jsonschema_rs.validator_for(dict(schema))
        assert [value for value in schema["examples"] if not validator.is_valid(value)] == []
        anti = schema["x-mainspring-anti-examples"]
        assert anti
        assert [entry for entry in anti if validator.is_valid(entry["value"])] == []
        assert all(entry["reason"] for entry in anti)


def test_secrets_may_be_in_the_three_places_and_nowhere_else() -> None:
    assert FETCH.annotations.secret_arguments == {"url", "headers", "query"}
    scoped = {
        name
        for name, schema in FETCH.input_schema["properties"].items()
        if schema.get("x-mainspring-scope") == "secret"
    }
    assert scoped == FETCH.annotations.secret_arguments


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
async def test_a_request_that_carries_no_body_is_given_none(method: str) -> None:
    with pytest.raises(Invalid) as refused:
        await _fetch({"url": URL, "method": method, "json": {"a": 1}})
    assert refused.value.code == "body_not_allowed"


async def test_a_body_has_a_bound_of_its_own() -> None:
    most = Limits().fetch_body_bytes
    _, request = await _fetch({"url": URL, "method": "POST", "text": "x" * most})
    assert request.body is not None
    assert len(request.body) == most
    with pytest.raises(Invalid) as refused:
        await _fetch({"url": URL, "method": "POST", "text": "x" * (most + 1)})
    assert refused.value.code == "body_too_large"
