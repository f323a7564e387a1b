"""Bodies that may be left out: a request without one means the same as an empty object."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from fastapi import Request
from pydantic import BaseModel

from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest.request_bodies import read_body, read_json_body, takes

# Some clients name a content type whatever they send.
_EMPTY: Final = b"{}"

Model = TypeVar("Model", bound=BaseModel)


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
