"""A proposal at a terminal: all of it is said, in words, in bounds, and cleaned."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from rich.console import Console
from rich.text import Text

from mainspring.app import build_registry
from mainspring.contracts.errors import Finding
from mainspring.contracts.limits import Limits
from mainspring.surfaces.cli.pointer_text import describe_pointer
from mainspring.surfaces.cli.proposal_view import (
    maker_lines,
    next_lines,
    open_lines,
    proposal_lines,
    saved_lines,
)
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.summary import Labels, warning_lines
from tests.unit.surfaces.cli.sample_proposal import CHANNEL, ID, ZONE, proposal, review

LONE = {**CHANNEL, "id": "lone", "choices": []}
BAD = "bad\x1b[31m\u202e name\n" + "x" * 5_000


@pytest.fixture(scope="module")
def words() -> Labels:
    known = build_registry(Limits()).capabilities
    return {name: one.label for name, one in known.items()}


def _told(lines: list[Text]) -> str:
    return "\n".join(line.plain for line in lines)


class _Narrow(Screen):
    """A screen as wide as an old terminal."""

    @property
    def console(self) -> Console:
        return Console(file=StringIO(), width=60, force_terminal=True)


def test_everything_that_matters_is_said(words: Labels) -> None:
    result = _told(proposal_lines(proposal(), words, Screen()))

    for output in (
        "Standup digest  ready to be saved",
        "On weekdays at 09:00 it asks a model",
        "1.   It asks a model.",
        "1.1. It posts to #standup.",
        "     A run may spend $1.",
        "About $1.10 a month.",
        "The cap is near.",
        "sends to Slack (slack.com), in step post, when a person agrees",
        "agrees in the inbox first: Post to Slack, in step post",
        "a page: “Report”, in step write",
        "SLACK goes to slack.com",
        "Step 1 (think), prompt template: It reads like an order.",
        "Say it as a task.",
        "All is new. (says the model)",
        "Old digest (active) sounds like it does something alike, by their words",
        "Assumed: at 9 is 09:00.",
        "Not understood: pretty please.",
        "No model was used.",
    ):
        assert output in result
    assert result.count("On weekdays at 09:00") == 1, "the first sentence is the summary"


def test_a_model_is_named_with_its_rounds_and_its_price() -> None:
    made = {
        "by": "model",
        "note": "x",
        "model": "anthropic/claude-x",
        "rounds": 2,
        "refused": ["/plan/0/action: there is no such capability"],
        "cost_usd": "0.02",
    }

    result = _told(maker_lines(proposal(made_by=made), Screen()))

    assert "anthropic/claude-x made this in 2 rounds for $0.02." in result
    assert "Refused on the way: /plan/0/action: there is no such capability" in result
    assert "Rules made this review" in result
    gave_up = {**made, "by": "rules", "note": "It gave up. Rules made this instead."}
    result = _told(maker_lines(proposal(made_by=gave_up), Screen()))
    assert "It gave up. Rules made this instead. Models were asked for $0.02." in result
    assert "Rules made this review" not in result
    busy = {"by": "rules", "model": None, "note": "A model was asked and gave none: it is busy."}
    assert "it is busy" in _told(maker_lines(proposal(review=review(reviewed_by=busy)), Screen()))


def test_a_change_is_reported_in_plain_text_place_by_place_and_with_what_widens(
    words: Labels,
) -> None:
    change = {
        "changes": [
            {
                "op": "replace",
                "pointer": "/triggers/0/config/cron",
                "before": "0 9 * * *",
                "after": "0 10 * * *",
            }
        ],
        "in_words": ["It runs at 10:00 instead of 09:00."],
        "widened": [{"capability": "http_fetch", "params": {"hosts": ["example.com"]}}],
    }
    changed = proposal(automation_id=ID, base_version=3, review=review(change=change))

    result = _told(proposal_lines(changed, words, Screen()))

    assert "Standup digest  a change of version 3" in result
    assert "It runs at 10:00 instead of 09:00." in result
    assert '~ /triggers/0/config/cron  "0 9 * * *"  →  "0 10 * * *"' in result
    assert "It may do more than before:" in result
    assert "http_fetch" in result
    nothing = review(change={"changes": [], "in_words": [], "widened": []})
    same = _told(proposal_lines(proposal(review=nothing), words, Screen()))
    assert "No changes." in same


def test_open_questions_have_their_names_their_choices_and_a_command() -> None:
    asks = proposal(status="asks", questions=[CHANNEL, ZONE, LONE])

    result = _told([*open_lines(asks, Screen()), *next_lines(asks)])

    assert "channel  Which channel?" in result
    assert "1. #standup" in result
    assert "for step 2 (post), channel" in result
    assert f"proposals answer {ID[:13]} channel=VALUE zone=VALUE lone=VALUE" in result
    assert f"proposals save {ID[:13]}" not in result
    assert f"proposals save {ID[:13]}" in _told(next_lines(proposal()))


def test_problems_have_their_places(words: Labels) -> None:
    wrong = {
        "pointer": "/plan/0/action",
        "detail": "There is no such action.",
        "code": "unknown",
        "suggestion": "Did you mean 'notification'?",
    }
    result = _told(proposal_lines(proposal(status="invalid", problems=[wrong]), words, Screen()))

    assert "cannot be saved yet" in result
    assert "/plan/0/action: There is no such action." in result
    assert "Did you mean 'notification'?" in result


def test_what_was_saved_is_reported_with_what_is_new_and_doubtful(words: Labels) -> None:
    saved: dict[str, Any] = {
        "automation_id": ID,
        "version": 2,
        "changed": True,
        "state": "active",
        "name": "Digest",
        "admin_url": "http://x/automations/1",
        "widened": [{"capability": "http_fetch", "params": {}}],
        "warnings": [{"pointer": "/plan/0", "detail": "Doubtful.", "code": "x"}],
    }

    result = _told(saved_lines(saved, words, Screen()))

    assert "Digest is saved as version 2, active." in result
    assert "New in this version, not allowed before:" in result
    assert "/plan/0: Doubtful." in result


def test_text_of_others_is_shown_and_never_obeyed(words: Labels) -> None:
    flag = {
        "pointer": "/plan/0",
        "code": "x",
        "text": BAD,
        "level": "warning",
        "by": "model",
        "suggestion": BAD,
    }
    match = {"automation_id": ID, "name": BAD, "state": "active", "how": "strict", "admin_url": BAD}
    hostile = proposal(
        definition={"name": BAD, "plan": [{"step_id": BAD}]},
        notes=[BAD],
        questions=[{**CHANNEL, "question": BAD, "choices": [{"label": BAD, "value": 1}]}],
        status="asks",
        problems=[{"pointer": BAD, "detail": BAD, "code": "x"}],
        review=review(
            summary=BAD,
            explained=[BAD],
            flags=[flag] * 100,
            overlaps={"similarity_by": "words", "matches": [match]},
            impact={
                "outside": [{"system": BAD, "hosts": [BAD], "why": [BAD] * 9, "effect": "send"}],
                "people": [{"capability": BAD, "label": BAD, "why": [BAD]}],
                "keeps": [{"kind": "page", "what": BAD, "why": []}] * 100,
                "secrets": [{"name": BAD, "hosts": [BAD], "capabilities": [BAD]}],
            },
        ),
    )
    screen = Screen()

    lines = [
        *proposal_lines(hostile, words, screen),
        *open_lines(hostile, screen),
        *next_lines(hostile),
    ]

    assert len(lines) < 150
    for line in lines:
        assert "\x1b" not in line.plain
        assert "\u202e" not in line.plain
        assert "\n" not in line.plain
        assert len(line.plain) < 1_500
    assert "and 88 more flags; --json shows all" in _told(lines)


def test_a_proposal_that_lacks_almost_everything_is_shown(words: Labels) -> None:
    bare = proposal(definition={}, review={}, notes=[], made_by={}, problems=[])

    result = _told(proposal_lines(bare, words, Screen()))

    assert "An automation without a name" in result


def test_long_lines_are_folded_below_their_beginning(words: Labels) -> None:
    lines = proposal_lines(proposal(), words, _Narrow())

    result = [line.plain for line in lines if not line.plain.strip().startswith("http")]
    assert all(len(line) <= 60 for line in result), result
    first = next(place for place, line in enumerate(result) if "agrees in the inbox" in line)
    assert result[first + 1].startswith(" " * 12), "the rest is below the beginning"


@pytest.mark.parametrize(
    ("pointer", "words_for_it"),
    [
        ("", ""),
        ("/name", "name"),
        ("/plan/1/config/channel", "step 2 (post), channel"),
        ("/plan/0", "step 1 (think)"),
        ("/plan/9/config/x_y", "step 10, x y"),
        ("/triggers/0/config/cron", "trigger 1 (schedule), cron"),
        ("/execution/on_failure/0/config/title", "step 1 on failure, title"),
        ("/plan/0/config/tools/2", "step 1 (think), tools 3"),
        ("/a~1b", "a/b"),
        ("no pointer", ""),
        ("/plan/99999999999999999999/x", "step 99999999999999999999, x"),
    ],
)
def test_a_place_is_said_in_words(pointer: str, words_for_it: str) -> None:
    assert describe_pointer(pointer, proposal()["definition"]) == words_for_it


def test_commands_in_a_proposal_are_named_as_they_are_called_here(
    words: Labels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_PROGRAM", "./start")
    keep = "`mainspring secrets set slack_bot_token`"
    flag = {
        "pointer": "/plan/0",
        "code": "secret_missing",
        "text": "It is not kept.",
        "level": "warning",
        "by": "rules",
        "suggestion": f"Keep it: {keep}.",
    }
    asked = {
        **CHANNEL,
        "question": f"Which secret? {keep}",
        "choices": [{"label": f"slack_bot_token (not kept yet: {keep})", "value": "x"}],
    }
    made = proposal(
        notes=[f"Slack needs a token: {keep}."],
        review=review(flags=[flag]),
        questions=[asked],
        status="asks",
    )
    lines = [*proposal_lines(made, words, Screen()), *open_lines(made, Screen())]
    lines += warning_lines([Finding("/plan/0", "It is not kept.", "x", keep)], Screen())
    result = _told(lines)

    assert "`mainspring " not in result
    assert result.count("secrets set slack_bot_token`") == 5
    assert "`./start " in result
