"""What is written to a terminal is text, whatever the data says."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mainspring.surfaces.cli.screen import Screen, as_json, clean, one_line

ESCAPES = [
    "\x1b[2J\x1b[1;31mall is well",
    "\x1b]0;title\x07",
    "\x9b31m",
    "line\rover it",
    "back\b\b\b\b",
    "\x00\x7f",
    "\u202egnp.exe",
    "\u2066x\u2069",
]


@pytest.mark.parametrize("text", ESCAPES)
def test_no_escape_sequence_reaches_the_terminal(text: str) -> None:
    for shown in (clean(text), one_line(text), as_json({text: [text]})):
        assert not any(ord(mail) < 32 and mail not in "\n\t" for mail in shown)
        assert not set(shown) & set("\x7f\x9b\u202e\u2066\u2069")


@given(st.text())
def test_cleaning_leaves_ordinary_text_alone_and_removes_every_control(text: str) -> None:
    shown = clean(text)

    assert all(mail in "\n\t" or mail.isprintable() or ord(mail) > 0x9F for mail in shown)
    if text.isprintable():
        assert shown == text


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=8))
def test_json_for_programs_reads_back_as_it_was(value: object) -> None:
    assert json.loads(as_json(value)) == value


def test_the_values_of_a_row_have_a_json_form() -> None:
    row = {
        "id": UUID(int=7),
        "at": datetime(2026, 3, 1, 9, tzinfo=UTC),
        "cost": Decimal("0.150000"),
        "whole": Decimal("1E+2"),
    }

    assert json.loads(as_json(row)) == {
        "id": "00000000-0000-0000-0000-000000000007",
        "at": "2026-03-01T09:00:00+00:00",
        "cost": "0.15",
        "whole": "100",
    }


def test_a_long_text_becomes_one_short_line() -> None:
    assert one_line("a\n\n\tb", 10) == "a b"
    assert one_line("x" * 500, 10) == "x" * 9 + "…"


def test_a_program_gets_nothing_but_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    screen = Screen(for_programs=True)

    screen.say("a word for people")
    screen.answer({"ok": True})

    assert json.loads(capsys.readouterr().out) == {"ok": True}


def test_text_in_brackets_is_text_and_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().say("[red]not red[/red] :smile:")

    assert capsys.readouterr().out == "[red]not red[/red] :smile:\n"


def test_a_line_in_a_pipe_is_neither_folded_nor_cut(capsys: pytest.CaptureFixture[str]) -> None:
    Screen().say("word " * 300)

    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_reader_who_goes_away_does_not_end_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w", encoding="utf-8") as gone:
        monkeypatch.setattr("sys.stdout", gone)
        screen = Screen()

        screen.say("nobody reads this")
        screen.say("nor this")
        screen.answer({"nor": "this"})
