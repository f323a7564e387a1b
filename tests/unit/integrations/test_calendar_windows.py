"""Windows of a calendar, times of events, and searches of a drive: pure readings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.integration import Item
from mainspring.integrations.calendar.capabilities import (
    build_event_id,
    create_preview,
    delete_preview,
    update_preview,
)
from mainspring.integrations.calendar.client import CalendarEntry
from mainspring.integrations.calendar.sources import build_event_item, build_source_ref
from mainspring.integrations.calendar.times import find_time_problems, parse_window, read_window
from mainspring.integrations.drive.sources import (
    build_file_item,
    build_since_query,
    build_words_query,
    quote_query_text,
)
from tests.kit.doubles.drive import unquoted


@pytest.mark.parametrize(
    ("request_text", "start", "end"),
    [
        ("events from 2026-06-01 through 2026-06-07", "2026-06-01", "2026-06-07"),
        ("2026-06-01..2026-06-01", "2026-06-01", "2026-06-01"),
        (
            "between 2026-06-01T09:00Z and 2026-06-01T17:30:00+02:00, please",
            "2026-06-01T09:00Z",
            "2026-06-01T17:30:00+02:00",
        ),
    ],
)
def test_two_dates_of_a_sentence_are_a_window(request_text: str, start: str, end: str) -> None:
    assert parse_window(request_text) == {"start": start, "end": end}


@pytest.mark.parametrize(
    "request_text",
    [
        "next week",
        "from 2026-06-01",
        "2026-06-01 2026-06-02 2026-06-03",
        "2026-06-07 to 2026-06-01",
        "2026-13-01 to 2026-13-02",
        "id-2026-06-01-x 2026-06-02",
    ],
)
def test_any_other_sentence_is_refused_with_what_to_write(request_text: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_window(request_text)
    assert caught.value.findings


@pytest.mark.parametrize(
    ("arguments", "pointers"),
    [
        ({"start": "2026-06-01", "end": "2026-05-31"}, ["/end"]),
        ({"start": "2026-06-01T10:00:00Z", "end": "2026-06-01T10:00:00Z"}, ["/end"]),
        ({"start": "2026-06-01T10:00:00", "end": "tomorrow"}, ["/start", "/end"]),
        ({"start": "2026-02-30", "end": "20260601"}, ["/start", "/end"]),
        ({"start": 5}, ["/start", "/end"]),
        ({"start": "2000-01-01", "end": "2026-01-01"}, ["/end"]),
    ],
)
def test_a_window_that_cannot_be_is_refused_with_its_place(
    arguments: dict[str, Any], pointers: list[str]
) -> None:
    with pytest.raises(Invalid) as caught:
        read_window(arguments)
    assert [one.pointer for one in caught.value.findings] == pointers


def test_days_are_those_of_the_zone_also_when_clocks_are_set() -> None:
    window = read_window({"start": "2026-03-29", "end": "2026-03-29"})
    # The day on which clocks in Berlin are set forward has 23 hours.
    assert window.within("Europe/Berlin") == ("2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z")
    assert window.within("No/Such") == ("2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z")
    assert window.within("../etc/passwd") == window.within("UTC")


@pytest.mark.parametrize(
    ("arguments", "pointers"),
    [
        ({"start": "2026-06-01", "end": "2026-06-02"}, []),
        ({"start": "2026-06-01", "end": "2026-06-01"}, ["/end"]),
        ({"start": "2026-06-01", "end": "2026-06-01T10:00:00Z"}, ["/end"]),
        ({"start": "2026-06-01T10:00:00", "end": "2026-06-01T11:00:00Z"}, ["/start"]),
        (
            {
                "start": "2026-06-01T10:00:00",
                "end": "2026-06-01T11:00:00",
                "time_zone": "Asia/Tokyo",
            },
            [],
        ),
        ({"start": "2026-06-01T10:00:00+02:00", "end": "2026-06-01T09:00:00+00:00"}, []),
        ({"start": "2026-06-01T10:00:00Z", "end": "2026-06-01T11:00:00+02:00"}, ["/end"]),
        ({"end": "2026-06-01", "time_zone": "Mars/Olympus"}, ["/time_zone"]),
        ({"start": "noon"}, ["/start"]),
    ],
)
def test_the_times_of_an_event_are_judged_with_their_places(
    arguments: dict[str, Any], pointers: list[str]
) -> None:
    assert [one.pointer for one in find_time_problems(arguments)] == pointers


def test_the_id_of_an_event_is_of_its_call_and_of_googles_signs() -> None:
    own = build_event_id("run/1/x")
    assert own == build_event_id("run/1/x") != build_event_id("run/1/y")
    assert set(own) <= set("0123456789abcdefghijklmnopqrstuv")
    assert len(build_source_ref("c" * 200, "e" * 1_000)) < 100


def test_an_event_of_a_stranger_cannot_break_its_page() -> None:
    odd = {
        "id": "e",
        "start": {"date": "2026-06-01"},
        "end": {"date": "nonsense"},
        "attendees": [1, {}],
        "summary": "a\nb\u202e",
        "description": ["x"],
        "organizer": 5,
        "location": None,
    }
    item = build_event_item(odd, CalendarEntry("c", "C"), None)
    assert isinstance(item, Item)
    assert item.title == "a b"
    assert (item.frontmatter["end"], item.frontmatter["last_day"]) == ("2026-06-01", "2026-06-01")
    plain = build_event_item(
        {**odd, "description": "Ask <ada@x.com> if a < b"}, CalendarEntry("c", "C"), None
    )
    assert isinstance(plain, Item)
    assert "Ask <ada@x.com> if a < b" in plain.body


def test_previews_say_what_is_made_and_who_is_notified() -> None:
    guests = ["a@x.com", "b@x.com", "c@x.com", "d@x.com"]
    made = {
        "summary": "Plan",
        "start": "2026-06-01",
        "end": "2026-06-02",
        "attendees": guests,
        "send_updates": "all",
    }
    assert create_preview(made) == (
        "Create the event “Plan”, 2026-06-01 to 2026-06-02, with a@x.com, b@x.com, c@x.com and 1 "
        "more in the main calendar; everyone is notified by mail."
    )
    changed = update_preview({"event_id": "e1", "summary": "New", "attendees": []})
    assert changed == (
        "Change the event e1 in the main calendar: summary to “New”; no guest is notified; no "
        "one is notified by mail."
    )
    gone = delete_preview({"event_id": "e1", "calendar_id": "team@x"})
    assert gone == "Delete the event e1 in team@x; no one is notified by mail."


@pytest.mark.parametrize(
    "text", ["plan", "Ada's", "a\\", "\\' or trashed = true or name = '", "''"]
)
def test_a_text_stays_in_its_quotes(text: str) -> None:
    assert unquoted(quote_query_text(text)) == [text]
    assert unquoted(build_words_query(text)) == [text, text]


def test_a_moment_of_a_search_is_in_utc_and_a_file_without_a_size_has_none() -> None:
    at = datetime.fromisoformat("2026-06-01T12:00:00+02:00")
    assert build_since_query(at) == "modifiedTime >= '2026-06-01T10:00:00' and trashed = false"
    item = build_file_item({"id": "f", "name": " ", "size": "x", "owners": [3]}, datetime.now(UTC))
    assert isinstance(item, Item)
    assert (item.title, item.frontmatter["size"], item.event) == ("(no name)", 0, None)
