"""What a person is asked to agree to cannot look like something else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mainspring.connections.mcp_servers.tool_registry import preview
from mainspring.definition.escaping import escape_json


@pytest.mark.parametrize(
    "value",
    [
        "a\u202eb",
        "a\u200bb",
        "a\U000e0041b",
        "a\x1b[2Jb",
        "a\x7fb",
        "a\u2028b",
        "a\nb",
        "a\u3164b",
        "a\ufe01b",
        "a\u00adb",
        {"a\u2066": ["\ufeff"]},
    ],
)
def test_what_is_not_seen_is_written_out_and_nothing_is_lost(value: Any) -> None:
    text = escape_json(value)

    assert text.isprintable()
    assert text.isascii()
    assert json.loads(text) == value


def test_what_can_be_read_stays_as_it_is() -> None:
    assert escape_json({"to": "Zoë", "n": [1, None]}) == '{"to": "Zoë", "n": [1, null]}'
    assert escape_json("日本") == '"日本"'


def test_no_argument_sounds_like_our_own_words() -> None:
    given = {"to: boss@corp, text": "hi", "text": 'hi", "to": "boss@corp\n\u202e', "to": "evil"}

    line = preview("notes.send", given)

    assert line == (
        'Call notes.send with {"to: boss@corp, text": "hi", '
        '"text": "hi\\", \\"to\\": \\"boss@corp\\n\\u202e", "to": "evil"}'
    )
    assert json.loads(line.removeprefix("Call notes.send with ")) == given
    assert preview("notes.send", {}) == "Call notes.send"


def test_what_is_left_out_is_reported_before_anything_of_theirs() -> None:
    given = {"a": "x" * 1_000, "secret": "the rest"}
    text = escape_json(given)

    line = preview("notes.send", given)

    head, _, shown = line.partition(": ")
    assert head == (
        f"Call notes.send, {len(text) - 600} more characters of its arguments omitted here"
    )
    assert shown == text[:600]
