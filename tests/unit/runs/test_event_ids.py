"""Ids of events: what was given out is read back, and nothing else is taken for one."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.runs.output import (
    OutputPosition,
    format_output_position,
    parse_output_position,
    read_end,
)
from mainspring.runs.progress import RunStreamPosition
from mainspring.surfaces.rest.routes.streams import PageStreamPosition

AT = datetime(2026, 11, 15, 12, 0, 0, 123457, tzinfo=UTC)
PLACE = OutputPosition(AT, "main", "0.12", 3, 41)


@pytest.mark.parametrize(
    "mark",
    [
        RunStreamPosition(AT),
        RunStreamPosition(AT, PLACE),
        RunStreamPosition(None, PLACE),
        RunStreamPosition(AT + timedelta(days=9), OutputPosition(AT, "a")),
    ],
)
def test_a_mark_is_read_back_as_it_was_written(mark: RunStreamPosition) -> None:
    text = mark.write()
    assert text is not None
    assert RunStreamPosition.read(text) == mark


@pytest.mark.parametrize(
    "mark",
    [
        PageStreamPosition(AT),
        PageStreamPosition(AT, RunStreamPosition(AT, PLACE)),
        PageStreamPosition(None, RunStreamPosition(AT)),
        PageStreamPosition(AT, RunStreamPosition(None, PLACE)),
    ],
)
def test_the_mark_of_a_page_carries_both_parts(mark: PageStreamPosition) -> None:
    assert PageStreamPosition.read(mark.write()) == mark


@pytest.mark.parametrize("text", ["", "~", "seven", "2026-11-15T12:00:00+00:00~", "~seven"])
def test_what_is_no_mark_of_a_page_is_refused(text: str) -> None:
    assert PageStreamPosition.read(text) is None


def test_an_id_of_before_is_still_taken() -> None:
    assert RunStreamPosition.read("2026-11-15T12:00:00+00:00") == RunStreamPosition(
        datetime(2026, 11, 15, 12, tzinfo=UTC)
    )


def _encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "seven",
        "2026-11-15",
        "2026-11-15T12:00:00",
        "0001-01-01T00:00:00+14:00",
        "2026-11-15T12:00:00+00:00/",
        "2026-11-15T12:00:00+00:00/x",
        "/é",
        "/====",
        *(
            "/" + _encoded(told)
            for told in (
                "[]",
                "1",
                "[1,2,3,4,5]",
                '[1,"a","",1]',
                '[1.5,"a","",1,1]',
                '["1","a","",1,1]',
                '[-1,"a","",1,1]',
                '[1,"a","",99999,1]',
                '[1,"a","",1,9999999999]',
                '[1,"a","",true,1]',
                '[1,"\\u0000","",1,1]',
                '[1,"\\ud800","",1,1]',
                '[99999999999999999999,"a","",1,1]',
                '[1, "a", "", 1, 1]',
                f'[1,"{"a" * 300}","",1,1]',
                "[" * 5_000,
            )
        ),
    ],
)
def test_any_other_text_is_no_mark(text: str) -> None:
    assert RunStreamPosition.read(text) is None


def test_a_place_has_one_spelling() -> None:
    assert parse_output_position(format_output_position(PLACE)) == PLACE
    assert parse_output_position(format_output_position(PLACE) + "=") is None


def test_an_end_that_cannot_be_read_is_no_end() -> None:
    assert read_end('{"exit_code": 0}') == {"exit_code": 0}
    for text in (None, "", "no JSON", "[1]"):
        assert read_end(text) == {}
