"""Board adapter: a calendar URL is the resource, and its events in a time window are rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.addresses import LONGEST, get_hosts, normalize_address_ref
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.integration import Adapter, Operation, UnreadableItem
from mainspring.integrations.ics.calendar import list_events_between
from mainspring.integrations.ics.client import fetch_calendar

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

DAYS: Final = 30
MOST_DAYS: Final = 731
_DAY: Final[dict[str, Any]] = {"type": "string", "maxLength": 40}
REF_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["url"],
    "properties": {
        "url": {
            "title": "Address",
            "description": "The public address of the calendar; webcal: means https:.",
            "type": "string",
            "minLength": 8,
            "maxLength": LONGEST,
            "pattern": r"^([Hh][Tt][Tt][Pp][Ss]?|webcals?)://[^\s]+$",
            "x-mainspring-says": "This must be the web address of a calendar.",
        }
    },
    "examples": [{"url": "https://calendar.example.com/team.ics"}],
    "x-mainspring-anti-examples": [{"value": {"url": "team.ics"}, "reason": "a whole address"}],
}
PARAMS_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "start": {
            "description": "The first date, or date and time, to include. Default: today.",
            "x-mainspring-says": "Write a date, or a date and time, such as 2026-01-31.",
            **_DAY,
        },
        "end": {"description": "The end of the window. Default: after days.", **_DAY},
        "days": {
            "description": "How many days from start.",
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_DAYS,
            "default": DAYS,
        },
    },
    "examples": [{}, {"days": 7}, {"start": "2026-01-01", "end": "2026-02-01"}],
    "x-mainspring-anti-examples": [
        {"value": {"days": 0}, "reason": "a window has at least a day"},
        {"value": {"days": "7"}, "reason": "a number"},
    ],
}
COLUMNS: Final[Mapping[str, str]] = {
    "id": "text",
    "title": "text",
    "start": "datetime",
    "end": "datetime",
    "all_day": "boolean",
    "location": "text",
    "description": "text",
    "status": "text",
    "organizer": "text",
    "url": "url",
    "uid": "text",
}


def normalize_ref(ref: Mapping[str, Any]) -> dict[str, Any]:
    """Normalize the URL."""
    url = str(ref["url"])
    scheme, _, rest = url.partition("://")
    if scheme in {"webcal", "webcals"}:
        url = f"https://{rest}"
    return normalize_address_ref({"url": url})


def parse_window(params: Mapping[str, Any], now: datetime) -> tuple[datetime, datetime]:
    """Parse the requested window; it starts today (UTC) by default."""
    start = _moment(params, "start")
    if start is None:
        start = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    end = _moment(params, "end")
    if end is None:
        return start, start + timedelta(days=int(params.get("days", DAYS)))
    if end <= start:
        raise _bad("/end", "The window ends before it begins.")
    if end - start > timedelta(days=MOST_DAYS):
        raise _bad("/end", f"A window is at most {MOST_DAYS} days long.")
    return start, end


def check_params(params: Mapping[str, Any]) -> None:
    """Reject invalid times and windows."""
    if "end" in params and "days" in params:
        raise _bad("/days", "The window has an end already; leave days or end out.")
    if "start" in params:
        parse_window(params, _UNUSED)
    else:
        # A past end is reported when it is read.
        _moment(params, "end")


async def list_events(
    ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
) -> Sequence[Mapping[str, Any] | UnreadableItem]:
    """List every occurrence in the window, recurring ones expanded."""
    check_params(params)
    begin, end = parse_window(params, ctx.clock.now())
    return await list_events_between(await fetch_calendar(ctx, ref), begin, end)


def _moment(params: Mapping[str, Any], name: str) -> datetime | None:
    text = params.get(name)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        raise _bad(f"/{name}", "Write a date, or a date and time, such as 2026-01-31.") from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _bad(at: str, detail: str) -> Invalid:
    return Invalid(detail, code="bad_window", findings=[Finding(at, detail, "bad_window")])


_UNUSED: Final = datetime(1970, 1, 1, tzinfo=UTC)

ADAPTER: Final = Adapter(
    kind="ics",
    description="A calendar that is published as an iCalendar address.",
    ref_schema=REF_SCHEMA,
    operations=(
        Operation(
            id="ics.list_events",
            description="Events in a window of time, each occurrence one row.",
            params_schema=PARAMS_SCHEMA,
            rows=list_events,
            columns=COLUMNS,
            check=check_params,
            label="Events",
            sample={"days": 14},
        ),
    ),
    label="Calendar (ICS)",
    normal=normalize_ref,
    hosts=get_hosts,
    connection="none",
)
