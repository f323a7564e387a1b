"""What is sent is what the confirmer saw: edits, batches, approvers, files and second drafts."""

from __future__ import annotations

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.contracts.errors import (
    Conflict,
    Expired,
    Invalid,
    NotFound,
    PermissionDenied,
    Problem,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.runs.inbox_counts import waiting_for
from tests.kit.bench import Bench
from tests.kit.mail_drafts import MailDrafts, letter_box
from tests.kit.members import member
from tests.kit.tenants import NEIGHBOUR, add_workspace

WRONG = "ab" * 32
UNSET = {"draft_seconds": None, "held_seconds": None}


@pytest_asyncio.fixture
async def box(bench: Bench) -> AsyncIterator[MailDrafts]:
    async with letter_box(bench, draft_seconds=600.0) as made:
        yield made


async def _refused(kind: type[Problem], asking: Any) -> Problem:
    with pytest.raises(kind) as refused:
        await asking
    return refused.value


async def test_an_edit_makes_another_wording_which_only_its_own_hash_sends(box: MailDrafts) -> None:
    draft = await box.draft("Hello", seal="red")
    assert (draft["kind"], draft["action"]) == ("draft", "send_letter")
    # What cannot be edited, or would not be valid, changes nothing and sends nothing.
    for edits, pointer in (
        ({"seal": "blue"}, "/edits/seal"),
        ({"input": {}}, "/edits/input"),
        ({"body": ""}, "/edits/body"),
        ({"to": ["nobody"]}, "/edits/to/0"),
        ({"body": None}, "/edits/body"),
    ):
        for name in ("edit_action", "confirm_action"):
            asked = {"draft_id": draft["draft_id"], "edits": edits}
            problem = await _refused(Invalid, box.ask(name, asked))
            assert pointer in {one.pointer for one in problem.findings}, (name, edits)
    assert (await box.row(draft))["revision"] == 1

    asked = {"draft_id": draft["draft_id"], "edits": {"body": "Goodbye", "cc": ["b@example.com"]}}
    edited = await box.ask("edit_action", asked)

    assert edited["hash"] != draft["hash"]
    assert (edited["revision"], edited["status"]) == (2, "pending")
    assert "Goodbye" in edited["preview"]
    assert edited["payload"]["input"]["seal"] == "red"
    for more, code in (
        ({}, "draft_edited"),
        ({"hash": draft["hash"]}, "draft_changed"),
        ({"hash": WRONG}, "draft_changed"),
        ({"edits": {"body": "x"}}, "draft_edited"),
    ):
        assert (await _refused(Conflict, box.confirm(draft, **more))).code == code
    together = await box.ask("confirm_actions", {"draft_ids": [draft["draft_id"]]})
    assert together["results"][0]["error"]["code"] == "draft_edited"
    assert box.sent == []

    answer = await box.confirm(draft, hash=edited["hash"].upper())

    assert answer == {
        "draft_id": draft["draft_id"],
        "status": "confirmed",
        "outcome": "sent",
        "source": "post",
        "action": "send_letter",
        "hash": edited["hash"],
        "result": {"message_id": "m1"},
    }
    assert await box.confirm(draft) == answer
    [sent] = box.sent
    assert (sent["body"], sent["cc"], sent["seal"]) == ("Goodbye", ["b@example.com"], "red")
    row = await box.row(draft)
    assert (row["approved_hash"].hex(), row["revision"]) == (edited["hash"], 2)
    stored = await box.application.database.fetch(
        "SELECT revision, bound_hash, edited_by FROM draft_revisions ORDER BY revision"
    )
    assert [(one["revision"], one["bound_hash"].hex()) for one in stored] == [
        (1, draft["hash"]),
        (2, edited["hash"]),
    ]
    result = await box.audited(draft)
    approved = {"hash": edited["hash"], "revision": 2, "approvals": 1, "needed": 1}
    assert ("draft.approved", {**approved, "channel": "page"}) in result
    assert [name for name, _ in result].count("draft.edited") == 1


async def test_confirming_with_edits_agrees_to_the_edited_text(box: MailDrafts) -> None:
    draft = await box.draft("Hello")
    answer = await box.confirm(draft, hash=draft["hash"], edits={"body": "Mine"})
    assert box.sent[0]["body"] == "Mine"
    row = await box.row(draft)
    assert answer["hash"] == row["approved_hash"].hex() == row["bound_hash"].hex() != draft["hash"]
    # The same words are no other wording.
    same = await box.draft("Same")
    assert (await box.confirm(same, edits={"body": "Same"}))["hash"] == same["hash"]
    # A wording that was changed behind everybody's back is not sent, edited or not.
    for more in ({}, {"edits": {"body": "x"}}):
        other = await box.draft("Changed")
        await box.application.database.execute(
            "UPDATE drafts SET arguments = $2 WHERE id = $1",
            UUID(other["draft_id"]),
            {"input": {"to": ["evil@example.com"], "body": "Changed"}},
        )
        problem = await _refused(Conflict, box.confirm(other, hash=other["hash"], **more))
        assert problem.code == "draft_changed"
    assert len(box.sent) == 2


async def test_a_set_is_answered_in_order_and_one_that_fails_stops_nobody(box: MailDrafts) -> None:
    batch = str(generate_id())
    drafts = [
        await box.draft(body, batch_id=batch, notify=["inbox", "telegram"])
        for body in ("One", "Boom", "Three", "Four", "Five")
    ]
    one, boom, three, four, five = (draft["draft_id"] for draft in drafts)
    await box.ask("edit_action", {"draft_id": four, "edits": {"body": "Fourth"}})
    listed = await box.ask("list_pending_actions", {"source": "post", "limit": 5})
    assert (listed["count"], len(listed["drafts"])) == (5, 5)
    shown = {entry["draft_id"]: entry for entry in listed["drafts"]}
    assert {entry["batch_id"] for entry in shown.values()} == {batch}
    assert shown[one]["notify_targets"] == ["inbox", "telegram"]
    assert (shown[one]["action"], shown[one]["hash"]) == ("send_letter", drafts[0]["hash"])
    assert (await box.ask("list_pending_actions", {"source": "slack"}))["count"] == 0
    hashes = {four: shown[four]["hash"], five: WRONG}

    nobody = str(generate_id())
    asked = {"draft_ids": [one, boom, nobody, three, four, five], "hashes": hashes}
    results = (await box.ask("confirm_actions", asked))["results"]

    assert [entry["draft_id"] for entry in results] == asked["draft_ids"]
    assert [entry["status"] for entry in results] == [
        "confirmed",
        "failed",
        "failed",
        "confirmed",
        "confirmed",
        "failed",
    ]
    assert (results[0]["source"], results[0]["action"]) == ("post", "send_letter")
    assert [entry.get("error", {}).get("code") for entry in results] == [
        None,
        "shut",
        "no_draft",
        None,
        None,
        "draft_changed",
    ]
    assert [mail["body"] for mail in box.sent] == ["One", "Three", "Fourth"]
    again = (await box.ask("confirm_actions", asked))["results"]
    assert again[0] == results[0]
    assert len(box.sent) == 3
    dropped = await box.ask("discard_actions", {"draft_ids": [five, one, nobody]})
    assert [entry["status"] for entry in dropped["results"]] == ["discarded", "failed", "failed"]
    for entry, words in (
        (one, "draft.approved"),
        (nobody, "draft.refused"),
        (five, "draft.discarded"),
    ):
        assert words in {name for name, _ in await box.audited({"draft_id": entry})}
    calls = await box.application.database.fetch(
        "SELECT capability, outcome FROM direct_calls WHERE capability LIKE '%_actions' "
        "AND outcome <> 'read' ORDER BY id"
    )
    # A set in which nothing was sent is no confirmation, and on record all the same.
    assert [(row["capability"], row["outcome"]) for row in calls] == [
        ("confirm_actions", "confirmed"),
        ("confirm_actions", "confirmed"),
        ("discard_actions", "kept"),
    ]


async def test_files_are_bound_by_their_hash_and_arrive_as_they_came(box: MailDrafts) -> None:
    content = base64.b64encode(b"%PDF secret bytes").decode()
    file = {"filename": "a.pdf", "content_base64": content}
    for wrong, pointer in (
        ([file] * 6, "/input/attachments"),
        ([{**file, "content_base64": "no"}], "/input/attachments/0/content_base64"),
    ):
        problem = await _refused(Invalid, box.draft(attachments=wrong))
        assert pointer in {one.pointer for one in problem.findings}
    draft, changed = [await box.draft("See file", attachments=[file]) for _ in range(2)]
    sha256 = hashlib.sha256(b"%PDF secret bytes").hexdigest()
    listed = await box.ask("list_pending_actions", {})
    for shown in (draft["payload"], listed["drafts"][0]["payload"]):
        assert shown["input"]["attachments"] == [
            {"filename": "a.pdf", "mime_type": "application/pdf", "bytes": 17, "sha256": sha256}
        ]
    assert content not in str(listed) + str(draft)
    await box.application.database.execute(
        "UPDATE draft_attachments SET content = 'x' WHERE draft_id = $1", UUID(changed["draft_id"])
    )
    assert (await _refused(Conflict, box.confirm(changed))).code == "draft_changed"

    edited = await box.ask(
        "edit_action", {"draft_id": draft["draft_id"], "edits": {"body": "See the file"}}
    )
    await box.application.database.execute(
        "UPDATE drafts SET expires_at = now() WHERE id = $1", UUID(draft["draft_id"])
    )
    again = await box.ask("redraft_action", {"draft_id": draft["draft_id"]})
    assert again["hash"] == edited["hash"]
    await box.confirm(again)
    [sent] = box.sent
    assert sent["attachments"] == [{**file, "mime_type": "application/pdf"}]
    assert sent["body"] == "See the file"


async def test_what_ran_out_is_drafted_again_with_the_same_bytes_once(box: MailDrafts) -> None:
    space = box.application.workspace_id
    lasting = await box.draft("Lasting")
    row = await box.row(lasting)
    assert 590 < (row["expires_at"] - row["created_at"]).total_seconds() < 610
    await box.ask("set_approval_policy", {"draft_seconds": 86_400})
    row = await box.row(draft := await box.draft("Late"))
    assert (row["expires_at"] - row["created_at"]).total_seconds() > 86_000
    waits = await _refused(Conflict, box.ask("redraft_action", {"draft_id": draft["draft_id"]}))
    assert waits.code == "draft_waits"
    await box.application.database.execute(
        "UPDATE drafts SET expires_at = now() WHERE id = $1", UUID(draft["draft_id"])
    )
    for name in ("confirm_action", "edit_action"):
        asked = {"draft_id": draft["draft_id"], "edits": {"body": "x"}}
        problem = await _refused(Expired, box.ask(name, asked))
        assert "redraft_action" in str(problem.suggestion)
    pending = (await box.ask("list_pending_actions", {}))["drafts"]
    assert [entry["draft_id"] for entry in pending] == [lasting["draft_id"]]
    [expired] = (await box.ask("list_pending_actions", {"status": "expired"}))["drafts"]
    assert expired["draft_id"] == draft["draft_id"]
    operator = await box.member(Role.OPERATOR)
    asked = {"draft_id": draft["draft_id"]}
    assert (await _refused(PermissionDenied, box.ask("redraft_action", asked, operator))).code == (
        "not_your_draft"
    )

    first, second = await asyncio.gather(*(box.ask("redraft_action", asked) for _ in range(2)))

    assert first["draft_id"] == second["draft_id"] != draft["draft_id"]
    assert (first["hash"], first["redraft_of"]) == (draft["hash"], draft["draft_id"])
    assert (first["status"], first["revision"]) == ("pending", 1)
    assert (await box.confirm(first))["outcome"] == "sent"
    assert [mail["body"] for mail in box.sent] == ["Late"]
    problem = await _refused(Conflict, box.ask("redraft_action", {"draft_id": first["draft_id"]}))
    assert problem.code == "draft_answered"
    await box.application.database.execute(
        "UPDATE drafts SET status = 'failed', outcome = 'unknown' WHERE workspace_id = $1 "
        "AND id = $2",
        space,
        UUID(lasting["draft_id"]),
    )
    problem = await _refused(Conflict, box.ask("redraft_action", {"draft_id": lasting["draft_id"]}))
    assert problem.code == "send_in_doubt"


async def test_whichever_of_a_line_is_drafted_again_all_of_it_is_looked_at(
    box: MailDrafts,
) -> None:
    async def stand(draft: Any, assignment: str) -> None:
        await box.application.database.execute(
            f"UPDATE drafts SET {assignment} WHERE id = $1", UUID(draft["draft_id"])
        )

    async def again(draft: Any, visitor: Any = None) -> Any:
        return await box.ask("redraft_action", {"draft_id": draft["draft_id"]}, visitor)

    first = await box.draft("Once")
    await stand(first, "expires_at = now()")
    second = await again(first)
    for assignment, code in (
        ("status = 'failed', outcome = 'unknown'", "send_in_doubt"),
        ("status = 'sending', outcome = NULL, answered_at = now()", "send_in_doubt"),
        ("status = 'confirmed', outcome = 'sent'", "draft_answered"),
    ):
        await stand(second, assignment)
        for draft in (first, second):
            assert (await _refused(Conflict, again(draft))).code == code
    await stand(second, "status = 'failed', outcome = 'not_sent'")
    thirds = await asyncio.gather(again(first), again(second), again(first))
    assert len({one["draft_id"] for one in thirds}) == 1
    assert thirds[0]["redraft_of"] == second["draft_id"]
    assert (await _refused(Conflict, again(thirds[0]))).code == "draft_waits"

    # A member's own call is no other's to repeat, to see whole without a say, or to let go of.
    operator, viewer = await box.member(Role.OPERATOR), await box.member(Role.VIEWER)
    await box.ask("set_approval_policy", {"author_may_approve": False})
    dropping = {"draft_id": thirds[0]["draft_id"]}
    for asking in (again(first, operator), box.ask("discard_action", dropping, operator)):
        assert (await _refused(PermissionDenied, asking)).code == "not_your_draft"
    for reader, body in ((viewer, None), (operator, "Once"), (box.owner, "Once")):
        [shown] = (await box.ask("list_pending_actions", {}, reader))["drafts"]
        assert shown["payload"].get("input", {}).get("body") == body
        assert "Once" in shown["preview"]
    await box.ask("discard_action", dropping)
    assert (await _refused(PermissionDenied, again(first, operator))).code == "not_your_draft"
    # A hash is held against its draft however that is spelt, and against no other.
    fourth = (await again(first))["draft_id"]
    for key in (str(generate_id()), "the last one"):
        asked = {"draft_ids": [fourth], "hashes": {fourth: WRONG, key: WRONG}}
        problem = await _refused(Invalid, box.ask("confirm_actions", asked, operator))
        assert [one.pointer for one in problem.findings] == [f"/hashes/{key}"]
    asked = {"draft_ids": [fourth], "hashes": {fourth.upper(): WRONG}}
    [result] = (await box.ask("confirm_actions", asked, operator))["results"]
    assert result["error"]["code"] == "draft_changed"
    assert box.sent == []


async def test_as_many_people_agree_as_the_workspace_wants_to_the_same_words(
    box: MailDrafts,
) -> None:
    admin, editor = await box.member(Role.ADMIN), await box.member(Role.EDITOR)
    for policy, pointer in (
        ({"approvers": 4}, "/approvers"),
        ({"approvers": 0}, "/approvers"),
        ({"roles": ["viewer"]}, "/roles/0"),
        ({"approvers": 2, "roles": ["editor"]}, "/approvers"),
    ):
        problem = await _refused(Invalid, box.ask("set_approval_policy", policy))
        assert pointer in {one.pointer for one in problem.findings}, policy
    assert isinstance(
        await _refused(PermissionDenied, box.ask("set_approval_policy", {"approvers": 1}, admin)),
        PermissionDenied,
    )
    two = {"approvers": 2, "author_may_approve": False}
    set_ = await box.ask("set_approval_policy", two)
    assert (
        await box.ask("get_approval_policy", {}, editor)
        == set_
        == {
            "approvers": 2,
            "roles": [],
            "author_may_approve": False,
            **UNSET,
        }
    )
    draft = await box.draft("Careful")
    own = await _refused(PermissionDenied, box.confirm(draft))
    assert own.code == "author_may_not_approve"

    for _ in range(2):
        first = await box.confirm(draft, editor)
        assert (first["status"], first["outcome"]) == ("approved", "not_sent")
        assert (first["approvals"], first["needed"], first["hash"]) == (1, 2, draft["hash"])
    # It waits for those who have not agreed yet, and not for its author.
    async with box.application.database.transaction() as tx:
        waits = [(await waiting_for(tx, one.actor))["drafts"] for one in (editor, admin, box.owner)]
    assert waits == [0, 1, 0]
    # Other words are not what anybody has agreed to.
    # They are the author's to give, who may not agree to them.
    words = {"draft_id": draft["draft_id"], "edits": {"body": "Very careful"}}
    for name in ("edit_action", "confirm_action"):
        assert (
            await _refused(PermissionDenied, box.ask(name, words, admin))
        ).code == "not_your_draft"
    edited = await box.ask("edit_action", words)
    once = await box.confirm(draft, admin, hash=edited["hash"])
    assert (once["status"], once["approvals"]) == ("approved", 1)
    assert box.sent == []
    # Anyone who has left has agreed to nothing.
    database = box.application.database
    await database.execute("DELETE FROM members WHERE user_id = $1", admin.actor.id)
    assert (await box.confirm(draft, editor, hash=edited["hash"]))["approvals"] == 1
    await database.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'admin')",
        box.application.workspace_id,
        admin.actor.id,
    )
    last = await box.confirm(draft, editor, hash=edited["hash"])
    assert (last["status"], last["outcome"]) == ("confirmed", "sent")
    assert [mail["body"] for mail in box.sent] == ["Very careful"]
    row = await box.row(draft)
    assert (row["approvers"], row["approved_hash"].hex()) == (2, edited["hash"])
    agreed = await database.fetch("SELECT member_id, bound_hash FROM draft_approvals")
    assert {(one["member_id"], one["bound_hash"].hex()) for one in agreed} == {
        (editor.actor.id, edited["hash"]),
        (admin.actor.id, edited["hash"]),
    }

    await box.ask(
        "set_approval_policy", {"approvers": 1, "roles": ["admin"], "author_may_approve": True}
    )
    draft = await box.draft("By role")
    assert (await _refused(PermissionDenied, box.confirm(draft))).code == "not_an_approver"


async def test_a_hundred_who_want_it_with_and_without_edits_send_one_wording(
    box: MailDrafts,
) -> None:
    draft = await box.draft("Race")
    asked = {"draft_id": draft["draft_id"], "hash": draft["hash"]}

    async def one(number: int) -> str:
        kinds: list[tuple[str, dict[str, Any]]] = [
            ("confirm_action", asked),
            ("confirm_action", {**asked, "edits": {"body": "Edited"}}),
            ("edit_action", {**asked, "edits": {"body": f"e{number}"}}),
            ("confirm_actions", {"draft_ids": [draft["draft_id"]]}),
            ("discard_actions", {"draft_ids": [draft["draft_id"]]}),
        ]
        try:
            name, given = kinds[number % 5]
            await box.ask(name, given)
        except Problem as problem:
            return problem.code
        return name

    output = set(await asyncio.gather(*(one(number) for number in range(100))))
    row = await box.row(draft)
    assert len(box.sent) == (1 if row["status"] == "confirmed" else 0)
    assert output <= {
        "confirm_action",
        "edit_action",
        "confirm_actions",
        "discard_actions",
        "draft_changed",
        "draft_edited",
        "draft_sending",
        "draft_answered",
        "draft_discarded",
        "too_many_calls",
    }
    if box.sent:
        # What left is what was agreed to, in whichever words that was.
        assert row["approved_hash"] == row["bound_hash"]
        assert box.sent[0]["body"] == row["arguments"]["input"]["body"]


async def test_a_decision_is_recorded_once_for_each_person_and_sends_nothing(
    box: MailDrafts,
) -> None:
    draft = await box.draft("Decide")
    asked = {"id": draft["draft_id"], "decision": "approved"}
    answer = await box.ask("ack_inbox_action", asked)
    assert answer == {"ok": True, **asked, "recorded": True}
    again = await box.ask("ack_inbox_action", {**asked, "decision": "declined"})
    assert again == {"ok": True, **asked, "recorded": False}
    operator = await box.member(Role.OPERATOR)
    other = await box.ask("ack_inbox_action", {**asked, "decision": "declined"}, operator)
    assert (other["decision"], other["recorded"]) == ("declined", True)
    await add_workspace(box.application.database, NEIGHBOUR, "Next door")
    anonymous = await member(box.application.database, NEIGHBOUR, Role.OWNER)
    await _refused(NotFound, box.ask("ack_inbox_action", asked, anonymous))
    for name, given in (
        ("edit_action", {"draft_id": draft["draft_id"], "edits": {"body": "x"}}),
        ("redraft_action", {"draft_id": draft["draft_id"]}),
        ("confirm_action", {"draft_id": draft["draft_id"], "hash": draft["hash"]}),
    ):
        assert (await _refused(NotFound, box.ask(name, given, anonymous))).code == "no_draft"
        viewer = await box.member(Role.VIEWER)
        assert (
            await _refused(PermissionDenied, box.ask(name, given, viewer))
        ).code == "role_too_small"
    assert (box.sent, (await box.row(draft))["status"]) == ([], "pending")
