"""Capabilities by name: list, schema, and call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.gate.capability_offers import CapabilityOffer
from mainspring.gate.usage_ledger import history_of
from mainspring.surfaces.capability_list import as_dict, find_offer, list_offers
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.capability_routes import CALLED
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import (
    JsonAnswer,
    limits_for,
    read_json_body,
    takes_schema,
)
from mainspring.surfaces.rest.route_access import anyone_known, open_to_runs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices


class CapabilityShape(BaseModel):
    """One capability, with its schemas as they stand for whoever asks."""

    model_config = ConfigDict(extra="forbid")

    id: str
    label: str
    description: str
    effect: str = Field(description="How far a call reaches: read, keep or send.")
    audience: str = Field(
        description="Who may call it: anyone, people, administrators, or runs, which is the "
        "steps of automations alone."
    )
    permission: str = Field(description="What a member's role must allow.")
    confirmation: bool = Field(description="Whether a call waits for a person's yes.")
    side_effects: list[str] = Field(
        description="Of a tool from outside, what a call may do there, such as USER_VISIBLE."
    )
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]


class CapabilityHistory(BaseModel):
    """What calls of a capability came to here, as far as the newest records of runs tell."""

    model_config = ConfigDict(extra="forbid")

    calls: int
    average_usd: float | None = Field(description="Null when there was no call.")
    average_ms: int | None
    since: datetime | None = Field(description="The oldest call that is counted.")


class CapabilityDetail(CapabilityShape):
    """One capability, and what it has cost so far."""

    history: CapabilityHistory | None = Field(
        description="Cost is measured, never declared; null for a run, which sees nothing "
        "but what it may call."
    )


class CapabilityList(BaseModel):
    """What whoever asks may call."""

    model_config = ConfigDict(extra="forbid")

    capabilities: list[CapabilityShape]
    next: str | None = Field(
        description="Where the next page begins, to be given as after; null on the last one."
    )


_ARGUMENTS = takes_schema(
    {"title": "Arguments", "type": "object", "additionalProperties": True},
    "The arguments; their schema is the capability's input_schema.",
)


_After = Annotated[
    str, Query(max_length=200, description="Only those whose names come after this one.")
]
_Limit = Annotated[
    int | None, Query(ge=1, le=1_000, description="The most to return. Default: all.")
]


def routes(services: ApplicationServices) -> APIRouter:
    made = router("capabilities")

    @made.get(
        "/capabilities",
        summary="List what you may call",
        response_model=CapabilityList,
    )
    @anyone_known
    @open_to_runs
    async def list_capabilities(
        caller: SignedIn,
        everything: Annotated[
            bool, Query(alias="all", description="Those too that only runs may call.")
        ] = False,
        after: _After = "",
        limit: _Limit = None,
    ) -> JsonAnswer:
        offers = await list_offers(services, caller.gate_caller, everything=everything)
        return JsonAnswer(_page(offers, after, limit))

    @made.get(
        "/capabilities/{capability_id}",
        summary="Read what a capability takes and answers",
        response_model=CapabilityDetail,
    )
    @anyone_known
    @open_to_runs
    async def read_capability(capability_id: str, caller: SignedIn) -> JsonAnswer:
        found = await find_offer(services, caller.gate_caller, capability_id)
        if found is None:
            raise NotFound("There is no such capability.", code="unknown_capability")
        history = None
        if caller.gate_caller.held is None:
            async with caller.database.acquire() as connection:
                history = await history_of(
                    connection, caller.workspace_id, found.capability.id, services.clock.now()
                )
        return JsonAnswer({**as_dict(found), "history": history})

    @made.post(
        "/capabilities/{capability_id}",
        summary="Call a capability",
        response_model=dict[str, Any],
        responses=problems(*CALLED),
        openapi_extra=_ARGUMENTS,
    )
    @anyone_known
    @open_to_runs
    async def call_capability(capability_id: str, request: Request, caller: SignedIn) -> JsonAnswer:
        found = await services.gate.find(caller.workspace_id, capability_id)
        arguments = await read_json_body(request, limits_for(request, found))
        if not isinstance(arguments, dict):
            detail = "The arguments must be an object."
            raise Invalid(detail, findings=[Finding("", detail, "type")])
        return JsonAnswer(await services.gate.serve(caller.gate_caller, capability_id, arguments))

    return made


def _page(offers: Sequence[CapabilityOffer], after: str, limit: int | None) -> dict[str, Any]:
    left = [offer for offer in offers if offer.capability.id > after]
    shown = left[:limit]
    following = shown[-1].capability.id if len(shown) < len(left) else None
    return {"capabilities": [as_dict(offer) for offer in shown], "next": following}
