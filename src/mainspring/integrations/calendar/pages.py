"""An event as the page that it becomes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.html_text import extract_html_text
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.provider_answers import format_one_line
from mainspring.integrations.calendar.client import NAME, CalendarEntry
from mainspring.integrations.calendar.events import EVENT_CHANGED
from mainspring.integrations.calendar.moments import parse_day_or_time

_LONGEST_REF: Final = 400
_MOST_ATTENDEES: Final = 200
_DESCRIPTION: Final = 200_000
_TAG: Final = re.compile(
    r"</?(a|b|br|div|em|h[1-6]|html|i|li|ol|p|span|strong|u|ul)[\s/>]", re.IGNORECASE
)


def build_source_ref(calendar_id: str, event_id: str) -> str:
    """The same for ever; ids of events may be longer than what is kept as a reference."""
    ref = f"calendar:event:{calendar_id}:{event_id}"
    if len(ref) <= _LONGEST_REF:
        return ref
    return f"calendar:event:{hashlib.sha256(ref.encode()).hexdigest()}"


def build_event_item(
    found: Mapping[str, Any], entry: CalendarEntry, news_since: datetime | None
) -> Item | UnreadableItem:
    """The page of an event; one without its id or its time is broken, unless it was cancelled.

    What was changed since ``news_since`` is told as an event; None: nothing of it is news.
    """
    own = found.get("id")
    ref = build_source_ref(entry.id, own if isinstance(own, str) else "unknown")
    status = _line(found, "status", 20) or "confirmed"
    start, end = _time(found.get("start")), _time(found.get("end"))
    if not isinstance(own, str) or (start is None and status != "cancelled"):
        detail = f"{NAME} told of an event without its id or its time."
        return UnreadableItem(ref, UpstreamError(detail, code="event_unreadable", retryable=False))
    # Of what was deleted Google may tell no more than when it would have been.
    start = start or _time(found.get("originalStartTime"))
    told = _frontmatter(found, entry, own, status, (start, end or start))
    summary = _line(found, "summary", 400) or "(no title)"
    is_news = news_since is not None and _updated(found) >= news_since
    return Item(
        source_ref=ref,
        type="calendar_event",
        title=f"Cancelled: {summary}" if status == "cancelled" else summary,
        body=_body(found, told),
        frontmatter=told,
        event=EVENT_CHANGED.type if is_news else None,
        payload=_payload(told, summary) if is_news else {},
        # One page for all its changes; each of them is told once.
        news=told["updated"] or None,
    )


def _frontmatter(
    found: Mapping[str, Any],
    entry: CalendarEntry,
    own: str,
    status: str,
    times: tuple[date | datetime | None, date | datetime | None],
) -> dict[str, Any]:
    start, end = times
    told: dict[str, Any] = {
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
        # Calendars end a day after the last one; people ask for the last one.
        has_one = end not in (start, date.min)
        told["last_day"] = (end - timedelta(days=1)).isoformat() if has_one else told["end"]
    extra = {
        "time_zone": _line(_mapping(found.get("start")), "timeZone", 80),
        "recurring_event_id": _line(found, "recurringEventId", 300),
        "meeting_link": _line(found, "hangoutLink", 2_000),
    }
    return told | {name: value for name, value in extra.items() if value}


def _payload(told: Mapping[str, Any], summary: str) -> dict[str, Any]:
    names = ("event_id", "calendar_id", "calendar", "start", "end", "status", "html_link")
    return {"summary": summary, **{name: told[name] for name in (*names, "updated")}}


def _body(found: Mapping[str, Any], told: Mapping[str, Any]) -> str:
    when = told["start"] if told["start"] == told["end"] else f"{told['start']} – {told['end']}"
    if told["all_day"]:
        first, last = told["start"], told.get("last_day", told["start"])
        when = first if first == last else f"{first} – {last}"
    people = ", ".join(one["email"] or one["name"] for one in told["attendees"])
    lines = (
        ("When", when),
        ("Where", told["location"]),
        ("Calendar", told["calendar"]),
        ("Organizer", told["organizer"]),
        ("Attendees", people),
        ("Meeting", told.get("meeting_link", "")),
    )
    head = "\n".join(f"{name}: {value}" for name, value in lines if value)
    return f"{head}\n\n{_described(found.get('description'))}".strip()


def _described(said: Any) -> str:
    """What the event says; Google writes some as HTML and some as text with < and > in it."""
    if not isinstance(said, str):
        return ""
    text = extract_html_text(said.replace("\n", "<br>")) if _TAG.search(said) else said.strip()
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


def _updated(found: Mapping[str, Any]) -> datetime:
    """When it was changed; what does not say so was changed just now."""
    value = parse_day_or_time(found.get("updated"))
    aware = isinstance(value, datetime) and value.tzinfo is not None
    return value if isinstance(value, datetime) and aware else datetime.max.replace(tzinfo=UTC)


def _line(found: Mapping[str, Any], name: str, most: int) -> str:
    value = found.get(name)
    return format_one_line(value, most) if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
