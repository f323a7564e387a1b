"""A small application of the same parts as the real one, without a house behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal
from uuid import UUID

import httpx2
from fastapi import Depends, FastAPI, Request
from pydantic import Field

from mainspring.contracts.errors import Clash, Exhausted
from mainspring.contracts.limits import Limits
from mainspring.surfaces.rest.answers import Answer
from mainspring.surfaces.rest.bodies import Body, read_body, read_json_body, takes
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit
from mainspring.surfaces.rest.problems import handle_problems
from mainspring.surfaces.rest.queries import known_query
from mainspring.surfaces.rest.shell import Shell


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
    app = FastAPI(openapi_url=None, dependencies=[Depends(known_query)])
    app.state.limits = limits or Limits()
    handle_problems(app)
    app.add_middleware(Shell)

    @app.post("/journeys", openapi_extra=takes(Journey))
    async def add_journey(request: Request) -> Answer:
        return Answer((await read_body(request, Journey)).model_dump())

    @app.post("/anything")
    async def add_anything(request: Request) -> Answer:
        return Answer({"value": await read_json_body(request)})

    @app.get("/journeys/{journey_id}")
    async def read_journey(
        journey_id: UUID, cursor: Cursor = None, limit: Limit = PAGE, wide: bool = False
    ) -> Answer:
        return Answer({"id": journey_id, "cursor": cursor, "limit": limit, "wide": wide})

    @app.get("/shared")
    async def read_shared() -> Answer:
        return Answer({})

    @app.put("/shared")
    async def write_shared() -> Answer:
        return Answer({})

    @app.get("/trouble/{kind}")
    async def make_trouble(kind: str) -> Answer:
        match kind:
            case "clash":
                raise Clash("It is there already.", code="twice", suggestion="Take another name.")
            case "later":
                raise Exhausted("Too many at once.", retry_after=1.2)
        raise KeyError("password=hunter2 /etc/passwd SELECT 1")

    return app


@asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=app, raise_app_exceptions=True)
    async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
        yield client
