"""Whose press of a button in Telegram counts."""

from __future__ import annotations

from typing import Any

import pytest

from mainspring.gate.prompting.button_presses import _same_person

LINKED = {"chat_id": 7, "user_id": 8}


def test_the_linked_person_in_the_linked_chat_is_heard() -> None:
    assert _same_person(LINKED, {"chat_id": 7, "user_id": 8, "data": "x"})


@pytest.mark.parametrize(
    ("settings", "pressed"),
    [
        (LINKED, {"chat_id": 9, "user_id": 8}),
        (LINKED, {"chat_id": 7, "user_id": 9}),
        (LINKED, {"chat_id": 8, "user_id": 7}),
        (LINKED, {}),
        # Nobody has linked a chat: a press without ids is not theirs.
        ({}, {}),
        ({"chat_id": 7}, {"chat_id": 7}),
    ],
)
def test_another_chat_or_another_person_is_not_heard(
    settings: dict[str, Any], pressed: dict[str, Any]
) -> None:
    assert not _same_person(settings, pressed)
