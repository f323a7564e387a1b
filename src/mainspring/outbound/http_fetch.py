"""http_fetch: one request to an approved host, answered as one envelope.

An answer that is not a success is a failure of the call, sorted by whether another try
can help; a caller who wants to look at such an answer says so with
``allow_error_status``. A request that changes something carries the call's own key, so
that a receiver who honours such keys applies it once however often it is sent.
"""

from __future__ import annotations

import email.utils
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import orjson

from mainspring.contracts.capability import Annotations, Audience, Capability, Effect, Write
from mainspring.contracts.context import CallContext, HttpRequest, HttpResponse
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.errors import Invalid, UpstreamError
from mainspring.contracts.limits import Limits
from mainspring.contracts.secret import SecretText
from mainspring.contracts.toolset import Toolset
from mainspring.definition.strict_json import read_json
from mainspring.outbound.egress.headers import MAX_REQUEST_HEADERS
from mainspring.outbound.egress.url import MAX_URL

# What http_fetch takes and gives, as JSON Schema with examples of both kinds.

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODILESS = ("GET", "HEAD", "DELETE")
BODIES = ("json", "text", "form")


def input_schema(limits: Limits) -> dict[str, Any]:
    """The arguments; at most one body, and none where the method carries none."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "x-mainspring-instead": dict.fromkeys(("body", "data"), "Send it as json, text or form."),
        "required": ["url"],
        "properties": {**_address(), **_bodies(limits), **_manner(limits)},
        "allOf": [
            {
                "if": {"properties": {"method": {"enum": list(BODILESS)}}},
                "then": {"properties": dict.fromkeys(BODIES, False)},
            },
            {"dependentSchemas": {"json": {"properties": {"text": False, "form": False}}}},
            {"dependentSchemas": {"text": {"properties": {"form": False}}}},
        ],
        "examples": _examples(),
        "x-mainspring-anti-examples": _anti_examples(limits),
    }


def output_schema() -> dict[str, Any]:
    """The envelope: what came back, read as far as it can be read."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["ok", "status", "headers", "text", "json", "url"],
        "properties": {
            "ok": {"type": "boolean", "description": "Whether the status is 200 to 299."},
            "status": {"type": "integer", "minimum": 200, "maximum": 999},
            "headers": {
                "type": "object",
                "description": "By lower-case name; repeated ones joined by commas.",
                "additionalProperties": {"type": "string"},
            },
            "text": {"type": "string", "description": "Body as text."},
            "json": {"description": "Body as a JSON value; null: not JSON."},
            "url": {"type": "string", "description": "Final URL."},
        },
        "examples": [
            {
                "ok": True,
                "status": 200,
                "headers": {"content-type": "application/json"},
                "text": '{"price": 12.5}',
                "json": {"price": 12.5},
                "url": "https://api.example.com/prices?id=[secret api_key]",
            }
        ],
        "x-mainspring-anti-examples": [
            {"value": {"ok": True, "status": 200}, "reason": "the envelope is always whole"},
            {
                "value": {"ok": True, "status": "200", "headers": {}, "text": "", "url": ""},
                "reason": "a status is a number, and json is there even when it is null",
            },
        ],
    }


def _address() -> dict[str, Any]:
    secret = {"x-mainspring-scope": "secret"}
    return {
        "url": {
            "type": "string",
            "description": "An http or https URL; the path and query can contain secrets.",
            "minLength": 8,
            "maxLength": MAX_URL,
            **secret,
        },
        "method": {"enum": list(METHODS), "default": "GET"},
        "headers": {
            "type": "object",
            "maxProperties": MAX_REQUEST_HEADERS,
            "propertyNames": {
                "maxLength": 128,
                "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
            },
            "additionalProperties": {"type": "string", "maxLength": 16_384, **secret},
            **secret,
        },
        "query": {
            "type": "object",
            "description": "Added to the URL, percent-encoded.",
            "maxProperties": 200,
            "additionalProperties": {"type": "string", "maxLength": 16_384, **secret},
            **secret,
        },
    }


def _bodies(limits: Limits) -> dict[str, Any]:
    return {
        "json": {"description": "Sent as application/json."},
        "text": {"type": "string", "maxLength": limits.http_request_bytes},
        "form": {
            "type": "object",
            "description": "Sent as application/x-www-form-urlencoded.",
            "maxProperties": 1_000,
            "additionalProperties": {"type": "string"},
        },
    }


def _manner(limits: Limits) -> dict[str, Any]:
    return {
        "timeout_seconds": {
            "type": "number",
            "minimum": 1,
            "maximum": limits.http_seconds,
            "default": min(30, limits.http_seconds),
        },
        "allow_error_status": {
            "type": "boolean",
            "default": False,
            "description": "Return the response for any status; otherwise only 200 to 299 "
            "succeeds.",
        },
        "idempotency": {
            "type": "boolean",
            "default": True,
            "description": "Send an Idempotency-Key with a changing request.",
        },
    }


def _examples() -> list[dict[str, Any]]:
    return [
        {"url": "https://api.example.com/prices", "query": {"symbol": "BTC"}},
        {
            "url": "https://api.example.com/notes",
            "method": "POST",
            "headers": {"Authorization": "Bearer {{ secrets.api_key }}"},
            "json": {"title": "Weekly report", "pinned": None},
        },
        {"url": "https://example.com/form", "method": "PUT", "form": {"name": "Ada"}},
        {
            "url": "https://example.com/notes/7",
            "method": "DELETE",
            "allow_error_status": True,
            "idempotency": False,
            "timeout_seconds": 5,
        },
    ]


def _anti_examples(limits: Limits) -> list[dict[str, Any]]:
    url = "https://example.com/"
    return [
        {"value": {}, "reason": "nowhere to go"},
        {"value": {"url": "a.io"}, "reason": "a URL begins with http:// or https://"},
        {"value": {"url": url, "method": "TRACE"}, "reason": "not a method that is sent"},
        {"value": {"url": url, "method": "get"}, "reason": "methods are upper case"},
        {"value": {"url": url, "json": {}}, "reason": "a GET carries no body"},
        {"value": {"url": url, "method": "DELETE", "text": "x"}, "reason": "nor does a DELETE"},
        {
            "value": {"url": url, "method": "POST", "json": 1, "form": {"a": "b"}},
            "reason": "one body at most",
        },
        {
            "value": {"url": url, "method": "POST", "text": "a", "form": {"a": "b"}},
            "reason": "one body at most",
        },
        {"value": {"url": url, "headers": {"X-Count": 3}}, "reason": "a header is text"},
        {"value": {"url": url, "headers": {"A B": "x"}}, "reason": "no space in a header's name"},
        {"value": {"url": url, "query": {"page": 2}}, "reason": "a query value is text"},
        {
            "value": {"url": url, "timeout_seconds": limits.http_seconds + 1},
            "reason": "longer than any request may take",
        },
        {"value": {"url": url, "body": "x"}, "reason": "bodies are called json, text or form"},
    ]


READING_METHODS = frozenset({"GET", "HEAD"})
_WITHOUT_BODY = frozenset({"GET", "HEAD", "DELETE"})
_BODIES = ("json", "form", "text")
SECRET_ARGUMENTS = frozenset({"url", "headers", "query"})
_WORTH_ANOTHER_TRY = frozenset({408, 425, 429})
_QUOTED_CHARACTERS = 200
_CHARSET = re.compile(r"""charset\s*=\s*["']?([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
# Python knows more decoders than the web does, and some of them are slow on purpose-made
# input; these are the ones that servers use.
_CHARSETS = frozenset(
    {"ascii", "us-ascii", "latin-1", "latin1", "utf-8", "utf8", "utf-16", "utf-16le", "utf-16be"}
    | {f"iso-8859-{part}" for part in (*range(1, 12), *range(13, 17))}
    | {f"windows-{page}" for page in range(1250, 1259)}
    | {"big5", "euc-jp", "euc-kr", "gb18030", "gb2312", "gbk", "koi8-r", "koi8-u", "shift_jis"}
)


def http_fetch_capability(limits: Limits) -> Capability:
    """The capability, with the operator's limits in its schema."""

    async def fetch(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        response = await ctx.http.send(_request(ctx, arguments, limits))
        if not arguments.get("allow_error_status", False):
            _check_status(response, _method(arguments), ctx.clock.now(), limits)
        return _envelope(response, limits)

    return Capability(
        id="http_fetch",
        description="Send an HTTP request\n\n"
        "Calls an approved host and returns status, headers, text and, for JSON, the "
        "value. Secrets can be used in url, headers and query.",
        input_schema=input_schema(limits),
        output_schema=output_schema(),
        handler=fetch,
        write=Write(
            preview=preview_request,
            editable=("json", "text", "form"),
            repeatable=True,
            family="request",
        ),
        annotations=Annotations(
            toolset=Toolset.RUNS,
            effect=Effect.SEND,
            reach=effect_of,
            seconds=2.0,
            secret_arguments=SECRET_ARGUMENTS,
            stub=_stub,
            # Only a grant says which hosts are approved, and only a run has one.
            audience=Audience.RUNS,
        ),
    )


def preview_request(arguments: Mapping[str, Any]) -> str:
    """Which request goes where and with what, in one line."""
    body = next((arguments[name] for name in _BODIES if name in arguments), None)
    text = body if isinstance(body, str) or body is None else format_json_body(body)
    said = "" if not text else f": {format_first_line(text)}"
    return f"Send a {_method(arguments)} request to {format_first_line(str(arguments['url']), 300)}{said}"  # noqa: E501


def format_json_body(value: Any) -> str:
    """A body as it is read; what is no JSON is refused when it is sent."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:
        return str(value)


def is_read(arguments: Mapping[str, Any]) -> bool:
    """Whether these arguments only ask and change nothing."""
    return _method(arguments) in READING_METHODS


def effect_of(arguments: Mapping[str, Any]) -> Effect:
    """How far a call with these arguments reaches."""
    return Effect.READ if is_read(arguments) else Effect.SEND


def parse_retry_after(value: str | None, now: datetime, most: int) -> float | None:
    """The pause a server asks for, in seconds or as a date; None when it cannot be read."""
    if value is None:
        return None
    text = value.strip()
    if re.fullmatch(r"[0-9]{1,9}", text):
        return min(float(text), float(most))
    try:
        moment = email.utils.parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    zoned = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return min(max(0.0, (zoned - now).total_seconds()), float(most))


def _stub(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What a trial goes on with: a success that says nothing, for nobody was asked."""
    url = str(arguments.get("url", ""))
    return {"ok": True, "status": 200, "headers": {}, "text": "", "json": None, "url": url}


def _method(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("method", "GET"))


def _request(ctx: CallContext, arguments: Mapping[str, Any], limits: Limits) -> HttpRequest:
    body, content_type = _body(arguments)
    _check_body(body, _method(arguments), limits)
    headers: dict[str, str | SecretText] = dict(arguments.get("headers", {}))
    given = {name.lower() for name in headers}
    if content_type is not None and "content-type" not in given:
        headers["Content-Type"] = content_type
    marked = arguments.get("idempotency", True) and not is_read(arguments)
    if marked and "idempotency-key" not in given:
        # A step may be named in any script; a header is ASCII.
        headers["Idempotency-Key"] = quote(ctx.key, safe="/:")
    return HttpRequest(
        method=_method(arguments),
        url=arguments["url"],
        headers=headers,
        query=dict(arguments.get("query", {})),
        body=body,
        timeout_seconds=float(arguments.get("timeout_seconds", min(30, limits.http_seconds))),
        max_bytes=limits.http_response_bytes,
    )


def _body(arguments: Mapping[str, Any]) -> tuple[bytes | None, str | None]:
    if "json" in arguments:
        try:
            return orjson.dumps(arguments["json"]), "application/json"
        except orjson.JSONEncodeError as error:
            raise Invalid("The body cannot be written as JSON.", code="json_type") from error
    if "form" in arguments:
        return urlencode(arguments["form"]).encode(), "application/x-www-form-urlencoded"
    if "text" in arguments:
        return str(arguments["text"]).encode("utf-8", "replace"), "text/plain; charset=utf-8"
    return None, None


def _check_body(body: bytes | None, method: str, limits: Limits) -> None:
    if body is None:
        return
    if method in _WITHOUT_BODY:
        raise Invalid(
            f"A {method} request carries no body.",
            code="body_not_allowed",
            suggestion="Put it into the query, or use POST.",
        )
    if len(body) > limits.fetch_body_bytes:
        raise Invalid(
            f"The body is {len(body)} bytes; at most {limits.fetch_body_bytes} are sent.",
            code="body_too_large",
        )


def _check_status(response: HttpResponse, method: str, now: datetime, limits: Limits) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    helps = status in _WORTH_ANOTHER_TRY or status >= 500
    said = " ".join(_text(response)[: _QUOTED_CHARACTERS * 4].split())[:_QUOTED_CHARACTERS]
    raise UpstreamError(
        f"The answer to {method} was status {status}" + (f": {said}" if said else "."),
        code="http_status",
        retryable=helps,
        retry_after=(
            parse_retry_after(response.headers.get("retry-after"), now, limits.retry_seconds)
            if helps
            else None
        ),
    )


def _envelope(response: HttpResponse, limits: Limits) -> dict[str, Any]:
    text = _text(response)
    return {
        "ok": 200 <= response.status < 300,
        "status": response.status,
        "headers": dict(response.headers),
        "text": text,
        "json": _json(text, limits),
        "url": response.url,
    }


def _text(response: HttpResponse) -> str:
    found = _CHARSET.search(response.headers.get("content-type", ""))
    charset = found[1].lower() if found else "utf-8"
    text = response.body.decode(charset if charset in _CHARSETS else "utf-8", "replace")
    # The database keeps no NUL; the sign for an unreadable character takes its place.
    return text.removeprefix("\ufeff").replace("\0", "\ufffd")


def _json(text: str, limits: Limits) -> Any:
    """The value of a JSON answer; null for anything else, never a failure of the call."""
    try:
        orjson.loads(text)
        return read_json(text, limits)
    except (orjson.JSONDecodeError, Invalid):
        return None
