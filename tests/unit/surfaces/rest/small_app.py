"""A small FastAPI application of the same parts as the real one, without services."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import UUID

import httpx2
from fastapi import Depends, FastAPI, Request
from pydantic import Field

from mainspring.contracts.errors import Conflict, LimitExceeded
from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest.middleware import ErrorBoundaryMiddleware
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit
from mainspring.surfaces.rest.problems import handle_problems
from mainspring.surfaces.rest.request_bodies import (
    Body,
    JsonAnswer,
    read_body,
    read_json_body,
    takes,
)
from mainspring.surfaces.rest.route_access import check_known_query


class Leg(Body):
    """One leg of a journey."""

    minutes: int = Field(ge=1, le=600)
    by: Literal["train", "boat"] = "train"


class Journey(Body):
    """A body with a bit of everything."""

    name: str = Field(min_length=1, max_length=20)
    ticket: UUID | None = None
    legs: tuple[Leg, ...] = ()
    notes: dict[str, Any] = Field(default_factory=dict)
    either: int | Leg | None = None


def small_app(limits: Limits | None = None) -> FastAPI:
    app = FastAPI(openapi_url=None, dependencies=[Depends(check_known_query)])
    app.state.limits = limits or Limits()
    handle_problems(app)
    app.add_middleware(ErrorBoundaryMiddleware)

    @app.post("/journeys", openapi_extra=takes(Journey))
    async def add_journey(request: Request) -> JsonAnswer:
        return JsonAnswer((await read_body(request, Journey)).model_dump())

    @app.post("/anything")
    async def add_anything(request: Request) -> JsonAnswer:
        return JsonAnswer({"value": await read_json_body(request)})

    @app.get("/journeys/{journey_id}")
    async def read_journey(
        journey_id: UUID, cursor: Cursor = None, limit: Limit = PAGE, wide: bool = False
    ) -> JsonAnswer:
        return JsonAnswer({"id": journey_id, "cursor": cursor, "limit": limit, "wide": wide})

    @app.get("/shared")
    async def read_shared() -> JsonAnswer:
        return JsonAnswer({})

    @app.put("/shared")
    async def write_shared() -> JsonAnswer:
        return JsonAnswer({})

    @app.get("/trouble/{kind}")
    async def make_trouble(kind: str) -> JsonAnswer:
        match kind:
            case "clash":
                raise Conflict(
                    "It is there already.", code="twice", suggestion="Take another name."
                )
            case "later":
                raise LimitExceeded("Too many at once.", retry_after=1.2)
        raise KeyError("password=hunter2 /etc/passwd SELECT 1")

    return app


@asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client
