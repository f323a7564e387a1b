"""Answers and edits as words: what is meant is found, and what is wrong has its place."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.settings import machine_zone
from mainspring.surfaces.cli.answers import read_answer, read_answers, read_edits
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.terminal_prompt import TerminalPrompt, at_terminal
from tests.unit.surfaces.cli.sample_proposal import CHANNEL, ZONE

LIMITS = Limits()
NUMBER: dict[str, Any] = {**CHANNEL, "id": "n", "schema": {"type": "integer"}, "choices": []}
SCHEDULE: dict[str, Any] = {**ZONE, "id": "when", "kind": "schedule", "schema": {}}
TWINS: dict[str, Any] = {
    **CHANNEL,
    "choices": [{"label": "a", "value": 1}, {"label": "b", "value": 1}],
}


@pytest.mark.parametrize(
    ("text", "question", "meant"),
    [
        ("2", CHANNEL, "#ops"),
        ("#STANDUP", CHANNEL, "#standup"),
        ("#other", CHANNEL, "#other"),
        ("3", CHANNEL, "3"),
        ("  #other ", CHANNEL, "#other"),
        ("b", TWINS, "b"),
        ("2", TWINS, "b"),
        ("7", NUMBER, 7),
        ("seven", NUMBER, "seven"),
        ("[1, 2]", NUMBER, [1, 2]),
        ("Berlin", ZONE, "Berlin"),
        ("every Monday at 10", SCHEDULE, "every Monday at 10"),
        ('{"cron": "0 9 * * *"}', SCHEDULE, {"cron": "0 9 * * *"}),
        ("null", SCHEDULE, None),
    ],
)
def test_an_answer_means_what_a_person_means(
    text: str, question: dict[str, Any], meant: object
) -> None:
    assert read_answer(text, question, LIMITS) == meant


@pytest.mark.parametrize(
    ("words", "pointer", "text"),
    [
        (["channel"], "/answers", "is no answer"),
        (["=x"], "/answers", "is no answer"),
        (["colour=red"], "/answers/colour", "There is no open question 'colour'."),
        (["a/b=red"], "/answers/a~1b", "no open question"),
        (["channel=1", "channel=2"], "/answers/channel", "answered twice"),
        (["n={"], "/answers/n", "not JSON"),
    ],
)
def test_an_answer_that_cannot_be_used_is_reported_at_its_place(
    words: list[str], pointer: str, text: str
) -> None:
    with pytest.raises(Invalid) as caught:
        read_answers(words, [CHANNEL, NUMBER], LIMITS)

    assert [one.pointer for one in caught.value.findings] == [pointer]
    assert text in caught.value.detail


def test_an_unknown_question_is_reported_with_those_that_are_open() -> None:
    for questions, way in (([CHANNEL, ZONE], "Open are: channel, zone."), ([], "No question")):
        with pytest.raises(Invalid) as caught:
            read_answers(["x=1"], questions, LIMITS)
        assert way in (caught.value.suggestion or "")


def test_edits_are_json_or_plain_text() -> None:
    edits = read_edits(
        ["/name=Digest", "/plan/0/config/seconds=5", '/x="5"', "/y="], ["/z"], LIMITS
    )

    assert edits == [
        {"pointer": "/name", "value": "Digest"},
        {"pointer": "/plan/0/config/seconds", "value": 5},
        {"pointer": "/x", "value": "5"},
        {"pointer": "/y", "value": ""},
        {"pointer": "/z", "remove": True},
    ]


@pytest.mark.parametrize(
    ("words", "removed"),
    [(["name=x"], []), (["/name"], []), ([], ["name"]), ([], []), (["/x={"], [])],
)
def test_what_is_no_edit_is_refused(words: list[str], removed: list[str]) -> None:
    with pytest.raises(Invalid):
        read_edits(words, removed, LIMITS)


# --- a person at a terminal


async def test_lines_are_read_one_by_one_and_the_end_is_noticed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours, theirs = os.openpty()
    ask = TerminalPrompt(Screen(), source=theirs)
    try:
        os.write(ours, "first\nzweite Zeile ü\n\n".encode())
        assert [await ask("One?"), await ask("Two?"), await ask("Three?")] == [
            "first",
            "zweite Zeile ü",
            "",
        ]
        os.write(ours, b"\x04")
        assert await ask("Four?") is None
    finally:
        os.close(ours)
        os.close(theirs)
    assert capsys.readouterr().out == "One? Two? Three? Four? \n"


async def test_a_terminal_that_is_gone_answers_nothing() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    os.close(reading)
    assert await TerminalPrompt(Screen(), source=reading)("Still there?") is None
    assert not at_terminal(Screen()), "a test has no terminal"


# --- the zone of this machine


def test_the_zone_of_the_machine_is_reported_when_known(tmp_path: Path) -> None:
    def linked(name: str) -> Path:
        link = tmp_path / name.replace("/", "_")
        link.symlink_to(tmp_path / "zoneinfo" / name)
        return link

    assert machine_zone({"TZ": ":Europe/Berlin"}) == "Europe/Berlin"
    assert machine_zone({"TZ": "UTC"}, linked("Europe/Berlin")) == "UTC"
    assert machine_zone({}, linked("America/Argentina/Salta")) == "America/Argentina/Salta"
    for unknown in ("Etc/UTC", "UTC"):
        assert machine_zone({}, linked(unknown)) is None
    assert machine_zone({}, tmp_path / "nowhere") is None
