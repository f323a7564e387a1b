"""Chat triggers: which messages they take, what is refused, and what a person agrees to."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.chat import split_command
from mainspring.contracts.limits import Limits
from mainspring.definition.authority_writes import find_added_triggers, read_enabled_triggers
from mainspring.definition.chat_triggers import (
    check_chat_config,
    describe_chat_trigger,
)
from mainspring.definition.filters import FilterIndex
from mainspring.triggers.presets import listens_to

PRIVATE: dict[str, Any] = {
    "chat": {"id": "42", "kind": "private"},
    "text": "/standup done",
    "command": "standup",
    "mentioned": False,
    "sender": {"linked": True},
}
GROUP = "-1001234567890"
IN_GROUP: dict[str, Any] = {**PRIVATE, "chat": {"id": GROUP, "kind": "group"}}
STRANGER: dict[str, Any] = {"sender": {"linked": False}}


def takes(config: dict[str, Any], payload: dict[str, Any]) -> bool:
    index: FilterIndex[str] = FilterIndex(Limits())
    event_type, filters = listens_to("chat_message", {"via": "telegram", **config})
    assert event_type == "telegram.chat_message"
    index.add("it", event_type, filters)
    return index.match(event_type, payload) == ["it"]


@pytest.mark.parametrize(
    ("config", "payload", "taken"),
    [
        ({}, PRIVATE, True),
        ({}, PRIVATE | STRANGER, False),
        ({}, IN_GROUP, False),
        ({"channel": GROUP}, IN_GROUP, True),
        ({"channel": GROUP}, IN_GROUP | STRANGER, False),
        ({"channel": GROUP}, PRIVATE, False),
        ({"channel": GROUP, "who": "anyone_in_channel"}, IN_GROUP | STRANGER, True),
        ({"match": {"command": "/Standup"}}, PRIVATE, True),
        ({"match": {"command": "stand"}}, PRIVATE, False),
        ({"match": {"prefix": "/stand"}}, PRIVATE, True),
        ({"match": {"prefix": "done"}}, PRIVATE, False),
        ({"match": {"regex": "d[o]ne$"}}, PRIVATE, True),
        ({"match": {"mention": True}}, PRIVATE, False),
        ({"match": {"mention": True}}, PRIVATE | {"mentioned": True}, True),
        ({"filters": {"text": {"contains": "done"}}}, PRIVATE, True),
        ({"filters": {"text": {"contains": "open"}}}, PRIVATE, False),
    ],
)
def test_a_trigger_takes_the_messages_that_its_config_names(
    config: dict[str, Any], payload: dict[str, Any], taken: bool
) -> None:
    assert takes(config, payload) is taken


@pytest.mark.parametrize(
    ("text", "command", "rest"),
    [
        ("/standup done", "standup", "done"),
        ("/Standup@My_Bot  two words", "standup", "two words"),
        ("/standup\nline one\nline two", "standup", "line one\nline two"),
        ("no command", None, "no command"),
        ("/", None, "/"),
        ("/etc/passwd", None, "/etc/passwd"),
    ],
)
def test_a_command_is_read_with_its_text(text: str, command: str | None, rest: str) -> None:
    assert split_command(text) == (command, rest)


@pytest.mark.parametrize(
    ("config", "code", "pointer"),
    [
        ({"via": "slack"}, "chat_not_received", "/t/via"),
        ({"via": "discord"}, "chat_not_received", "/t/via"),
        ({"via": "telegram", "who": "anyone_in_channel"}, "required", "/t/who"),
        (
            {"via": "telegram", "match": {"command": "a", "prefix": "b"}},
            "chat_match",
            "/t/match/prefix",
        ),
        ({"via": "telegram", "match": {"regex": "("}}, "filter_regex", "/t/match/regex"),
    ],
)
def test_a_config_that_cannot_work_is_refused_with_its_place(
    config: dict[str, Any], code: str, pointer: str
) -> None:
    (finding,) = check_chat_config(config, "/t", Limits())
    assert (finding.code, finding.pointer) == (code, pointer)
    assert finding.detail


def test_the_review_names_who_writes_where_and_what_they_get() -> None:
    said = describe_chat_trigger({"via": "telegram", "match": {"command": "/standup"}}, repr)
    assert said == (
        "a linked member writes /standup to the bot on Telegram; that person gets the output of "
        "the run as the answer, without a further review"
    )
    config = {"via": "telegram", "channel": GROUP, "who": "anyone_in_channel"}
    assert describe_chat_trigger({**config, "respond": "none"}, repr) == (
        f"anyone writes a message in the Telegram chat '{GROUP}'"
    )


@pytest.mark.parametrize(
    ("before", "after", "widened"),
    [
        ({}, {}, False),
        ({}, {"who": "linked_members"}, False),
        ({}, {"match": {"command": "a"}}, False),
        ({"match": {"command": "a"}}, {}, True),
        ({}, {"channel": GROUP}, True),
        ({"channel": GROUP}, {"channel": GROUP, "who": "anyone_in_channel"}, True),
        ({"channel": GROUP, "who": "anyone_in_channel"}, {"channel": GROUP}, False),
        ({"respond": "none"}, {}, True),
        ({}, {"respond": "none"}, False),
        ({"filters": {"text": {"contains": "a"}}}, {}, True),
    ],
)
def test_a_person_agrees_to_more_senders_more_messages_and_more_answers(
    before: dict[str, Any], after: dict[str, Any], widened: bool
) -> None:
    was, becomes = (
        read_enabled_triggers(
            [{"id": "chat", "type": "chat_message", "config": {"via": "telegram", **config}}]
        )
        for config in (before, after)
    )
    assert bool(list(find_added_triggers(was, becomes, " now"))) is widened
