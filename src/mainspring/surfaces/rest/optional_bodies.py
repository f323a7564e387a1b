"""Bodies that may be left out: a request without one means the same as an empty object."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel

from mainspring.surfaces.rest.bodies import read_body, takes

Model = TypeVar("Model", bound=BaseModel)


async def read_optional(request: Request, model: type[Model]) -> Model:
    """The body as a value of the model; all of its defaults when there is no body."""
    headers = request.headers
    said = "content-type" in headers or "transfer-encoding" in headers
    if not said and headers.get("content-length", "0") == "0":
        return model()
    return await read_body(request, model)


def may_take(model: type[BaseModel]) -> dict[str, Any]:
    """The ``openapi_extra`` of a route whose body may be left out."""
    body = takes(model)["requestBody"]
    return {"requestBody": {**body, "required": False}}
