"""Pieces become lines: whole, once, and harmless."""

from __future__ import annotations

import json
from typing import Any

from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.step_output import OutputLines


def piece(seq: int, text: str, stream: str = "out", attempt: int = 1) -> dict[str, Any]:
    return {"step": "a", "item": "", "attempt": attempt, "seq": seq, "stream": stream, "text": text}


def heard(saying: OutputLines, *pieces: dict[str, Any]) -> list[str]:
    return [line.plain for one in pieces for line in saying.hear(one)]


def test_a_line_waits_for_its_end_or_for_the_end_of_its_try() -> None:
    saying = OutputLines(Screen(), bare=True)
    assert heard(saying, piece(1, "one\ntw"), piece(2, "err\n", "err")) == ["one", "err"]
    assert heard(saying, piece(3, "o\nthree")) == ["two"]
    assert heard(saying, piece(4, "{}", "end")) == ["three"]
    assert saying.rest() == []


def test_what_a_step_says_again_after_a_takeover_is_not_shown_again() -> None:
    saying = OutputLines(Screen(), bare=True)
    assert heard(saying, piece(1, "one\n"), piece(2, "two\nth")) == ["one", "two"]
    again = heard(saying, piece(1, "one\ntwo\n"), piece(2, "three\nfour\n"))
    assert again == ["three", "four"]
    # Another try is another story.
    assert heard(saying, piece(1, "one\n", attempt=2)) == ["one"]


def test_a_terminal_shows_what_a_script_says_and_does_not_obey() -> None:
    saying = OutputLines(Screen(), bare=True)
    assert heard(saying, piece(1, "\x1b[2Jgone\r\n")) == ["\\u001b[2Jgone\\u000d"]


def test_a_terminal_shows_what_models_and_tools_say_in_one_line_and_does_not_obey() -> None:
    saying = OutputLines(Screen(), bare=True)
    evil = "\x1b]0;owned\x07\n\x9b2J\u202e a\r b"
    kinds = ("thought", "call", "result", "refused", "told", "turn", "answer")
    parts = ("text", "tool", "arguments", "outcome", "output", "turn", "model", "how")
    for seq, kind in enumerate(kinds, 1):
        text = json.dumps({"kind": kind, **dict.fromkeys(parts, evil)}, ensure_ascii=False)
        (line,) = heard(saying, piece(seq, f"{text}\n", "agent"))
        assert "".join(filter(str.isprintable, line)) == line, kind
        assert ("\\u001b]0;owned\\u0007" in line) == (kind != "turn")


def test_what_an_agent_does_is_put_into_words_and_said_once() -> None:
    saying = OutputLines(Screen(), bare=True)
    look = '{"kind":"call","tool":"search","arguments":{"query":"x"}}\n'
    done = '{"kind":"answer","how":"done","output":{"n":1},"text":""}\n'
    first = heard(saying, piece(1, look, "agent"), piece(2, "printed\n"))
    assert [line.split(" ", 1)[1] for line in first[:1]] == ['search {"query": "x"}']
    assert first[1:] == ["printed"]
    again = heard(saying, piece(1, look, "agent"), piece(2, done, "agent"))
    assert again == ['answers: {"n": 1}']
    assert heard(saying, piece(3, "no JSON\n", "agent")) == []
