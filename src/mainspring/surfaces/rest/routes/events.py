"""The event log and the event types."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.responses import Response

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.event import (
    EVENT_TYPE_PATTERN,
    LONGEST_EVENT_TYPE,
    LONGEST_SOURCE,
    Event,
    EventQuery,
    EventType,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Permission
from mainspring.definition.strict_json import hash_content
from mainspring.runs.rows import keep_event_key
from mainspring.store.events import EventNotifier, EventTable
from mainspring.surfaces.rest.auth import SignedIn
from mainspring.surfaces.rest.idempotency import EVENT_KEY_HEADER, key_of
from mainspring.surfaces.rest.paging import PAGE, Cursor, Limit, Page, page
from mainspring.surfaces.rest.problems import problems
from mainspring.surfaces.rest.request_bodies import Body, JsonAnswer, read_body, takes
from mainspring.surfaces.rest.route_access import needs
from mainspring.surfaces.rest.router import router
from mainspring.surfaces.services import ApplicationServices
from mainspring.triggers.chat_intake import build_dedup_key
from mainspring.triggers.event_consumers import list_event_consumers
from mainspring.triggers.filter_trial import find_unmet_conditions
from mainspring.workspace.events import (
    PublishedEvent,
    declare_type,
    delete_type,
    list_declared_types,
    publish,
    republish,
)

# The request and response models of events and event types.

MOST_TRIED = 200

TypeName = Annotated[
    str, StringConstraints(pattern=EVENT_TYPE_PATTERN, max_length=LONGEST_EVENT_TYPE)
]


class _Shown(BaseModel):
    model_config = ConfigDict(extra="forbid")


class EventShape(_Shown):
    """One fact in the log."""

    id: UUID
    type: str
    source_id: str
    payload: dict[str, Any]
    created_at: datetime
    run_id: UUID | None = Field(description="The run that told of it.")
    replay_of: UUID | None = Field(description="The event that it repeats.")


class Consumed(_Shown):
    """A trigger that went off on an event, and what became of it."""

    trigger_id: UUID
    automation_id: UUID | None
    run_id: UUID | None
    status: str | None
    reason: str | None


class EventDetail(EventShape):
    """One fact, with the triggers that went off on it."""

    consumed_by: list[Consumed]


class PublishedShape(_Shown):
    """The event is in the log."""

    event_id: UUID
    existed: bool = Field(description="An earlier call with the same key had told of it.")


class EventTypeShape(_Shown):
    """A kind of event and the shape of its payload."""

    type: str
    description: str
    payload_schema: dict[str, Any]
    built_in: bool = Field(description="Published only by Mainspring itself.")


class EventTypesShape(_Shown):
    items: list[EventTypeShape]


class TriedShape(_Shown):
    """What a filter says to one payload."""

    event_id: UUID | None = Field(description="The event that was tried; null for a given payload.")
    matches: bool
    unmet: list[str] = Field(description="Pointers to the parts of the filter that do not hold.")


class TriedAll(_Shown):
    matched: int
    items: list[TriedShape]


class NewEvent(Body):
    """A fact to tell."""

    type: TypeName = Field(description="What happened, such as orders.paid.")
    payload: dict[str, Any] = Field(default_factory=dict)
    source_id: str = Field(
        "api", min_length=1, max_length=LONGEST_SOURCE, description="What it happened to."
    )
    idempotency_key: str | None = Field(
        None,
        min_length=1,
        max_length=255,
        pattern=r"^[!-~]+$",
        description="A second call with the same key within a day tells nothing new.",
    )


class NewEventType(Body):
    """What events of a type mean, and what they carry."""

    description: str = Field(min_length=1, max_length=2_000)
    payload_schema: dict[str, Any] = Field(
        description="JSON Schema, draft 2020-12, of the payload."
    )


class FilterTrial(Body):
    """A filter, and what to try it on: a payload, or else the newest events."""

    filter: dict[str, Any]
    event_type: TypeName | None = None
    payload: dict[str, Any] | None = None
    recent: int = Field(20, ge=1, le=MOST_TRIED, description="How many of the newest events.")


def routes(services: ApplicationServices) -> APIRouter:
    made = router("events")
    log, herald = EventTable(services.limits), EventNotifier(services.wakeup_sender)
    _telling(made, services, log, herald)
    _reading(made, services, log)
    _types(made, services)
    _trying(made, services, log)
    return made


def _telling(
    made: APIRouter, services: ApplicationServices, log: EventTable, notifier: EventNotifier
) -> None:
    @made.post(
        "/events",
        summary="Tell of an event",
        response_model=PublishedShape,
        status_code=202,
        responses=problems(401, 413, 415, 422),
        openapi_extra={**takes(NewEvent), "parameters": [EVENT_KEY_HEADER]},
    )
    @needs(Permission.RUN)
    async def post_event(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, NewEvent)
        key, event_id = key_of(request, body.idempotency_key), generate_id()
        async with caller.database.transaction() as tx:
            known = event_id
            if key is not None:
                content = {"type": body.type, "payload": body.payload, "source": body.source_id}
                known = await keep_event_key(
                    tx, caller.workspace_id, key, event_id, hash_content(content)
                )
            if known == event_id:
                fact = PublishedEvent(body.type, body.payload, body.source_id)
                await publish(
                    tx,
                    caller.workspace_id,
                    fact,
                    services.limits,
                    services.registry.events,
                    event_id,
                )
            caller.detail |= {"event_id": str(known), "type": body.type}
        notifier.tell()
        return JsonAnswer({"event_id": known, "existed": known != event_id}, status_code=202)

    @made.post(
        "/events/{event_id}/replay",
        summary="Publish an event again, to the current triggers",
        response_model=PublishedShape,
        status_code=202,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.RUN)
    async def replay_event(event_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.transaction() as tx:
            event = await log.one(tx, caller.workspace_id, event_id)
            again = await republish(tx, event)
            caller.detail |= {"event_id": str(again), "type": event.type}
        notifier.tell()
        return JsonAnswer({"event_id": again, "existed": False}, status_code=202)


def _reading(made: APIRouter, services: ApplicationServices, log: EventTable) -> None:
    @made.get(
        "/events",
        summary="List events, the newest first",
        response_model=Page[EventShape],
        responses=problems(401, 422),
    )
    @needs(Permission.READ)
    async def get_events(
        caller: SignedIn,
        event_type: Annotated[
            str | None,
            Query(alias="type", max_length=200, description="Only events of this type."),
        ] = None,
        source_id: Annotated[
            str | None, Query(max_length=200, description="Only events of this source.")
        ] = None,
        since: Annotated[
            datetime | None, Query(description="Only events published at this time or later.")
        ] = None,
        cursor: Cursor = None,
        limit: Limit = PAGE,
    ) -> JsonAnswer:
        query = EventQuery(event_type, source_id, _with_zone(since), cursor)
        async with caller.database.acquire() as connection:
            found = await log.list(connection, caller.workspace_id, query, limit + 1)
        return JsonAnswer(page([_describe_event(event) for event in found], limit))

    @made.get(
        "/events/{event_id}",
        summary="Read an event and what it set off",
        response_model=EventDetail,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.READ)
    async def get_event(event_id: UUID, caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            event = await log.one(connection, caller.workspace_id, event_id)
            consumed = await list_event_consumers(
                connection, caller.workspace_id, event_id, build_dedup_key(event)
            )
        return JsonAnswer({**_describe_event(event), "consumed_by": consumed})


def _types(made: APIRouter, services: ApplicationServices) -> None:
    built_in = services.registry.events

    @made.get(
        "/event-types",
        summary="List the types of events: the built-in ones and those declared here",
        response_model=EventTypesShape,
        responses=problems(401),
    )
    @needs(Permission.READ)
    async def get_event_types(caller: SignedIn) -> JsonAnswer:
        async with caller.database.acquire() as connection:
            declared = await list_declared_types(connection, caller.workspace_id)
        shown = [_describe_event_type(entry, built_in=True) for entry in built_in.values()]
        shown += [
            _describe_event_type(entry, built_in=False)
            for entry in declared
            if entry.type not in built_in
        ]
        return JsonAnswer({"items": shown})

    @made.put(
        "/event-types/{event_type}",
        summary="Declare a type of event, or change what was declared",
        response_model=EventTypeShape,
        responses=problems(401, 413, 415, 422),
        openapi_extra=takes(NewEventType),
    )
    @needs(Permission.EDIT)
    async def put_event_type(event_type: str, request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, NewEventType)
        declared = EventType(event_type, body.description, body.payload_schema)
        async with caller.database.transaction() as tx:
            await declare_type(
                tx, caller.workspace_id, declared, services.limits, built_in, "/path/event_type"
            )
        return JsonAnswer(_describe_event_type(declared, built_in=False))

    @made.delete(
        "/event-types/{event_type}",
        summary="Forget a declared type; its events may then have any shape",
        status_code=204,
        responses=problems(401, 404, 422),
    )
    @needs(Permission.EDIT)
    async def delete_event_type(event_type: str, caller: SignedIn) -> Response:
        async with caller.database.transaction() as tx:
            await delete_type(tx, caller.workspace_id, event_type)
        return Response(status_code=204)


def _trying(made: APIRouter, services: ApplicationServices, log: EventTable) -> None:
    # The shared thread pool must not be blocked by filters.
    turns = asyncio.Semaphore(2)

    @made.post(
        "/filters/test",
        summary="Try a filter on a payload or on the newest events; nothing is started",
        response_model=TriedAll,
        responses=problems(401, 413, 415, 422),
        openapi_extra=takes(FilterTrial),
    )
    @needs(Permission.READ)
    async def test_filter(request: Request, caller: SignedIn) -> JsonAnswer:
        body = await read_body(request, FilterTrial)
        tried: list[tuple[UUID | None, Mapping[str, Any]]]
        if body.payload is not None:
            tried = [(None, body.payload)]
        else:
            async with caller.database.acquire() as connection:
                query = EventQuery(type=body.event_type)
                found = await log.list(connection, caller.workspace_id, query, body.recent)
            tried = [(event.id, event.payload) for event in found]
        async with turns:
            unmet = await asyncio.to_thread(
                find_unmet_conditions,
                body.filter,
                [payload for _, payload in tried],
                services.limits,
                "/filter",
            )
        items = [
            {"event_id": event_id, "matches": not missing, "unmet": missing}
            for (event_id, _), missing in zip(tried, unmet, strict=True)
        ]
        return JsonAnswer({"matched": sum(item["matches"] for item in items), "items": items})


# No event is outside of these, and years 1 and 9999 overflow in some time zones.
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9998, 1, 1, tzinfo=UTC)


def _with_zone(timestamp: datetime | None) -> datetime | None:
    if timestamp is not None and timestamp.tzinfo is None:
        raise Invalid(
            "The query is not one that is read here.",
            findings=[Finding("/query/since", "A time needs a zone, such as Z.", "date_time")],
        )
    return None if timestamp is None else min(max(timestamp, _FIRST), _LAST)


def _describe_event(event: Event) -> dict[str, Any]:
    return {
        "id": event.id,
        "type": event.type,
        "source_id": event.source_id,
        "payload": event.payload,
        "created_at": event.created_at,
        "run_id": event.run_id,
        "replay_of": event.replay_of,
    }


def _describe_event_type(entry: EventType, *, built_in: bool) -> dict[str, Any]:
    return {
        "type": entry.type,
        "description": entry.description,
        "payload_schema": entry.payload_schema,
        "built_in": built_in,
    }
