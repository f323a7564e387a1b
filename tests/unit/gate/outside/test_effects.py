"""What a tool does is read from its name, its hints and a person's word, in that much doubt."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.contracts.capability import Effect
from mainspring.gate.outside.effects import DELETES, READS, USER_VISIBLE, WRITES, judge

READ, SEND = Effect.READ, Effect.SEND
ONLY_READS: dict[str, Any] = {"readOnlyHint": True}
CHANGES: dict[str, Any] = {"readOnlyHint": False}
DESTROYS: dict[str, Any] = {"destructiveHint": True}


@pytest.mark.parametrize(
    ("name", "hints", "said", "effect"),
    [
        ("get_issue", {}, None, READ),
        ("list_updates", {}, None, READ),
        ("searchPosts", {}, None, READ),
        ("get_comment", {}, None, READ),
        ("read-file", {}, None, READ),
        ("notes.fetch", {}, None, SEND),
        ("browser_click", ONLY_READS, None, SEND),
        ("weather", ONLY_READS, None, READ),
        ("weather", {}, None, SEND),
        ("weather", {"readOnlyHint": "yes"}, None, SEND),
        ("", {}, None, SEND),
        ("delete_issue", ONLY_READS, None, SEND),
        ("sendMessage", ONLY_READS, None, SEND),
        ("get_or_create_user", ONLY_READS, None, SEND),
        ("list_and_delete", {}, None, SEND),
        ("createIssue", ONLY_READS, None, SEND),
        ("update_row", ONLY_READS, None, SEND),
        ("deleteuser", ONLY_READS, None, SEND),
        ("DELETE", ONLY_READS, None, SEND),
        ("post_message", {}, None, SEND),
        ("get_issue", CHANGES, None, SEND),
        ("get_issue", DESTROYS, None, SEND),
        ("weather", {**ONLY_READS, **DESTROYS}, None, READ),
        ("delete_issue", {}, "read", READ),
        ("get_issue", ONLY_READS, "send", SEND),
    ],
)
def test_whoever_is_not_sure_sends(
    name: str, hints: dict[str, Any], said: str | None, effect: Effect
) -> None:
    assert judge(name, hints, said).effect is effect


def test_side_effects_are_a_set_that_says_what_people_would_see() -> None:
    assert judge("get_issue", {}).side_effects == {READS}
    assert judge("create_row", {}).side_effects == {WRITES}
    assert judge("send_mail", {}).side_effects == {WRITES, USER_VISIBLE}
    assert judge("delete_row", {}).side_effects == {WRITES, DELETES}
    assert judge("update_row", DESTROYS).side_effects == {WRITES, DELETES}
    # Where nothing is known, somebody may see it.
    assert judge("weather", {}).side_effects == {WRITES, USER_VISIBLE}
    assert judge("send_mail", {}, "read").side_effects == {READS}


def test_what_tells_is_said() -> None:
    assert judge("delete_issue", ONLY_READS).why == "its name says 'delete'"
    assert judge("weather", ONLY_READS).why == "the server says that it only reads"
    assert judge("weather", {}, "read").why == "a person said so"
