"""Events and their types, as they are asked for and answered."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from mainspring.contracts.event import EVENT_TYPE_PATTERN, LONGEST_EVENT_TYPE, LONGEST_SOURCE
from mainspring.surfaces.rest.bodies import Body

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
    built_in: bool = Field(description="Told by the house itself; nobody else may.")


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
