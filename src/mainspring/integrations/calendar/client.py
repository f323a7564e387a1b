"""Google Calendar API client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import orjson

from mainspring.contracts.context import HttpClient, HttpRequest
from mainspring.contracts.errors import Conflict, Expired
from mainspring.contracts.google_channels import explain_watch_error
from mainspring.contracts.manifest import resolve_base_address
from mainspring.contracts.provider_responses import (
    ProviderErrorReasons,
    format_one_line,
    list_in,
    parse_error_detail,
    parse_refusal,
    read_object,
    require_text,
)
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText

NAME: Final = "Google Calendar"
_SECONDS: Final = 30.0
_BYTES: Final = 8_000_000
_PAGE: Final = "100"
# Only the fields a page needs: whole events are several times as large.
_FIELDS: Final = (
    "nextPageToken,nextSyncToken,items(id,status,summary,description,location,start,end,"
    "originalStartTime,attendees(email,displayName,responseStatus),organizer(email,displayName),"
    "htmlLink,hangoutLink,recurringEventId,updated)"
)
# More than any account has; a server that pages without end is not followed.
_MOST_CALENDARS: Final = 2_000
_WORDS: Final = ProviderErrorReasons(
    busy=frozenset(
        {
            "rateLimitExceeded",
            "userRateLimitExceeded",
            "dailyLimitExceeded",
            "quotaExceeded",
            "calendarUsageLimitsExceeded",
            "RATE_LIMIT_EXCEEDED",
            "RESOURCE_EXHAUSTED",
        }
    ),
    reconnect=frozenset({"insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"}),
)


@dataclass(frozen=True, slots=True)
class CalendarEntry:
    """A calendar of the account."""

    id: str
    name: str
    zone: str = "UTC"


@dataclass(frozen=True, slots=True)
class EventPage:
    """A page of events, with the next page token or the sync token."""

    items: tuple[Mapping[str, Any], ...]
    next_page: str | None = None
    sync_token: str | None = None


class Calendar:
    """The API client for one base URL."""

    def __init__(self, addresses: Mapping[str, str]) -> None:
        self._base, pair = resolve_base_address(addresses, "calendar", "https://www.googleapis.com")
        self.hosts = frozenset({pair})

    async def account(self, http: HttpClient) -> str:
        """Return the account: the primary calendar's id is the account's address."""
        found = await self._call(http, "GET", "users/me/calendarList/primary")
        return require_text(found, "id", NAME)

    async def calendars(self, http: HttpClient) -> list[CalendarEntry]:
        """List all calendars of the account, hidden ones included."""
        found: list[CalendarEntry] = []
        page: str | None = None
        while len(found) < _MOST_CALENDARS:
            asked = {"maxResults": _PAGE, "showHidden": "true"}
            told = await self._call(http, "GET", "users/me/calendarList", _add_page(asked, page))
            found += [_entry(one) for one in list_in(told, "items", NAME)]
            page = _optional(told, "nextPageToken")
            if page is None:
                break
        return found

    async def events(
        self, http: HttpClient, calendar_id: str, request: Mapping[str, str], page: str | None
    ) -> EventPage:
        """List a page of events, recurring ones expanded; 410 is Expired: the sync token is old."""
        query = {
            "maxResults": _PAGE,
            "singleEvents": "true",
            "showDeleted": "true",
            "fields": _FIELDS,
            **request,
        }
        path = f"calendars/{quote(calendar_id, safe='')}/events"
        told = await self._call(http, "GET", path, _add_page(query, page))
        items = tuple(one for one in list_in(told, "items", NAME) if isinstance(one, Mapping))
        return EventPage(items, _optional(told, "nextPageToken"), _optional(told, "nextSyncToken"))

    async def event(self, http: HttpClient, calendar_id: str, event_id: str) -> dict[str, Any]:
        return await self._call(http, "GET", _event_path(calendar_id, event_id))

    async def create(
        self, http: HttpClient, calendar_id: str, event: Mapping[str, Any], send_updates: str
    ) -> str:
        """Create an event under the given id; an existing one counts as created."""
        path = f"calendars/{quote(calendar_id, safe='')}/events"
        query = {"sendUpdates": send_updates}
        response = await http.send(self._request("POST", path, query, event))
        if response.status == 409 and "duplicate" in parse_error_detail(response).reasons:
            return str(event["id"])
        problem = parse_refusal(response, NAME, _WORDS)
        if problem is not None:
            raise problem
        return require_text(read_object(response, NAME), "id", NAME)

    async def change(
        self,
        http: HttpClient,
        calendar_id: str,
        event_id: str,
        change: Mapping[str, Any],
        send_updates: str,
        etag: str | None,
    ) -> None:
        """Update an event, unless it changed since it was read (If-Match)."""
        request = self._request(
            "PATCH",
            _event_path(calendar_id, event_id),
            {"sendUpdates": send_updates},
            change,
            {} if etag is None else {"If-Match": etag},
        )
        problem = parse_refusal(await http.send(request), NAME, _WORDS)
        if isinstance(problem, Conflict):
            raise Conflict(
                "The event was changed by another person in the meantime.",
                code="event_changed",
                suggestion="Read it again, and draft the change again.",
                unsent=True,
            )
        if problem is not None:
            raise problem

    async def delete(
        self, http: HttpClient, calendar_id: str, event_id: str, send_updates: str
    ) -> bool:
        """Delete an event; False when it was already deleted."""
        path = _event_path(calendar_id, event_id)
        response = await http.send(self._request("DELETE", path, {"sendUpdates": send_updates}))
        problem = parse_refusal(response, NAME, _WORDS)
        if isinstance(problem, Expired):
            return False
        if problem is not None:
            raise problem
        return True

    async def watch(self, http: HttpClient, channel: Mapping[str, Any]) -> dict[str, Any]:
        """Have changes of the primary calendar reported to a channel."""
        response = await http.send(
            self._request("POST", "calendars/primary/events/watch", {}, channel)
        )
        problem = parse_refusal(response, NAME, _WORDS)
        if problem is not None:
            raise explain_watch_error(problem, parse_error_detail(response).reasons)
        return read_object(response, NAME)

    async def stop(self, http: HttpClient, channel: Mapping[str, Any]) -> None:
        """Stop a channel; one that has expired is stopped."""
        response = await http.send(self._request("POST", "channels/stop", {}, channel))
        problem = parse_refusal(response, NAME, _WORDS)
        if problem is not None and response.status != 404:
            raise problem

    async def _call(
        self, http: HttpClient, method: str, path: str, query: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        response = await http.send(self._request(method, path, query or {}))
        problem = parse_refusal(response, NAME, _WORDS)
        if problem is not None:
            raise problem
        return read_object(response, NAME)

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> HttpRequest:
        bearer = SecretText(("Bearer ", CONNECTION_TOKEN))
        told = {} if body is None else {"Content-Type": "application/json; charset=UTF-8"}
        return HttpRequest(
            method=method,
            url=f"{self._base}/calendar/v3/{path}",
            headers={
                "Authorization": bearer,
                "Accept": "application/json",
                **told,
                **(headers or {}),
            },
            query=query,
            body=None if body is None else orjson.dumps(body),
            timeout_seconds=_SECONDS,
            max_bytes=_BYTES,
            follow_redirects=False,
        )


def _entry(found: Any) -> CalendarEntry:
    own = require_text(found, "id", NAME)
    name = found.get("summaryOverride") or found.get("summary")
    zone = found.get("timeZone")
    return CalendarEntry(
        own,
        format_one_line(name, 200) if isinstance(name, str) else own,
        zone if isinstance(zone, str) else "UTC",
    )


def _event_path(calendar_id: str, event_id: str) -> str:
    return f"calendars/{quote(calendar_id, safe='')}/events/{quote(event_id, safe='')}"


def _add_page(request: Mapping[str, str], page: str | None) -> Mapping[str, str]:
    return request if page is None else {**request, "pageToken": page}


def _optional(found: Mapping[str, Any], name: str) -> str | None:
    value = found.get(name)
    return value if isinstance(value, str) and value else None
