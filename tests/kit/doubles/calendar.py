"""Google Calendar's API v3 on loopback: calendars, windows, sync tokens and writes."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tests.kit.doubles.google import GoogleDouble, ReceivedRequest, answer, refusal
from tests.kit.scripted_server import http_answer, serving

OURS = "/calendar/v3/"
_LIST = ("users", "me", "calendarList")
# These may not be combined with a sync token.
_FILTERS = {"timeMin", "timeMax", "orderBy", "q", "updatedMin", "iCalUID"}


def _moment(result: dict[str, str]) -> datetime:
    return datetime.fromisoformat(result.get("dateTime") or f"{result['date']}T00:00:00+00:00")


def _within(event: dict[str, Any], lower: datetime, upper: datetime) -> bool:
    """A deleted event has no time, and matches every window."""
    if "start" not in event:
        return True
    return _moment(event["end"]) > lower and _moment(event["start"]) < upper


@dataclass(slots=True)
class CalendarDouble(GoogleDouble):
    """Calendars by id, each with its events, recurring ones taken apart already."""

    calendars: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    # Each change with its number; a sync token is such a number.
    changes: list[tuple[int, str, str]] = field(default_factory=list)
    oldest: int = 0
    number: int = 0
    page_size: int = 250

    def calendar(self, calendar_id: str, summary: str, zone: str = "UTC") -> None:
        self.calendars[calendar_id] = {"id": calendar_id, "summary": summary, "timeZone": zone}
        self.events[calendar_id] = {}

    def put(self, calendar_id: str, event_id: str, **event: Any) -> None:
        """An event is made, or changed."""
        self.number += 1
        known = self.events[calendar_id].get(event_id, {})
        self.events[calendar_id][event_id] = {
            "kind": "calendar#event",
            "status": "confirmed",
            "updated": "2026-06-01T12:00:00.000Z",
            "htmlLink": f"https://calendar/{event_id}",
            **known,
            **event,
            "id": event_id,
            "etag": f'"{self.number}"',
        }
        self.changes.append((self.number, calendar_id, event_id))

    def _reply(self, asked: ReceivedRequest) -> bytes:
        if not asked.path.startswith(OURS):
            return refusal(404, "notFound", "Not Found")
        parts = tuple(asked.path.removeprefix(OURS).split("/"))
        if parts[:3] == _LIST and asked.method == "GET":
            return self._listed(parts, asked)
        if parts == ("channels", "stop") and asked.method == "POST":
            return self.stop_channel(asked)
        if parts[0] != "calendars" or parts[2:3] != ("events",):
            return refusal(404, "notFound", "Not Found")
        own = next(iter(self.calendars), "") if parts[1] == "primary" else parts[1]
        if own not in self.calendars:
            return refusal(404, "notFound", "Not Found")
        if len(parts) == 3:
            return self._insert(own, asked) if asked.method == "POST" else self._list(own, asked)
        if parts[3] == "watch" and asked.method == "POST":
            return self.watch(asked)
        return self._one(own, parts[3], asked)

    def _listed(self, parts: tuple[str, ...], asked: ReceivedRequest) -> bytes:
        rows = list(self.calendars.values())
        if len(parts) == 4:
            return answer(rows[0]) if parts[3] == "primary" else refusal(404, "notFound")
        assert asked.query["showHidden"] == "true"
        return answer(self._paged(rows, asked))

    def _paged(self, rows: list[Any], asked: ReceivedRequest) -> dict[str, Any]:
        start = int(asked.query.get("pageToken", "p0").removeprefix("p"))
        end = start + min(int(asked.query["maxResults"]), self.page_size)
        shown: dict[str, Any] = {"items": rows[start:end]}
        if end < len(rows):
            shown["nextPageToken"] = f"p{end}"
        return shown

    def _list(self, own: str, asked: ReceivedRequest) -> bytes:
        query = asked.query
        if query.get("singleEvents") != "true" or query.get("showDeleted") != "true":
            return refusal(400, "badRequest", "Bad Request")
        found = list(self.events[own].values())
        if "syncToken" in query:
            if _FILTERS & query.keys():
                return refusal(400, "badRequest", "Sync token cannot be used with filters.")
            number, lower, upper = query["syncToken"].removeprefix("sync-").split("|")
            since = int(number)
            if since < self.oldest:
                return refusal(410, "fullSyncRequired", "Sync token is no longer valid.")
            ids = dict.fromkeys(
                one for at, place, one in self.changes if at > since and place == own
            )
            found = [self.events[own][one] for one in ids]
        else:
            lower, upper = query["timeMin"], query["timeMax"]
        # The window of the first request stays in its sync token, and does not move with time.
        first, last = datetime.fromisoformat(lower), datetime.fromisoformat(upper)
        found = [one for one in found if _within(one, first, last)]
        shown = self._paged(found, asked)
        if "nextPageToken" not in shown:
            shown["nextSyncToken"] = f"sync-{self.number}|{lower}|{upper}"
        return answer({"kind": "calendar#events", **shown})

    def _insert(self, own: str, asked: ReceivedRequest) -> bytes:
        event = asked.json
        assert asked.query["sendUpdates"] in {"all", "externalOnly", "none"}
        if not set(event["id"]) <= set("0123456789abcdefghijklmnopqrstuv"):
            return refusal(400, "invalid", "Invalid resource id value.")
        if event["id"] in self.events[own]:
            return refusal(409, "duplicate", "The requested identifier already exists.")
        if _moment(event["end"]) <= _moment(event["start"]):
            return refusal(400, "timeRangeEmpty", "The specified time range is empty.")
        self.messages.append({"sendUpdates": asked.query["sendUpdates"], **event})
        self.put(own, **{**event, "event_id": event["id"]})
        return answer(self.events[own][event["id"]])

    def _one(self, own: str, event_id: str, asked: ReceivedRequest) -> bytes:
        event = self.events[own].get(event_id)
        if event is None:
            return refusal(404, "notFound", "Not Found")
        if asked.method == "DELETE":
            if event["status"] == "cancelled":
                return refusal(410, "deleted", "Resource has been deleted")
            self.put(own, event_id, status="cancelled")
            return http_answer(204, b"")
        if asked.method == "PATCH":
            if asked.headers.get("if-match", event["etag"]) != event["etag"]:
                return refusal(412, "conditionNotMet", "Precondition Failed")
            self.messages.append({"sendUpdates": asked.query["sendUpdates"], **asked.json})
            self.put(own, event_id, **asked.json)
        return answer(self.events[own][event_id])


@contextlib.asynccontextmanager
async def calendar_double() -> AsyncIterator[CalendarDouble]:
    """Serves on a free port of loopback until the block ends."""
    async with serving(CalendarDouble()) as double:
        yield double
