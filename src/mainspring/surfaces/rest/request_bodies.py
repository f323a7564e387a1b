"""JSON bodies: those of requests, bounded and read strictly, and those of answers.

The size is checked while the body arrives, so a larger one is rejected before it is in memory.
Compressed bodies are rejected, because their size is not known in advance. Large documents are
parsed on a thread, so that the event loop is not blocked.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, TypeVar
from uuid import UUID

import orjson
from fastapi import Request
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse

from mainspring.contracts.capability import Capability
from mainspring.contracts.errors import Invalid, TooLarge, Unsupported
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.surfaces.rest.validation_messages import body_pointer, finding_of

# How values become JSON answers.
#
# A route returns an ``Answer`` around plain rows: moments are written as RFC 3339 in UTC with
# a Z, decimals as the digits they are, ids as text. Its shape is declared beside the route
# for the published document, and checked by tests instead of once more for each answer.


class JsonAnswer(JSONResponse):
    """JSON, written once and as it is."""

    def render(self, content: Any) -> bytes:
        return as_json(content)


def as_json(value: Any) -> bytes:
    """The bytes of an answer."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_UTC_Z | orjson.OPT_NAIVE_UTC)


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        # The driver's ids are of a class of its own.
        return str(value)
    if isinstance(value, Decimal):
        # A number in JSON has no room for more than its digits, and needs no less.
        return orjson.Fragment(format(value, "f").encode())
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True)
    if hasattr(value, "keys"):
        return dict(value.items())
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no form in JSON")


LARGE: Final = 65_536
BODY_SECONDS: Final = 60.0
_MOST_FINDINGS: Final = 100

Made = TypeVar("Made")


class Body(BaseModel):
    """A request model: no type coercion, and no unknown fields."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


Model = TypeVar("Model", bound=BaseModel)


async def read_body(request: Request, model: type[Model], *, empty: bytes = b"") -> Model:
    """The body of a request as a value of the model, or all of its errors.

    ``empty`` is the value of an empty body.
    """
    raw = await read_raw(request) or empty
    limits = limits_of(request)
    return await _apart(len(raw), lambda: _model_from(raw, model, limits))


async def read_json_body(
    request: Request, limits: Limits | None = None, *, empty: bytes = b""
) -> Any:
    """The body of a request as JSON of any shape."""
    raw = await read_raw(request, limits) or empty
    bounds = limits or limits_of(request)
    return await _apart(len(raw), lambda: read_json(raw, bounds))


async def read_raw(request: Request, limits: Limits | None = None) -> bytes:
    """The unparsed bytes of a JSON body."""
    check_content_type(request)
    return await read_bytes(request, (limits or limits_of(request)).json_bytes)


async def read_bytes(request: Request, most: int) -> bytes:
    """The bytes of a body of any type, rejected while arriving if it exceeds the limit."""
    declared = request.headers.get("content-length", "0")
    if not declared.isdecimal() or int(declared[:20]) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await _read_raw_body(request, most)
    except TimeoutError:
        # A slow client must not hold the connection.
        raise HTTPException(408, headers={"Connection": "close"}) from None


async def _read_raw_body(request: Request, most: int) -> bytes:
    pieces, size = [], 0
    async for piece in request.stream():
        size += len(piece)
        if size > most:
            raise _too_large(most)
        pieces.append(piece)
    return b"".join(pieces)


def check_content_type(request: Request) -> None:
    """Rejects any content type other than plain JSON in UTF-8."""
    shown = request.headers.getlist("content-type")
    if len(shown) != 1 or not _is_json(shown[0]):
        raise Unsupported(
            "The body must be JSON, said by one header 'Content-Type: application/json'.",
            code="content_type",
        )
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Unsupported(
            "A compressed body is not taken.",
            code="content_encoding",
            suggestion="Send it as it is, without Content-Encoding.",
        )


def takes(model: type[BaseModel], description: str = "") -> dict[str, Any]:
    """The ``openapi_extra`` of a route that parses its body itself."""
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    return takes_schema({"title": model.__name__, **schema}, description)


def takes_schema(schema: dict[str, Any], description: str = "") -> dict[str, Any]:
    """The same for a body with a schema instead of a model."""
    body: dict[str, Any] = {"required": True, "content": {"application/json": {"schema": schema}}}
    if description:
        body["description"] = description
    return {"requestBody": body}


def limits_of(request: Request) -> Limits:
    limits = request.app.state.limits
    assert isinstance(limits, Limits)
    return limits


def limits_for(request: Request, capability: Capability | None) -> Limits:
    """The limits of a body with a capability's arguments, some of which may be larger."""
    limits = limits_of(request)
    most = None if capability is None else capability.annotations.arguments_bytes
    return limits if most is None else replace(limits, json_bytes=max(most, limits.json_bytes))


def _model_from(raw: bytes, model: type[Model], limits: Limits) -> Model:
    """The strict parser runs first: it rejects what a model never sees (duplicate keys)."""
    value = read_json(raw, limits)
    try:
        return model.model_validate_json(raw, strict=True)
    except ValidationError as error:
        findings = [
            finding_of(one, body_pointer(one, value), model)
            for one in error.errors(include_url=False)[:_MOST_FINDINGS]
        ]
        raise Invalid("The body is not what is expected here.", findings=findings) from None


async def _apart(size: int, work: Callable[[], Made]) -> Made:
    return work() if size <= LARGE else await asyncio.to_thread(work)


def _is_json(text: str) -> bool:
    media_type, *parameters = (piece.strip().lower() for piece in text.split(";"))
    kind, _, subtype = media_type.partition("/")
    if kind != "application" or not (subtype == "json" or subtype.endswith("+json")):
        return False
    named = dict(_parameter(piece) for piece in parameters if piece)
    return named.get("charset", "utf-8") in {"utf-8", "utf8"}


def _parameter(text: str) -> tuple[str, str]:
    name, _, value = text.partition("=")
    return name.strip(), value.strip().strip('"')


def _too_large(most: int) -> TooLarge:
    return TooLarge(f"The body is larger than {most:,} bytes.", code="body_too_large")


# Bodies that may be left out: a request without one means the same as an empty object.


# Some clients name a content type whatever they send.
_EMPTY: Final = b"{}"


async def read_optional(request: Request, model: type[Model]) -> Model:
    """The body as a value of the model; all of its defaults when there is no body."""
    return model() if _is_left_out(request) else await read_body(request, model, empty=_EMPTY)


async def read_arguments(request: Request, limits: Limits) -> Any:
    """The body as a capability's arguments; none at all where there is no body."""
    return {} if _is_left_out(request) else await read_json_body(request, limits, empty=_EMPTY)


def may_take(model: type[BaseModel]) -> dict[str, Any]:
    """The ``openapi_extra`` of a route whose body may be left out."""
    body = takes(model)["requestBody"]
    return {"requestBody": {**body, "required": False}}


def _is_left_out(request: Request) -> bool:
    headers = request.headers
    said = "content-type" in headers or "transfer-encoding" in headers
    return not said and headers.get("content-length", "0") == "0"
