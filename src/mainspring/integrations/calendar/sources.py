"""Calendar sources: all events of a time window, and incremental changes on a schedule.

A poll keeps a sync token per calendar. When Google expires it, that calendar is read again in full,
and unchanged pages are not rewritten. The window of the first request is fixed in the token and
does not move. So its end is stored too, and before less than a year remains the calendar is read
again with a later window.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Expired, Problem, ReconnectRequired, UpstreamError
from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.integration import Item, ItemBatch, Poll, Source, UnreadableItem
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.partial_results import read_one
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.calendar.client import NAME, Calendar, CalendarEntry, EventPage
from mainspring.integrations.calendar.events import EVENT_CHANGED
from mainspring.integrations.calendar.times import parse_day_or_time, parse_window, read_window

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext


# Mapping an event to a page.

_LONGEST_REF: Final = 400
_MOST_ATTENDEES: Final = 200
_DESCRIPTION: Final = 200_000
_TAG: Final = re.compile(
    r"</?(a|b|br|div|em|h[1-6]|html|i|li|ol|p|span|strong|u|ul)[\s/>]", re.IGNORECASE
)


def build_source_ref(calendar_id: str, event_id: str) -> str:
    """Build a stable reference; event ids may be longer than the column allows."""
    ref = f"calendar:event:{calendar_id}:{event_id}"
    if len(ref) <= _LONGEST_REF:
        return ref
    return f"calendar:event:{hashlib.sha256(ref.encode()).hexdigest()}"


def build_event_item(
    found: Mapping[str, Any], entry: CalendarEntry, news_since: datetime | None
) -> Item | UnreadableItem:
    """Build an event's page; one without id or time is unreadable, unless cancelled.

    Changes since ``news_since`` are published as events; None: none are.
    """
    own = found.get("id")
    ref = build_source_ref(entry.id, own if isinstance(own, str) else "unknown")
    status = _line(found, "status", 20) or "confirmed"
    start, end = _time(found.get("start")), _time(found.get("end"))
    if not isinstance(own, str) or (start is None and status != "cancelled"):
        detail = f"{NAME} told of an event without its id or its time."
        return UnreadableItem(ref, UpstreamError(detail, code="event_unreadable", retryable=False))
    # A deleted event may only have its original start time.
    start = start or _time(found.get("originalStartTime"))
    result = _frontmatter(found, entry, own, status, (start, end or start))
    summary = _line(found, "summary", 400) or "(no title)"
    is_news = news_since is not None and _read_updated_at(found) >= news_since
    return Item(
        source_ref=ref,
        type="calendar_event",
        title=f"Cancelled: {summary}" if status == "cancelled" else summary,
        body=_body(found, result),
        frontmatter=result,
        event=EVENT_CHANGED.type if is_news else None,
        payload=_payload(result, summary) if is_news else {},
        # One page for all changes; each change is published once.
        news=result["updated"] or None,
    )


def _frontmatter(
    found: Mapping[str, Any],
    entry: CalendarEntry,
    own: str,
    status: str,
    times: tuple[date | datetime | None, date | datetime | None],
) -> dict[str, Any]:
    start, end = times
    result: dict[str, Any] = {
        "event_id": own,
        "calendar": entry.name,
        "calendar_id": entry.id,
        "start": "" if start is None else start.isoformat(),
        "end": "" if end is None else end.isoformat(),
        "all_day": start is not None and not isinstance(start, datetime),
        "status": status,
        "location": _line(found, "location", 1_000),
        "organizer": _person(found.get("organizer")),
        "attendees": _attendees(found.get("attendees")),
        "html_link": _line(found, "htmlLink", 2_000),
        "updated": _line(found, "updated", 40),
    }
    if end is not None and not isinstance(end, datetime):
        # All-day events end on the day after; people expect the last day.
        has_one = end not in (start, date.min)
        result["last_day"] = (end - timedelta(days=1)).isoformat() if has_one else result["end"]
    extra = {
        "time_zone": _line(_mapping(found.get("start")), "timeZone", 80),
        "recurring_event_id": _line(found, "recurringEventId", 300),
        "meeting_link": _line(found, "hangoutLink", 2_000),
    }
    return result | {name: value for name, value in extra.items() if value}


def _payload(result: Mapping[str, Any], summary: str) -> dict[str, Any]:
    names = ("event_id", "calendar_id", "calendar", "start", "end", "status", "html_link")
    return {"summary": summary, **{name: result[name] for name in (*names, "updated")}}


def _body(found: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    when = (
        result["start"]
        if result["start"] == result["end"]
        else f"{result['start']} – {result['end']}"
    )
    if result["all_day"]:
        first, last = result["start"], result.get("last_day", result["start"])
        when = first if first == last else f"{first} – {last}"
    people = ", ".join(one["email"] or one["name"] for one in result["attendees"])
    lines = (
        ("When", when),
        ("Where", result["location"]),
        ("Calendar", result["calendar"]),
        ("Organizer", result["organizer"]),
        ("Attendees", people),
        ("Meeting", result.get("meeting_link", "")),
    )
    head = "\n".join(f"{name}: {value}" for name, value in lines if value)
    return f"{head}\n\n{_read_description(found.get('description'))}".strip()


def _read_description(answer: Any) -> str:
    """Return the description; Google has HTML in some, and plain text with < and > in others."""
    if not isinstance(answer, str):
        return ""
    text = (
        extract_html_text(answer.replace("\n", "<br>")) if _TAG.search(answer) else answer.strip()
    )
    return text[:_DESCRIPTION]


def _attendees(found: Any) -> list[dict[str, Any]]:
    people = [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []
    return [
        {
            "email": _line(one, "email", 254),
            "name": _line(one, "displayName", 200),
            "response": _line(one, "responseStatus", 40),
        }
        for one in people[:_MOST_ATTENDEES]
    ]


def _person(found: Any) -> str:
    one = _mapping(found)
    return _line(one, "email", 254) or _line(one, "displayName", 200)


def _time(found: Any) -> date | datetime | None:
    one = _mapping(found)
    value = parse_day_or_time(one.get("dateTime", one.get("date")))
    return None if isinstance(value, datetime) and value.tzinfo is None else value


def _read_updated_at(found: Mapping[str, Any]) -> datetime:
    """Return the modification time; now when missing."""
    value = parse_day_or_time(found.get("updated"))
    aware = isinstance(value, datetime) and value.tzinfo is not None
    return value if isinstance(value, datetime) and aware else datetime.max.replace(tzinfo=UTC)


def _line(found: Mapping[str, Any], name: str, most: int) -> str:
    value = found.get(name)
    return format_one_line(value, most) if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# How far a full read goes back, and how far ahead events are always known.
_BACK: Final = timedelta(days=30)
_AHEAD: Final = timedelta(days=365)
# Extra lookahead, so that the next full read is only needed after that time.
_SPARE: Final = timedelta(days=30)
_FRESH: Final = timedelta(hours=1)
_WHEN: Final[dict[str, Any]] = {"type": "string", "minLength": 10, "maxLength": 40}
INPUT: Final = build_object_schema(
    {
        "start": {
            **_WHEN,
            "description": "A date, such as 2026-06-01, or a date and time with its offset.",
        },
        "end": {**_WHEN, "description": "A date, which is the last one, or a date and time."},
    },
    ["start", "end"],
    [
        {"start": "2026-06-01", "end": "2026-06-07"},
        {"start": "2026-06-01T00:00:00Z", "end": "2026-06-08T00:00:00Z"},
    ],
    [
        ({"start": "2026-06-01"}, "a window has an end"),
        ({"query": "next week"}, "a window, and not words"),
    ],
)


def build_events_source(calendar: Calendar) -> Source:
    """Build the source of all events in a window, in every calendar."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        window = read_window(given)
        queue = [_parse_calendar_entry(one) for one in (cursor or {}).get("queue", ())]
        if cursor is None:
            queue = await calendar.calendars(ctx.http)
        if not queue:
            return ItemBatch(())
        first, page = queue[0], (cursor or {}).get("page")
        start, end = window.within(first.zone)
        asked = {"timeMin": start, "timeMax": end}
        items, found = await _page(calendar, ctx, first, asked, page, ctx.clock.now() - _FRESH)
        if found is not None and found.next_page is not None:
            return ItemBatch(items, {**_queue(queue), "page": found.next_page}, more=True)
        rest = queue[1:]
        return ItemBatch(items, _queue(rest) if rest else None, more=bool(rest))

    return Source("calendar", INPUT, read, _from_request, most=None)


def build_changes_poll(calendar: Calendar) -> Poll:
    """Build the poll for changes in any calendar."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del given
        kept = dict(cursor or {})
        known: dict[str, str] = dict(kept.get("known", {}))
        until: dict[str, str] = dict(kept.get("until", {}))
        queue = [_parse_calendar_entry(one) for one in kept.get("queue", ())]
        if not queue:
            # A new poll: list the current calendars.
            queue = await calendar.calendars(ctx.http)
            known = {one.id: known[one.id] for one in queue if one.id in known}
            until = {one: until[one] for one in known if one in until}
            kept = {"seen_at": kept.get("seen_at"), "began_at": ctx.clock.now().isoformat()}
        if not queue:
            return ItemBatch((), {"known": {}, "seen_at": kept["began_at"]})
        own = queue[0].id
        items, found = await _changes(calendar, ctx, queue[0], known, kept)
        windows = {"known": known, "until": until}
        if found is not None and found.next_page is not None:
            kept |= {"page": found.next_page, **windows, **_queue(queue)}
            return ItemBatch(items, kept, more=True)
        whole = kept.get("to")
        kept = {name: kept[name] for name in ("seen_at", "began_at")}
        if found is not None and found.sync_token is not None:
            if own in known and _ends_soon(until.get(own), ctx.clock.now()):
                del known[own]
                return ItemBatch(items, {**kept, **windows, **_queue(queue)}, more=True)
            known[own] = found.sync_token
            until |= {own: whole} if whole else {}
        if queue[1:]:
            return ItemBatch(items, {**kept, **windows, **_queue(queue[1:])}, more=True)
        return ItemBatch(items, {**windows, "seen_at": kept["began_at"]})

    return Poll("events", "Events that are new, changed or cancelled, in every calendar.", read)


async def _changes(
    calendar: Calendar,
    ctx: CallContext,
    one: CalendarEntry,
    known: dict[str, str],
    kept: dict[str, Any],
) -> tuple[list[Item | UnreadableItem], EventPage | None]:
    """Read a page of changes of a calendar; a new calendar is read in full."""
    seen = parse_day_or_time(kept.get("seen_at"))
    news_since = seen - _FRESH if isinstance(seen, datetime) else None
    if one.id in known:
        asked = {"syncToken": known[one.id]}
        try:
            return await _page(calendar, ctx, one, asked, kept.get("page"), news_since)
        except Expired:
            # The sync token expired: read the calendar in full.
            del known[one.id]
            kept.pop("page", None)
    if "from" not in kept:
        now = ctx.clock.now()
        kept["from"], kept["to"] = _stamp(now - _BACK), _stamp(now + _AHEAD + _SPARE)
    asked = {"timeMin": kept["from"], "timeMax": kept["to"]}
    return await _page(calendar, ctx, one, asked, kept.get("page"), news_since)


async def _page(
    calendar: Calendar,
    ctx: CallContext,
    one: CalendarEntry,
    request: Mapping[str, str],
    page: str | None,
    news_since: datetime | None,
) -> tuple[list[Item | UnreadableItem], EventPage | None]:
    """Read a page of a calendar; an inaccessible one is reported, and the others continue."""
    try:
        found = await calendar.events(ctx.http, one.id, request, page)
    except (ReconnectRequired, Expired):
        raise
    except Problem as problem:
        if problem.retryable:
            raise
        return [UnreadableItem(f"calendar:calendar:{one.id}", problem)], None
    at = f"calendar:calendar:{one.id}:unreadable"
    items = [
        read_one(f"{at}:{n}", partial(build_event_item, event, one, news_since))
        for n, event in enumerate(found.items)
    ]
    return items, found


def _ends_soon(until: str | None, now: datetime) -> bool:
    """Report whether a window ends in less than a year; an unknown one may have ended."""
    return until is None or until < _stamp(now + _AHEAD)


def _queue(queue: list[CalendarEntry]) -> dict[str, Any]:
    return {"queue": [{"id": one.id, "name": one.name, "zone": one.zone} for one in queue]}


def _parse_calendar_entry(one: Mapping[str, Any]) -> CalendarEntry:
    return CalendarEntry(str(one["id"]), str(one["name"]), str(one["zone"]))


def _stamp(timestamp: datetime) -> str:
    return timestamp.strftime("%Y-%m-%dT%H:%M:%SZ")


def _from_request(request: str, now: datetime) -> dict[str, Any]:
    """Parse two dates from a sentence; phrases such as next week are not supported."""
    del now
    return dict(parse_window(request))
