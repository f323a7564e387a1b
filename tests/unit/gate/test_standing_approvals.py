"""When people have agreed often enough: pure decisions about shapes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.roles import Role
from mainspring.gate.standing.rules import (
    ENOUGH,
    derive_pattern,
    fits,
    hash_of,
    pattern_of,
    refusal,
)
from mainspring.workspace.approval_policy import ApprovalPolicy


async def _nothing(ctx: CallContext, value: Any) -> Any:
    del ctx, value


def _write(*text: str) -> Capability:
    return Capability(
        "mail",
        "Mail",
        {},
        {},
        _nothing,
        write=Write(preview=str, wording=text),
        annotations=Annotations(effect=Effect.SEND),
    )


def _sent(to: str, *, sent: bool = True, unedited: bool = True) -> dict[str, Any]:
    return {"arguments": {"to": [to], "text": f"Hello {to}"}, "sent": sent, "unedited": unedited}


def test_a_shape_is_everything_but_the_wording() -> None:
    mail = _write("subject", "text")

    assert pattern_of(mail, {"to": ["a"], "subject": "x", "text": "y"}) == {"to": ["a"]}
    # Where all is wording nobody could say what a rule lets go, and without wording nothing may
    # differ, so each draft says more than a rule.
    assert pattern_of(mail, {"subject": "x", "text": "y"}) is None
    assert pattern_of(_write(), {"to": ["a"]}) is None


def test_enough_unchanged_approvals_of_one_shape_earn_it() -> None:
    mail = _write("text")
    same = [_sent("ada")] * ENOUGH

    assert derive_pattern(mail, same) == {"to": ["ada"]}
    assert derive_pattern(mail, same[1:]) is None
    # Only the latest count: what went before them is forgiven.
    assert derive_pattern(mail, [*same, _sent("ada", sent=False)]) == {"to": ["ada"]}


@pytest.mark.parametrize(
    "other", [_sent("eve"), _sent("ada", sent=False), _sent("ada", unedited=False)]
)
def test_one_that_was_different_changed_or_rejected_earns_nothing(other: dict[str, Any]) -> None:
    mail = _write("text")

    for place in range(ENOUGH):
        latest = [_sent("ada")] * ENOUGH
        latest[place] = other
        assert derive_pattern(mail, latest) is None


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": ["ada", "eve"], "text": "x"},
        {"to": ["Ada"], "text": "x"},
        {"to": ["ada"], "cc": ["eve"], "text": "x"},
        {"text": "x"},
    ],
)
def test_a_rule_lets_go_its_own_shape_and_no_other(arguments: dict[str, Any]) -> None:
    mail, pattern = _write("text"), {"to": ["ada"]}

    assert fits(pattern, mail, {"to": ["ada"], "text": "any words"})
    assert not fits(pattern, mail, arguments)
    assert hash_of(pattern) != hash_of({"to": ["eve"]})


def test_wording_that_does_more_than_say_something_has_no_shape() -> None:
    mail = _write("text")
    assert mail.write is not None
    wary = replace(mail, write=replace(mail.write, plain=lambda given: "@" not in given["text"]))

    assert pattern_of(wary, {"to": ["ada"], "text": "hello"}) == {"to": ["ada"]}
    assert not fits({"to": ["ada"]}, wary, {"to": ["ada"], "text": "hello @all"})


def test_a_person_who_cannot_approve_a_draft_alone_cannot_agree_to_a_rule() -> None:
    ada, bob = uuid4(), uuid4()

    def code(policy: ApprovalPolicy, who: Any = ada, role: Role | None = Role.EDITOR) -> str | None:
        problem = refusal(policy, who, role, {ada})
        return None if problem is None else problem.code

    assert code(ApprovalPolicy()) is None
    assert code(ApprovalPolicy(approvers=2)) == "rule_needs_one_approver"
    assert code(ApprovalPolicy(roles=(Role.OWNER,))) == "not_an_approver"
    assert code(ApprovalPolicy(roles=(Role.OWNER,)), role=Role.OWNER) is None
    assert code(ApprovalPolicy(author_may_approve=False)) == "author_may_not_approve"
    assert code(ApprovalPolicy(author_may_approve=False), bob) is None
