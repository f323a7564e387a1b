"""What a draft is made of, as values: its files, its edits, and who may approve it."""

from __future__ import annotations

import base64
import hashlib
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.capability import (
    Annotations,
    Capability,
    ConnectionRoute,
    DraftMetadata,
    Effect,
    Write,
)
from mainspring.contracts.context import Account, Actor
from mainspring.contracts.errors import Conflict, Finding, Invalid, PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.gate.call_connections import connection_binding
from mainspring.gate.draft_binding import compute_binding_hash
from mainspring.gate.drafting.approvals import (
    can_read_draft,
    check_can_approve,
    check_can_discard,
    check_can_edit,
)
from mainspring.gate.drafting.attachments import MOST_BYTES, extract_files, restore_files
from mainspring.gate.drafting.envelopes import envelope_of
from mainspring.gate.drafting.revisions import (
    DraftEdit,
    apply_edits,
    check_reviewed_revision,
    raise_edit_findings,
)
from mainspring.workspace.approval_policy import (
    ApprovalPolicy,
    explain_lockout,
    parse_approval_policy,
)

SPACE, ADA, BOB = UUID(int=1), UUID(int=2), UUID(int=3)
HELLO = base64.b64encode(b"hello").decode()


def _file(**more: Any) -> dict[str, Any]:
    return {"filename": "a.txt", "content_base64": HELLO, **more}


def test_a_file_is_named_by_its_hash_and_put_back_as_it_came() -> None:
    for within in ("", "input"):
        inner = {"to": ["x"], "attachments": [_file(mime_type="text/x-ada"), _file(filename="b")]}
        asked = {within: inner, "install_id": "i"} if within else inner
        stored, files = extract_files(asked, within)

        assert HELLO not in str(stored)
        named = (stored[within] if within else stored)["attachments"]
        sha256 = hashlib.sha256(b"hello").digest()
        assert named[0] == {
            "filename": "a.txt",
            "mime_type": "text/x-ada",
            "bytes": 5,
            "sha256": sha256.hex(),
        }
        assert named[1]["mime_type"] == "application/octet-stream"
        assert files == {sha256: b"hello"}
        back = restore_files(stored, files, within)
        first, second = (back[within] if within else back)["attachments"]
        assert first == _file(mime_type="text/x-ada")
        assert second["content_base64"] == HELLO
        with pytest.raises(Conflict):
            restore_files(stored, {sha256: b"other"}, within)
        assert restore_files(stored, {}, within) == stored


@pytest.mark.parametrize(
    ("entries", "pointer"),
    [
        ([_file()] * 6, "/attachments"),
        ([_file(content_base64="?")], "/attachments/0/content_base64"),
        ([_file(), _file(content_base64="")], "/attachments/1/content_base64"),
        ([_file(filename=" ")], "/attachments/0/filename"),
        (
            [_file(content_base64=base64.b64encode(b"x" * (MOST_BYTES + 1)).decode())],
            "/attachments/0/content_base64",
        ),
    ],
)
def test_a_file_that_cannot_leave_is_refused_at_its_place(entries: Any, pointer: str) -> None:
    with pytest.raises(Invalid) as refused:
        extract_files({"attachments": entries})
    assert [one.pointer for one in refused.value.findings] == [pointer]


def test_the_largest_file_is_taken() -> None:
    entry = _file(content_base64=base64.b64encode(b"x" * MOST_BYTES).decode())
    _, files = extract_files({"attachments": [entry]})
    assert [len(content) for content in files.values()] == [MOST_BYTES]


def test_an_edit_changes_what_may_be_changed_and_nothing_else() -> None:
    output = DraftMetadata(editable=("text", "cc"))
    places: list[dict[str, Any]] = [{"at": ["token"]}, {"at": ["text", 0]}]
    arguments = {"to": "a", "text": "x", "cc": ["b"], "token": "t"}

    made, left = apply_edits(arguments, places, {"text": "y", "cc": None}, output)

    assert made == {"to": "a", "text": "y", "token": "t"}
    assert list(made) == ["to", "text", "token"]
    # What was a secret there is one no longer.
    assert left == places[:1]
    within = DraftMetadata(within="input", editable=("text",))
    made, _ = apply_edits({"input": {"text": "x"}, "i": 1}, [], {"text": "y"}, within)
    assert made == {"input": {"text": "y"}, "i": 1}
    for envelope in (output, within, DraftMetadata(editable=())):
        with pytest.raises(Invalid) as refused:
            apply_edits(arguments, [], {"to": "evil"}, envelope)
        assert [one.pointer for one in refused.value.findings] == ["/edits/to"]


def test_mistakes_in_an_edit_are_reported_at_the_edited_field() -> None:
    cases = {
        ("/text", ""): "/edits/text",
        ("/input/text", "input"): "/edits/text",
        ("", ""): "/edits",
        ("/install_id", "input"): "/edits",
    }
    for (pointer, within), result in cases.items():
        with pytest.raises(Invalid) as refused:
            raise_edit_findings([Finding(pointer, "No.", "no")], within)
        assert refused.value.findings[0].pointer == result
    raise_edit_findings([], "")


def test_what_was_edited_is_confirmed_with_the_hash_of_what_was_seen() -> None:
    first, edited = {"revision": 1, "bound_hash": b"\x01"}, {"revision": 2, "bound_hash": b"\x02"}
    check_reviewed_revision(first, DraftEdit())
    check_reviewed_revision(first, DraftEdit(seen="01"))
    check_reviewed_revision(edited, DraftEdit(seen="02"))
    check_reviewed_revision(edited, DraftEdit(sends=False))
    for row, wish, code in (
        (edited, DraftEdit(), "draft_edited"),
        (edited, DraftEdit(seen="01"), "draft_changed"),
        (first, DraftEdit(seen="02"), "draft_changed"),
        ({"revision": 1, "bound_hash": None}, DraftEdit(seen="01"), "draft_changed"),
    ):
        with pytest.raises(Conflict) as refused:
            check_reviewed_revision(row, wish)
        assert refused.value.code == code


def test_who_may_approve_follows_from_the_policy() -> None:
    own = {"run_id": None, "actor_id": ADA}
    of_a_run = {"run_id": UUID(int=9), "actor_id": UUID(int=9)}
    usual, apart = ApprovalPolicy(), ApprovalPolicy(author_may_approve=False)
    bosses = ApprovalPolicy(roles=(Role.ADMIN, Role.OWNER))
    ada, bob = (Actor(SPACE, "member", who, role=Role.OPERATOR) for who in (ADA, BOB))
    check_can_approve(usual, ada, own, {ADA})
    check_can_approve(usual, bob, of_a_run, {ADA})
    # Where others must agree, others may.
    check_can_approve(apart, bob, own, {ADA})
    for policy, actor, row, code in (
        (usual, bob, own, "not_your_draft"),
        (bosses, ada, own, "not_an_approver"),
        (apart, ada, own, "author_may_not_approve"),
        (apart, ada, of_a_run, "author_may_not_approve"),
        (usual, Actor(SPACE, "member", ADA), own, "not_an_approver"),
    ):
        with pytest.raises(PermissionDenied) as refused:
            check_can_approve(policy, actor, row, {ADA})
        assert refused.value.code == code


def test_a_members_own_call_is_theirs_to_word_and_to_let_go_of() -> None:
    own = {"run_id": None, "actor_id": ADA}
    of_a_run = {"run_id": UUID(int=9), "actor_id": UUID(int=9)}
    ada, bob, eve = (
        Actor(SPACE, "member", who, role=role)
        for who, role in ((ADA, Role.VIEWER), (BOB, Role.OPERATOR), (UUID(int=4), Role.VIEWER))
    )
    boss = Actor(SPACE, "member", UUID(int=5), role=Role.ADMIN)
    for actor, row in ((ada, own), (bob, of_a_run)):
        check_can_edit(actor, row)
        check_can_discard(actor, row)
    check_can_discard(boss, own)
    for check, actor in ((check_can_edit, bob), (check_can_edit, boss), (check_can_discard, bob)):
        with pytest.raises(PermissionDenied) as refused:
            check(actor, own)
        assert refused.value.code == "not_your_draft"
    seen = [can_read_draft(who, own) for who in (ada, bob, eve, boss)]
    assert seen == [True, True, False, True]
    assert can_read_draft(eve, of_a_run)


def test_what_is_agreed_to_is_bound_to_the_account_and_the_chat() -> None:
    line = UUID(int=7)
    result = connection_binding(
        Account(line, "telegram", "Bot", "@ada_bot", {"chat_id": 42, "user_id": 1})
    )
    assert result == {"connection_id": str(line), "account": "@ada_bot", "chat": 42}
    ways = [None, result, {**result, "account": "@eve_bot"}, {**result, "chat": 66}]
    assert len({compute_binding_hash("a", {}, [], "p", None, "", way) for way in ways}) == 4
    assert connection_binding(None) is None


def test_a_policy_that_nobody_could_fulfil_says_so() -> None:
    roles = ["owner", "admin", "operator", "viewer"]
    assert explain_lockout(ApprovalPolicy(), ["owner"]) is None
    assert explain_lockout(ApprovalPolicy(3), roles) is None
    assert "only 3 members" in str(explain_lockout(ApprovalPolicy(4), roles))
    assert explain_lockout(ApprovalPolicy(2, author_may_approve=False), roles) is None
    assert "may be the author" in str(explain_lockout(ApprovalPolicy(3, (), False), roles))
    assert "only 1 member " in str(explain_lockout(ApprovalPolicy(2, (Role.OWNER,)), roles))
    assert explain_lockout(ApprovalPolicy(1, (), False), ["owner"]) is not None
    strict = ApprovalPolicy(2, (Role.ADMIN,), author_may_approve=False)
    assert parse_approval_policy(strict.as_dict()) == strict
    assert parse_approval_policy({}) == ApprovalPolicy()


def test_an_envelope_says_what_the_capability_leaves_open() -> None:
    async def handler(ctx: Any, arguments: Any) -> Any:
        del ctx, arguments

    def made(name: str, write: Write | None, **more: Any) -> Capability:
        return Capability(
            name, name, {}, {}, handler, write, Annotations(effect=Effect.SEND, **more)
        )

    plain = Write(lambda _: "", editable=("text",), family="message")
    known = envelope_of(made("chat.say", plain), {})
    assert (known.source, known.action, known.editable, known.family) == (
        "chat",
        "chat.say",
        ("text",),
        "message",
    )
    assert envelope_of(made("say", plain), {}).source is None
    routed = made("say", plain, route=ConnectionRoute("slack", frozenset()))
    assert envelope_of(routed, {}).source == "slack"

    def told(given: Any) -> DraftMetadata:
        return DraftMetadata(source=given["source"], action="go", within="input", editable=("to",))

    own = made("act", Write(lambda _: "", envelope=told))
    assert envelope_of(own, {"source": "gmail"}) == DraftMetadata(
        source="gmail", action="go", within="input", editable=("to",), family=""
    )
    # What is not there any more is shown all the same, and nothing of it is edited.
    assert envelope_of(own, {}).editable == ()
    assert envelope_of(None, {}).editable == envelope_of(made("x", None), {}).editable == ()
