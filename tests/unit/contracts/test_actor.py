"""Who counts as a person: a member who is here themselves, and nothing that a program does."""

from __future__ import annotations

from dataclasses import replace

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id

MEMBER = Actor(generate_id(), "member", generate_id())


def test_a_member_is_a_person_unless_a_program_speaks_for_them() -> None:
    assert MEMBER.is_person is True
    assert replace(MEMBER, at_terminal=True).is_person is True
    assert replace(MEMBER, by_program=True).is_person is False


def test_a_token_and_a_run_are_no_persons() -> None:
    for kind in ("client", "run"):
        made = Actor(MEMBER.workspace_id, kind, MEMBER.id)
        assert made.is_person is False
        assert replace(made, by_program=True).is_person is False


def test_an_actor_is_no_administrator_and_at_no_terminal_unless_it_says_so() -> None:
    assert (MEMBER.administrator, MEMBER.by_program, MEMBER.at_terminal) == (False, False, False)
    assert MEMBER.approves is None
