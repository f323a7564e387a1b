"""Google Calendar over real HTTP: windows are whole, changes are found, writes are made once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    Conflict,
    Invalid,
    NotFound,
    Problem,
    ReconnectRequired,
    UpstreamError,
)
from mainspring.contracts.integration import Integration, Item, UnreadableItem
from mainspring.contracts.limits import Limits
from mainspring.integrations.calendar import integration
from tests.kit.doubles.calendar import OURS, CalendarDouble, calendar_double
from tests.kit.doubles.google import TOKEN, busy, failed, refusal, scope_missing
from tests.kit.handler_context import visiting
from tests.kit.ingestion_paging import Still, all_portions
from tests.kit.scripted_server import http_answer

NOW = datetime(2026, 6, 1, 12, 0, tzinfo=UTC)
ADA, TEAM = "ada@example.com", "team#x@group.calendar.google.com"
JUNE = {"start": "2026-06-01", "end": "2026-06-07"}
INSERT = f"POST {OURS}calendars/{ADA}/events"
NINE = {"dateTime": "2026-06-02T09:00:00+02:00", "timeZone": "Europe/Berlin"}
TEN = {"dateTime": "2026-06-02T10:00:00+02:00", "timeZone": "Europe/Berlin"}


@dataclass(slots=True)
class CalendarConnection:
    """Two calendars, and the integration that is connected to them."""

    double: CalendarDouble
    built: Integration
    ctx: CallContext

    async def window(self, **given: str) -> list[Item | UnreadableItem]:
        return (await all_portions(self.built.sources[0].read, self.ctx, given))[0]

    async def looked(self, cursor: Any) -> tuple[list[Item | UnreadableItem], Any]:
        found, portions = await all_portions(self.built.polls[0].read, self.ctx, {}, cursor)
        return found, portions[-1].cursor

    async def call(self, at: int, **value: Any) -> Any:
        return await self.built.capabilities[at].handler(self.ctx, value)


@asynccontextmanager
async def visit(key: str = "run/1/make") -> AsyncIterator[CalendarConnection]:
    async with (
        calendar_double() as double,
        visiting(
            double.pair,
            integration="calendar",
            secrets={"token": TOKEN},
            account=ADA,
            clock=Still(NOW),
            limits=Limits(http_response_bytes=2_000_000),
            key=key,
        ) as ctx,
    ):
        double.calendar(ADA, "Ada", "Europe/Berlin")
        double.calendar(TEAM, "Team", "America/New_York")
        yield CalendarConnection(double, integration({"calendar": double.url}), ctx)


def _refs(found: list[Item | UnreadableItem]) -> list[str]:
    return sorted(one.source_ref.removeprefix("calendar:event:") for one in found)


def _told(found: list[Item | UnreadableItem]) -> list[str]:
    return [one.payload["event_id"] for one in found if isinstance(one, Item) and one.event]


async def test_a_window_is_whole_over_all_calendars_and_all_pages() -> None:
    async with visit() as one:
        double = one.double
        double.page_size = 2
        for at in range(5):
            day = f"2026-06-0{at + 1}T08:00:00Z"
            double.put(
                ADA,
                f"standup_{at}",
                summary="Stand-up",
                recurringEventId="standup",
                start={"dateTime": day},
                end={"dateTime": day.replace("08", "09")},
            )
        guests = [
            {"email": "noah@example.com", "displayName": "Noah", "responseStatus": "accepted"}
        ]
        text = "Bring <b>cake</b><br>Ask <ada@example.com>"
        double.put(
            TEAM,
            "plan",
            summary="Planning",
            location="Room 1",
            start=NINE,
            end=TEN,
            attendees=guests,
            organizer={"email": ADA},
            description=text,
        )
        double.put(
            TEAM, "off", summary="Off", start={"date": "2026-06-07"}, end={"date": "2026-06-08"}
        )
        double.put(TEAM, "gone", status="cancelled")
        double.put(
            TEAM, "july", summary="July", start={"date": "2026-07-01"}, end={"date": "2026-07-02"}
        )
        found = await one.window(**JUNE)
        assert _refs(found) == sorted(
            [
                *(f"{ADA}:standup_{at}" for at in range(5)),
                *(f"{TEAM}:{x}" for x in ("gone", "off", "plan")),
            ]
        )
        pages = {item.frontmatter["event_id"]: item for item in found if isinstance(item, Item)}
        result = pages["plan"].frontmatter
        assert (result["start"], result["end"]) == (
            "2026-06-02T09:00:00+02:00",
            "2026-06-02T10:00:00+02:00",
        )
        assert (result["location"], result["calendar"], result["organizer"]) == (
            "Room 1",
            "Team",
            ADA,
        )
        assert result["attendees"] == [
            {"email": "noah@example.com", "name": "Noah", "response": "accepted"}
        ]
        assert (result["all_day"], result["status"]) == (False, "confirmed")
        assert "Bring cake" in pages["plan"].body
        result = pages["off"].frontmatter
        assert (result["start"], result["end"], result["last_day"]) == (
            "2026-06-07",
            "2026-06-08",
            "2026-06-07",
        )
        assert (result["all_day"], "When: 2026-06-07\n" in pages["off"].body) == (True, True)
        assert pages["gone"].title == "Cancelled: (no title)"
        # Days are days where the calendar is: the one in New York ends four hours later.
        ends = {
            asked.path: asked.query["timeMax"] for asked in double.asked if "timeMax" in asked.query
        }
        assert ends[f"{OURS}calendars/{ADA}/events"] == "2026-06-07T22:00:00Z"
        assert ends[f"{OURS}calendars/{TEAM}/events"] == "2026-06-08T04:00:00Z"


async def test_what_is_broken_is_reported_and_the_rest_is_there() -> None:
    async with visit() as one:
        one.double.put(ADA, "good", summary="Good", start=NINE, end=TEN)
        one.double.events[ADA]["bad"] = {"id": "bad", "status": "confirmed", "summary": "No time"}
        events = f"GET {OURS}calendars/{TEAM}/events"
        one.double.planned = {events: [refusal(403, "forbidden", "No access")]}
        found = await one.window(**JUNE)
        broken = {
            item.source_ref: item.problem.code for item in found if isinstance(item, UnreadableItem)
        }
        assert broken == {
            f"calendar:event:{ADA}:bad": "event_unreadable",
            f"calendar:calendar:{TEAM}": "provider_403",
        }
        for result, kind in ((busy(9), UpstreamError), (scope_missing(), ReconnectRequired)):
            one.double.planned = {events: [result]}
            with pytest.raises(kind):
                await one.window(**JUNE)
        one.double.planned = {f"GET {OURS}users/me/calendarList": [http_answer(200, b"[1]")]}
        with pytest.raises(UpstreamError, match="does not match the API"):
            await one.window(**JUNE)
        with pytest.raises(Invalid) as caught:
            await one.window(start="2026-06-07", end="2026-06-01")
        assert caught.value.findings[0].pointer == "/end"
        assert await one.built.account(one.ctx) == ADA


async def test_a_poll_tells_changes_once_and_reads_a_calendar_anew_when_its_token_is_old() -> None:
    async with visit() as one:
        double = one.double
        double.put(
            ADA, "old", summary="Old", start={"date": "2025-01-01"}, end={"date": "2025-01-02"}
        )
        double.put(ADA, "a", summary="A", start=NINE, end=TEN, updated="2026-05-01T00:00:00Z")
        double.put(TEAM, "b", summary="B", start=NINE, end=TEN, updated="2026-05-01T00:00:00Z")
        found, cursor = await one.looked(None)
        assert (_refs(found), _told(found)) == ([f"{ADA}:a", f"{TEAM}:b"], [])
        assert (await one.looked(cursor))[0] == []

        double.page_size = 1
        double.put(ADA, "a", summary="A later", updated="2026-06-01T12:01:00Z")
        double.put(ADA, "c", summary="C", start=NINE, end=TEN)
        double.put(TEAM, "b", status="cancelled", updated="2026-06-01T12:02:00Z")
        found, moved = await one.looked(cursor)
        assert sorted(_told(found)) == ["a", "b", "c"]
        news = {item.frontmatter["event_id"]: item.news for item in found if isinstance(item, Item)}
        assert news["a"] == "2026-06-01T12:01:00Z"
        cancelled = [
            item for item in found if isinstance(item, Item) and item.title == "Cancelled: B"
        ]
        assert len(cancelled) == 1

        # Google forgets; one calendar is new and one has gone from the list.
        double.oldest = double.number + 1
        del double.calendars[TEAM]
        double.calendar("new@example.com", "New")
        double.put(ADA, "d", summary="D", start=NINE, end=TEN, updated="2026-06-01T12:05:00Z")
        found, cursor = await one.looked(moved)
        assert "d" in _told(found)
        assert set(cursor["known"]) == {ADA, "new@example.com"}
        double.oldest = 0
        assert (await one.looked(cursor))[0] == []


async def test_the_window_of_a_poll_moves_on_with_time() -> None:
    async with visit() as one:
        double, clock = one.double, one.ctx.clock
        assert isinstance(clock, Still)

        def day(at: datetime) -> dict[str, str]:
            return {"date": f"{at:%Y-%m-%d}"}

        def event(name: str, at: datetime, updated: datetime) -> None:
            end = day(at + timedelta(days=1))
            double.put(
                ADA,
                name,
                summary=name,
                start=day(at),
                end=end,
                updated=f"{updated:%Y-%m-%dT%H:%M:%SZ}",
            )

        year = timedelta(days=365)
        event("in a year", NOW + year - timedelta(days=1), NOW - year)
        event("in two years", NOW + 2 * year, NOW - year)
        found, cursor = await one.looked(None)
        assert _refs(found) == [f"{ADA}:in a year"]

        # Month after month there are always the events of a whole year ahead.
        names: set[str] = set()
        for month in range(1, 14):
            clock.at = NOW + month * timedelta(days=30)
            event(f"new {month}", clock.at + year - timedelta(days=1), clock.at)
            found, cursor = await one.looked(cursor)
            assert f"new {month}" in _told(found)
            names |= {ref.partition(":")[2] for ref in _refs(found)}
            # A look soon after it reads nothing again.
            found, cursor = await one.looked(cursor)
            assert found == []
        assert "in two years" in names


async def test_a_cursor_of_before_is_read_anew_once() -> None:
    """Cursors that were kept without their window may have one that ended long ago."""
    async with visit() as one:
        one.double.put(ADA, "a", summary="A", start=NINE, end=TEN, updated="2026-05-01T00:00:00Z")
        one.double.put(
            ADA,
            "far",
            summary="Far",
            start={"date": "2027-05-01"},
            end={"date": "2027-05-02"},
            updated="2026-05-01T00:00:00Z",
        )
        old = "sync-2|2025-01-01T00:00:00Z|2026-01-01T00:00:00Z"
        stored = {"known": {ADA: old, TEAM: old}, "seen_at": NOW.isoformat()}
        found, cursor = await one.looked(stored)
        assert (_refs(found), _told(found)) == ([f"{ADA}:a", f"{ADA}:far"], [])
        asked = len(one.double.asked)
        assert (await one.looked(cursor))[0] == []
        # The list of calendars, and the changes of each.
        assert len(one.double.asked) == asked + 3


async def test_an_event_is_made_once_changed_with_care_and_deleted() -> None:
    async with visit() as one:
        given = {
            "summary": "Planning",
            "start": "2026-06-02T09:00:00",
            "end": "2026-06-02T10:00:00",
            "time_zone": "Europe/Berlin",
            "attendees": ["noah@example.com"],
            "send_updates": "all",
            "location": "Room 1",
            "calendar_id": ADA,
        }
        one.double.planned = {INSERT: [failed()]}
        with pytest.raises(UpstreamError) as lost:
            await one.call(0, **given)
        assert lost.value.unsent is None
        made = await one.call(0, **given)
        # The same call once more: Google has it already.
        assert await one.call(0, **given) == made
        (sent,) = one.double.messages
        assert sent["start"] == {"dateTime": "2026-06-02T09:00:00", "timeZone": "Europe/Berlin"}
        assert (sent["sendUpdates"], sent["attendees"]) == ("all", [{"email": "noah@example.com"}])

        own = made["event_id"]
        one.double.events[ADA][own]["attendees"][0]["responseStatus"] = "accepted"
        change = {
            "event_id": own,
            "start": "2026-06-03",
            "end": "2026-06-04",
            "calendar_id": ADA,
            "attendees": ["Noah@example.com", "bo@example.com"],
        }
        assert await one.call(1, **change) == {"modified_count": 1}
        sent = one.double.messages[-1]
        assert sent["start"] == {"date": "2026-06-03", "dateTime": None, "timeZone": None}
        assert sent["attendees"] == [
            {"email": "noah@example.com", "responseStatus": "accepted"},
            {"email": "bo@example.com"},
        ]
        assert "summary" not in sent
        patch = f"PATCH {OURS}calendars/{ADA}/events/{own}"
        one.double.planned = {patch: [refusal(412, "conditionNotMet")]}
        with pytest.raises(Conflict, match="The event was changed") as clash:
            await one.call(1, **change)
        assert clash.value.unsent is True

        gone = {"event_id": own, "calendar_id": ADA}
        assert await one.call(2, **gone) == {"modified_count": 1}
        assert await one.call(2, **gone) == {"modified_count": 0}
        with pytest.raises(NotFound, match="was deleted"):
            await one.call(1, **change)


async def test_a_write_that_was_refused_says_that_nothing_has_happened() -> None:
    async with visit() as one:
        good = {"summary": "x", "start": "2026-06-02", "end": "2026-06-03", "calendar_id": ADA}

        async def problem(at: int, **value: Any) -> Problem:
            with pytest.raises(Problem) as caught:
                await one.call(at, **value)
            return caught.value

        one.double.planned = {
            INSERT: [
                busy(4),
                refusal(403, "forbiddenForNonOrganizer", "Not yours"),
                refusal(403, "rateLimitExceeded"),
                refusal(409, "conflict"),
            ]
        }
        result = [await problem(0, **good) for _ in range(4)]
        assert [one.unsent for one in result] == [True] * 4
        assert [one.code for one in result] == [
            "provider_busy",
            "provider_403",
            "provider_busy",
            "provider_409",
        ]
        bad = await problem(0, **{**good, "end": "2026-06-02"})
        assert (bad.findings[0].pointer, bad.unsent) == ("/end", True)
        assert (await problem(1, event_id="none", summary="y")).unsent is True
        assert (await problem(1, event_id="none")).code == "event_unchanged"
        assert (await problem(2, event_id="none")).code == "provider_404"
