"""Published events and declared event types.

The application's own events (run results, integration events) have reserved types that nobody else
may publish. A declared type has a schema, and a payload that does not match it is rejected before
it is stored.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import orjson

from mainspring.contracts.capability import Annotations, Capability, CapabilityHandler, Effect
from mainspring.contracts.errors import Finding, Invalid, NotFound, Problem
from mainspring.contracts.event import (
    EVENT_TYPE_PATTERN,
    EVENT_TYPE_SAYS,
    LONGEST_EVENT_TYPE,
    LONGEST_SOURCE,
    Event,
    EventRow,
    EventType,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.strict_json import check_value
from mainspring.store.events import append_events

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext, Transaction

# Prefix of the reserved event types.
OWN: Final = "automation."
_TYPE = re.compile(EVENT_TYPE_PATTERN.rstrip("$"))

_DECLARED = """
    SELECT type, description, payload_schema FROM event_types WHERE workspace_id = $1 ORDER BY type
"""
_ONE = """
    SELECT payload_schema FROM event_types WHERE workspace_id = $1 AND type = $2
"""
_DECLARE = """
    INSERT INTO event_types (workspace_id, type, description, payload_schema)
    VALUES ($1, $2, $3, $4)
    ON CONFLICT (workspace_id, type) DO UPDATE
        SET description = excluded.description, payload_schema = excluded.payload_schema,
            updated_at = now()
"""
_FORGET = "DELETE FROM event_types WHERE workspace_id = $1 AND type = $2 RETURNING type"

_FIRED = """
    WITH armed AS (
        SELECT id, last_fired_at FROM triggers
        WHERE workspace_id = $1 AND id = ANY($2::uuid[]) AND armed_at IS NOT NULL
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE triggers t
    SET last_fired_at = CASE WHEN t.id = ANY($3::uuid[]) THEN now() ELSE t.last_fired_at END
    FROM armed
    WHERE t.workspace_id = $1 AND t.id = armed.id
    RETURNING t.id, armed.last_fired_at AS before, t.last_fired_at AS now
"""
_TRIAL = "SELECT id FROM runs WHERE workspace_id = $1 AND id = $2 AND mode <> 'live'"
_NOTICE = """
    INSERT INTO notifications (workspace_id, id, level, title, message)
    VALUES ($1, $2, 'error', $3, $4)
"""


@dataclass(frozen=True, slots=True)
class PublishedEvent:
    """An event to be published."""

    type: str
    payload: Mapping[str, Any]
    source_id: str
    run_id: UUID | None = None


async def publish(
    tx: Transaction,
    workspace_id: UUID,
    fact: PublishedEvent,
    limits: Limits,
    built_in: Collection[str],
    event_id: UUID | None = None,
) -> UUID:
    """Publish an event, or raise all its problems; return its id."""
    _refuse(_find_type_problems(fact.type, built_in))
    text = _encode_payload(fact.payload, limits)
    row = await tx.fetchrow(_ONE, workspace_id, fact.type)
    if row is not None:
        schema = compile_schema(row["payload_schema"], limits)
        _refuse(schema.findings(fact.payload, "/payload"))
    made = EventRow(
        workspace_id, event_id or generate_id(), fact.type, fact.source_id, text, fact.run_id
    )
    await append_events(tx, [made])
    return made.id


async def republish(tx: Transaction, event: Event) -> UUID:
    """Publish a copy of an event, which current triggers see as new.

    The copy starts a new event chain; a copy of a trial's event stays part of the trial.
    """
    text = orjson.dumps(event.payload).decode()
    trial = await tx.fetchrow(_TRIAL, event.workspace_id, event.run_id)
    made = EventRow(
        event.workspace_id,
        generate_id(),
        event.type,
        event.source_id,
        text,
        None if trial is None else event.run_id,
        event.id,
    )
    await append_events(tx, [made])
    return made.id


def _find_type_problems(name: str, built_in: Collection[str], at: str = "/type") -> list[Finding]:
    if len(name) > LONGEST_EVENT_TYPE or _TYPE.fullmatch(name) is None:
        return [
            Finding(
                at,
                f"A type is two or more lower-case names with dots between them, of at most "
                f"{LONGEST_EVENT_TYPE} characters.",
                "event_type",
                "For example orders.paid.",
            )
        ]
    if name.startswith(OWN) or name in built_in:
        return [
            Finding(
                at,
                f"Events of the type {name} are published by Mainspring only.",
                "reserved_event_type",
                "Choose a name of your own.",
            )
        ]
    return []


def _encode_payload(payload: Mapping[str, Any], limits: Limits) -> str:
    check_value(payload, limits, "/payload")
    text = orjson.dumps(payload)
    if len(text) > limits.payload_bytes:
        detail = f"The payload must not be larger than {limits.payload_bytes:,} bytes."
        _refuse([Finding("/payload", detail, "payload_too_large")])
    return text.decode()


def _refuse(findings: Sequence[Finding]) -> None:
    if findings:
        raise Invalid(
            f"The event cannot be published: {findings[0].detail}",
            code=findings[0].code,
            findings=findings,
        )


async def list_declared_types(tx: Transaction, workspace_id: UUID) -> list[EventType]:
    """List the declared types of a workspace, by name."""
    rows = await tx.fetch(_DECLARED, workspace_id)
    return [EventType(row["type"], row["description"], row["payload_schema"]) for row in rows]


async def declare_type(
    tx: Transaction,
    workspace_id: UUID,
    declared: EventType,
    limits: Limits,
    built_in: Collection[str],
    at: str = "/type",
) -> None:
    """Declare a type, replacing an earlier declaration; stored events are not changed."""
    findings = _find_type_problems(declared.type, built_in, at)
    findings += await asyncio.to_thread(_find_schema_problems, declared.payload_schema, limits)
    if findings:
        raise Invalid(
            "The event type cannot be declared.", code=findings[0].code, findings=findings
        )
    await tx.execute(
        _DECLARE, workspace_id, declared.type, declared.description, declared.payload_schema
    )


def _find_schema_problems(schema: Mapping[str, Any], limits: Limits) -> list[Finding]:
    """Find problems in a schema; reporting them is slow for a large one."""
    at = "/payload_schema"
    check_value(schema, limits, at)
    if len(orjson.dumps(schema)) > limits.definition_bytes:
        detail = f"The schema must not be larger than {limits.definition_bytes:,} bytes."
        return [Finding(at, detail, "schema_too_large")]
    return check_schema(schema, limits, at)


async def delete_type(tx: Transaction, workspace_id: UUID, name: str) -> None:
    """Delete a declared type; events of this type may then have any shape."""
    if await tx.fetchrow(_FORGET, workspace_id, name) is None:
        raise NotFound("This event type is not declared in this workspace.", code="no_event_type")


async def record_firing(
    tx: Transaction, workspace_id: UUID, triggers: Collection[UUID], meant: Collection[UUID]
) -> dict[UUID, tuple[datetime | None, datetime | None]]:
    """Record a firing; return which triggers are armed, with their previous and new fire times.

    They are locked until the transaction ends. A trigger that is not ``meant`` fires for a trial
    only, which is not recorded.
    """
    rows = await tx.fetch(_FIRED, workspace_id, sorted(triggers), list(meant))
    return {row["id"]: (row["before"], row["now"]) for row in rows}


async def notify_ignored_event(
    tx: Transaction, workspace_id: UUID, event_id: UUID, problem: Problem
) -> None:
    """Notify the workspace that an event started nothing, and why."""
    await tx.execute(
        _NOTICE,
        workspace_id,
        generate_id(),
        "An event could not be handled",
        f"Event {event_id} started nothing: {problem.detail}",
    )


def publish_event_capability(limits: Limits, built_in: Collection[str] = ()) -> Capability:
    """Build the capability that publishes an event from a run, in the transaction of its call
    record."""
    return Capability(
        id="publish_event",
        description="Publish an event\n\n"
        "Adds it to the event log of the workspace, where event triggers can match "
        "it. A declared event type validates the payload.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=_publish_handler(limits, built_in),
        annotations=Annotations(
            toolset=Toolset.RUNS,
            effect=Effect.KEEP,
            transactional=True,
            seconds=0.05,
            permission=Permission.RUN,
        ),
    )


def _publish_handler(limits: Limits, built_in: Collection[str]) -> CapabilityHandler:
    async def tell(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        run = ctx.run
        source = str(ctx.actor.id if run is None else run.automation_id)
        fact = PublishedEvent(
            arguments["type"],
            arguments.get("payload", {}),
            arguments.get("source_id", source),
            None if run is None else run.id,
        )
        made = await publish(ctx.tx, ctx.actor.workspace_id, fact, limits, built_in)
        return {"event_id": str(made)}

    return tell


_INPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["type"],
    "additionalProperties": False,
    "properties": {
        "type": {
            "description": "Lower-case names separated by dots, at least two.",
            "type": "string",
            "pattern": EVENT_TYPE_PATTERN,
            "x-mainspring-says": EVENT_TYPE_SAYS,
            "maxLength": LONGEST_EVENT_TYPE,
        },
        "payload": {"type": "object", "default": {}},
        "source_id": {
            "description": "What it happened to. Default: the automation.",
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST_SOURCE,
        },
    },
    "examples": [
        {"type": "digest.ready", "payload": {"pages": 5}},
        {"type": "orders.paid", "payload": {"total": 12.5}, "source_id": "order-7"},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"payload": {}}, "reason": "what happened?"},
        {"value": {"type": "ready"}, "reason": "a type has two names at least"},
        {"value": {"type": "Digest.Ready"}, "reason": "types are written in lower case"},
        {"value": {"type": "digest.ready", "payload": []}, "reason": "a payload is an object"},
    ],
}
_OUTPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["event_id"],
    "additionalProperties": False,
    "properties": {"event_id": {"type": "string", "format": "uuid"}},
    "examples": [{"event_id": "01900000-0000-7000-8000-000000000003"}],
    "x-mainspring-anti-examples": [{"value": {}, "reason": "it must say which event it made"}],
}
