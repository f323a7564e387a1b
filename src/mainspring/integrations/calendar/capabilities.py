"""Calendar capabilities: create, update and delete events, after approval."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.errors import Finding, Invalid, NotFound, Problem
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, list_values, quote_values
from mainspring.integrations.calendar.client import Calendar
from mainspring.integrations.calendar.times import find_time_problems, format_api_time

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Schemas of the calendar's writes.

_ADDRESS: Final[dict[str, Any]] = {
    "type": "string",
    "format": "idn-email",
    "pattern": r"^[^\s<>\"(),;:]+$",
    "x-mainspring-says": "This must be a mail address alone, without a name.",
    "minLength": 3,
    "maxLength": 254,
}
_WHEN: Final[dict[str, Any]] = {"type": "string", "minLength": 10, "maxLength": 40}
_FIELDS: Final[dict[str, Any]] = {
    "summary": {
        "type": "string",
        "minLength": 1,
        "maxLength": 1_000,
    },
    "description": {"type": "string", "maxLength": 8_000},
    "location": {"type": "string", "maxLength": 1_000},
    "start": {
        **_WHEN,
        "description": "A day (2026-06-01) or a time (2026-06-01T09:00:00+02:00).",
    },
    "end": {**_WHEN, "description": "A time, or for whole days the day after the last."},
    "time_zone": {
        "type": "string",
        "description": "For times without an offset, such as Europe/Berlin.",
        "maxLength": 80,
    },
    "attendees": {
        "type": "array",
        "description": "Email addresses.",
        "maxItems": 200,
        "items": _ADDRESS,
    },
    "recurrence": {
        "type": "array",
        "description": "Such as RRULE:FREQ=WEEKLY;COUNT=10.",
        "maxItems": 10,
        "items": {
            "type": "string",
            "maxLength": 500,
            "pattern": r"^(RRULE|EXRULE|RDATE|EXDATE)[:;][ -~]+$",
            "x-mainspring-says": "This must be a rule such as RRULE:FREQ=WEEKLY;COUNT=10.",
        },
    },
    "send_updates": {
        "description": "Who is notified by email: all, external guests (externalOnly) or none.",
        "enum": ["all", "externalOnly", "none"],
        "default": "none",
    },
    "calendar_id": {
        "type": "string",
        "description": "primary is the main calendar.",
        "minLength": 1,
        "maxLength": 254,
        "pattern": r"^\S+$",
        "x-mainspring-says": "This must be the id of a calendar.",
        "default": "primary",
    },
}
_EVENT_ID: Final[dict[str, Any]] = {
    "type": "string",
    "minLength": 1,
    "maxLength": 1_024,
    "pattern": r"^[A-Za-z0-9_-]+$",
    "x-mainspring-says": "This must be the id of an event.",
}

CREATE_INPUT: Final = build_object_schema(
    _FIELDS,
    ["summary", "start", "end"],
    [
        {
            "summary": "Planning",
            "start": "2026-06-01T09:00:00+02:00",
            "end": "2026-06-01T10:00:00+02:00",
            "attendees": ["noah@example.com"],
            "send_updates": "all",
        },
        {
            "summary": "Holiday of {{ inputs.name }}",
            "start": "2026-06-01",
            "end": "2026-06-06",
            "calendar_id": "team@group.calendar.google.com",
        },
    ],
    [
        ({"summary": "x", "start": "2026-06-01"}, "an event ends"),
        ({"start": "2026-06-01", "end": "2026-06-02"}, "an event is called something"),
        (
            {"summary": "x", "start": {"date": "2026-06-01"}, "end": "2026-06-02"},
            "a time is a text",
        ),
        (
            {"summary": "x", "start": "2026-06-01", "end": "2026-06-02", "attendees": ["Noah"]},
            "guests are addresses",
        ),
        (
            {"summary": "x", "start": "2026-06-01", "end": "2026-06-02", "send_updates": True},
            "it says who is notified",
        ),
    ],
)
UPDATE_INPUT: Final = build_object_schema(
    {"event_id": _EVENT_ID, **_FIELDS},
    ["event_id"],
    [{"event_id": "7f3k2m9q", "start": "2026-06-01T11:00:00Z", "end": "2026-06-01T12:00:00Z"}],
    [
        ({"summary": "x"}, "it says which event"),
        ({"event_id": "a b", "summary": "x"}, "an id has no spaces"),
    ],
)
DELETE_INPUT: Final = build_object_schema(
    {
        "event_id": _EVENT_ID,
        "calendar_id": _FIELDS["calendar_id"],
        "send_updates": _FIELDS["send_updates"],
    },
    ["event_id"],
    [{"event_id": "7f3k2m9q", "send_updates": "all"}],
    [({}, "it says which event"), ({"event_id": ""}, "it says which event")],
)
CREATED: Final = build_object_schema(
    {"event_id": {"type": "string", "description": "Google's event id."}},
    ["event_id"],
    [{"event_id": "ms0f2a6c1be0d94c0f8f0c6a4c1f3d5e77"}],
    [({}, "what was made has an id")],
)
MODIFIED: Final = build_object_schema(
    {
        "modified_count": {
            "type": "integer",
            "description": "Changed events; 0: it did not exist.",
            "minimum": 0,
        }
    },
    ["modified_count"],
    [{"modified_count": 1}],
    [({"modified_count": "one"}, "a number")],
)


EDITABLE: Final = (
    "summary",
    "description",
    "location",
    "start",
    "end",
    "attendees",
    "send_updates",
)
_EVENTS_SCOPE: Final = "https://www.googleapis.com/auth/calendar.events"
_TEXTS: Final = ("summary", "description", "location", "recurrence")
_CHANGES: Final = frozenset({*EDITABLE, "recurrence"}) - {"send_updates"}
_TOLD: Final = {
    "all": "everyone is notified by mail",
    "externalOnly": "guests outside of the calendar system are notified by mail",
    "none": "no one is notified by mail",
}


def create_event(calendar: Calendar) -> Capability:
    """Build the capability that creates an event."""

    async def create(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        _check(create_findings(arguments))
        event = {name: arguments[name] for name in _TEXTS if name in arguments}
        for name in ("start", "end"):
            event[name] = _drop_missing(
                format_api_time(arguments[name], arguments.get("time_zone"))
            )
        if "attendees" in arguments:
            event["attendees"] = [{"email": one} for one in arguments["attendees"]]
        event["id"] = build_event_id(ctx.key)
        made = await calendar.create(ctx.http, _place(arguments), event, _updates(arguments))
        return {"event_id": made}

    text = (
        "Create a calendar event\n\n"
        "Creates an event in the connected Google account and invites the guests, after a person "
        "approves it."
    )
    return _write(
        calendar,
        "calendar.create_event",
        text,
        (CREATE_INPUT, CREATED),
        create,
        Write(
            preview=create_preview,
            editable=EDITABLE,
            wording=("summary", "description"),
            destination=("calendar_id", "attendees"),
            family="event",
            describe=partial(_describe_event, "create", "in"),
        ),
        create_findings,
    )


def update_event(calendar: Calendar) -> Capability:
    """Build the capability that updates an event."""

    async def update(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        _check(update_findings(arguments))
        place, own = _place(arguments), str(arguments["event_id"])
        before = await _before(calendar, ctx, place, own)
        change = {name: arguments[name] for name in _TEXTS if name in arguments}
        for name in ("start", "end"):
            if name in arguments:
                change[name] = format_api_time(arguments[name], arguments.get("time_zone"))
        if "attendees" in arguments:
            change["attendees"] = merge_attendees(before.get("attendees"), arguments["attendees"])
        etag = before.get("etag")
        await calendar.change(
            ctx.http, place, own, change, _updates(arguments), etag if _is_etag(etag) else None
        )
        return {"modified_count": 1}

    text = (
        "Update a calendar event\n\n"
        "Changes the given fields of an event of the connected Google account, after a person "
        "approves it."
    )
    return _write(
        calendar,
        "calendar.update_event",
        text,
        (UPDATE_INPUT, MODIFIED),
        update,
        Write(
            preview=update_preview,
            editable=EDITABLE,
            destination=("calendar_id", "event_id", "attendees"),
            family="event",
            describe=partial(_describe_event, "change", "in"),
        ),
        update_findings,
    )


def delete_event(calendar: Calendar) -> Capability:
    """Build the capability that deletes an event."""

    async def delete(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        own, updates = str(arguments["event_id"]), _updates(arguments)
        done = await calendar.delete(ctx.http, _place(arguments), own, updates)
        return {"modified_count": int(done)}

    text = (
        "Delete a calendar event\n\n"
        "Deletes an event of the connected Google account, after a person approves it."
    )
    return _write(
        calendar,
        "calendar.delete_event",
        text,
        (DELETE_INPUT, MODIFIED),
        delete,
        Write(
            preview=delete_preview,
            editable=("send_updates",),
            destination=("calendar_id", "event_id"),
            family="event",
            describe=partial(_describe_event, "delete", "from"),
        ),
        None,
    )


def _write(
    calendar: Calendar,
    name: str,
    text: str,
    schemas: tuple[Mapping[str, Any], Mapping[str, Any]],
    handler: Any,
    write: Write,
    judge: Any,
) -> Capability:
    return Capability(
        id=name,
        description=text,
        input_schema=schemas[0],
        output_schema=schemas[1],
        handler=handler,
        write=write,
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            effect=Effect.SEND,
            seconds=2.0,
            hosts=calendar.hosts,
            route=ConnectionRoute("calendar", calendar.hosts, scopes=frozenset({_EVENTS_SCOPE})),
            judge=judge,
        ),
    )


def build_event_id(key: str) -> str:
    """Derive an event id from the call's key, in the characters that Google accepts."""
    return "ms" + hashlib.sha256(key.encode()).hexdigest()[:48]


def create_findings(arguments: Mapping[str, Any]) -> list[Finding]:
    """Find problems of an event that the schema cannot express."""
    return find_time_problems(arguments)


def update_findings(arguments: Mapping[str, Any]) -> list[Finding]:
    """Find problems of an update that the schema cannot express."""
    if not _CHANGES & arguments.keys():
        detail = "Nothing of the event is to be changed."
        return [Finding("", detail, "event_unchanged", "Give summary, start, end or another one.")]
    return find_time_problems(arguments)


def create_preview(arguments: Mapping[str, Any]) -> str:
    """Preview the event, its time and the notified guests."""
    where = f", {format_first_line(arguments['location'], 80)}" if arguments.get("location") else ""
    again = ", repeated" if arguments.get("recurrence") else ""
    summary = format_first_line(arguments["summary"], 120)
    return (
        f"Create the event “{summary}”, {_when(arguments)}{where}{again}"
        f"{_with(arguments)} in {_calendar_name(arguments)}; {_TOLD[_updates(arguments)]}."
    )


def update_preview(arguments: Mapping[str, Any]) -> str:
    """Preview the changes and the notified guests."""
    changed = []
    for name in ("summary", "location", "start", "end", "description", "recurrence"):
        if name in arguments:
            value = arguments[name]
            text = value if isinstance(value, str) else ", ".join(value)
            changed.append(f"{name} to “{format_first_line(text, 60)}”")
    guests = arguments.get("attendees")
    if guests is not None:
        changed.append(f"guests to {_list_guests(guests)}" if guests else "no guest is notified")
    return (
        f"Change the event {format_first_line(arguments['event_id'], 60)} in "
        f"{_calendar_name(arguments)}: "
        f"{'; '.join(changed) or 'nothing'}; {_TOLD[_updates(arguments)]}."
    )


def delete_preview(arguments: Mapping[str, Any]) -> str:
    """Preview the deletion and the notified guests."""
    return (
        f"Delete the event {format_first_line(arguments['event_id'], 60)} in "
        f"{_calendar_name(arguments)}; "
        f"{_TOLD[_updates(arguments)]}."
    )


def merge_attendees(before: Any, wanted: list[str]) -> list[dict[str, Any]]:
    """Merge the guest list; remaining guests keep their response."""
    known = {
        str(one.get("email", "")).lower(): one
        for one in (before if isinstance(before, list) else ())
        if isinstance(one, dict)
    }
    return [known.get(one.lower(), {"email": one}) for one in wanted]


async def _before(calendar: Calendar, ctx: CallContext, place: str, own: str) -> Mapping[str, Any]:
    """Load the current event. This has no side effects."""
    try:
        found = await calendar.event(ctx.http, place, own)
    except Problem as problem:
        problem.unsent = True
        raise
    if found.get("status") == "cancelled":
        raise NotFound("The event was deleted.", code="event_deleted", unsent=True)
    return found


def _check(findings: list[Finding]) -> None:
    if findings:
        first = findings[0]
        raise Invalid(
            first.detail,
            code=first.code,
            findings=findings,
            suggestion=first.suggestion,
            unsent=True,
        )


def _drop_missing(moment: Mapping[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in moment.items() if value is not None}


def _when(arguments: Mapping[str, Any]) -> str:
    zone = f" ({format_first_line(arguments['time_zone'], 40)})" if "time_zone" in arguments else ""
    return f"{format_first_line(arguments['start'], 40)} to {format_first_line(arguments['end'], 40)}{zone}"  # noqa: E501


def _with(arguments: Mapping[str, Any]) -> str:
    guests = arguments.get("attendees") or []
    return f", with {_list_guests(guests)}" if guests else ""


def _list_guests(guests: list[str]) -> str:
    more = len(guests) - 3
    shown = ", ".join(format_first_line(one, 60) for one in guests[:3])
    return shown + (f" and {more} more" if more > 0 else "")


def _calendar_name(arguments: Mapping[str, Any]) -> str:
    given = arguments.get("calendar_id")
    return (
        "the main calendar"
        if given in {None, "primary"}
        else f"{format_first_line(str(given), 80)}"
    )


def _place(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("calendar_id", "primary"))


def _updates(arguments: Mapping[str, Any]) -> str:
    return str(arguments.get("send_updates", "none"))


def _is_etag(value: Any) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable() and len(value) < 200


def _describe_event(verb: str, joiner: str, config: Mapping[str, Any]) -> WriteDescription:
    """Describe an event by its calendar and guests."""
    calendar = config.get("calendar_id")
    where = f"the calendar {quote_values(calendar)}" if calendar else "a Google calendar"
    guests = list_values(config.get("attendees"))
    invited = f", inviting {quote_values(guests)}" if guests else ""
    texts = ("summary", "description", "location", "start", "end")
    return WriteDescription(verb, f"events {joiner} {where}{invited}", texts, "calendar")
