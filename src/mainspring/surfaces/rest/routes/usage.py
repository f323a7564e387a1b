"""The usage of models: requests, callers, and cost."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.roles import Permission
from mainspring.gate.usage_ledger import UsageFilter, read_asks, span_of
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.capability_routes import CapabilityRoute, add_faces
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.request_bodies import JsonAnswer
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices

_FACES: Final = (CapabilityRoute("GET", "/usage", "get_usage"),)


class UsageCall(BaseModel):
    """One ask of a model; nothing of what was asked or answered is in it."""

    model_config = ConfigDict(extra="forbid")

    id: UUID
    at: datetime
    automation_id: UUID | None
    automation: str | None = Field(
        description="Its name; null when it was deleted, or did not exist."
    )
    run_id: UUID | None
    step: str
    item: str
    attempt: int
    call: int
    caller: str = Field(description="The capability that asked; script: a script's own word.")
    provider: str = Field(description="The connection that was called.")
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost_usd: float
    price: dict[str, Any] | None = Field(description="Per million tokens, at that time.")
    ms: int
    reported: bool = Field(description="A script said so of a model of its own.")


def routes(services: ApplicationServices) -> APIRouter:
    made = router("usage")
    add_faces(made, services, _FACES)
    _asks(made, services)
    return made


def _asks(made: APIRouter, services: ApplicationServices) -> None:
    @made.get(
        "/usage/calls",
        summary="List single asks of models, the newest first",
        response_model=Page[UsageCall],
    )
    @needs(Permission.READ)
    async def list_usage(
        caller: SignedIn,
        first: Annotated[
            date | None, Query(alias="from", description="The first day, in UTC.")
        ] = None,
        last: Annotated[
            date | None, Query(alias="to", description="Last day. Default: today.")
        ] = None,
        automation_id: Annotated[UUID | None, Query(description="Only of its runs.")] = None,
        run_id: Annotated[UUID | None, Query(description="Only of this run.")] = None,
        model: Annotated[str | None, Query(max_length=200, description="Only of this one.")] = None,
        asked_by: Annotated[
            str | None, Query(alias="caller", max_length=200, description="Only by this caller.")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        span = span_of(first, last, services.clock.now(), "/query")
        filters = UsageFilter(automation_id, run_id, model, asked_by)
        async with caller.database.acquire() as connection:
            rows = await read_asks(
                connection, caller.workspace_id, span, filters, after=cursor, most=limit + 1
            )
        return JsonAnswer(page(rows, limit))
