"""A draft is sent once, as it was shown, by somebody who may; or it is not sent."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from types import FrameType
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.context import Actor
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
from mainspring.gate.callers import CapabilityCaller
from mainspring.gate.pipeline import Pipeline
from mainspring.runs.inbox_counts import waiting_for
from tests.kit import slack, telegram
from tests.kit.bench import Bench
from tests.kit.drafts import Office, office
from tests.kit.members import member
from tests.kit.outbound_bench import everything
from tests.kit.scripted_server import http_answer
from tests.kit.tenants import NEIGHBOUR, add_workspace

AN_ID = "01900000-0000-7000-8000-0000000000ff"


@pytest_asyncio.fixture
async def here(bench: Bench) -> AsyncIterator[Office]:
    async with office(bench) as made:
        yield made


async def test_bad_input_is_reported_with_its_place_and_the_draft_waits_on(here: Office) -> None:
    draft = await here.nudge()
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("confirm_action", {}, "/draft_id"),
        ("confirm_action", {"draft_id": "the last one"}, "/draft_id"),
        ("confirm_action", {"draft_id": None}, "/draft_id"),
        ("confirm_action", {"draft_id": draft, "edits": {}}, "/edits"),
        ("confirm_action", {"draft_id": draft, "edits": {"chat_id": "1"}}, "/edits/chat_id"),
        ("confirm_action", {"draft_id": draft, "edits": {"text": ""}}, "/edits/text"),
        ("confirm_action", {"draft_id": draft, "edits": {"text": None}}, "/edits/text"),
        ("confirm_action", {"draft_id": draft, "hash": "a2c4"}, "/hash"),
        ("edit_action", {"draft_id": draft}, "/edits"),
        ("edit_action", {"draft_id": draft, "edits": {"to": "x"}}, "/edits/to"),
        ("confirm_actions", {"draft_ids": []}, "/draft_ids"),
        ("confirm_actions", {"draft_ids": [draft] * 51}, "/draft_ids"),
        ("discard_actions", {"draft_ids": [draft] * 101}, "/draft_ids"),
        ("ack_inbox_action", {"id": draft, "decision": "yes"}, "/decision"),
        ("redraft_action", {}, "/draft_id"),
        ("confirm_action", {"draft_ids": [draft]}, "/draft_ids"),
        ("discard_action", {"draft_id": 7}, "/draft_id"),
        ("discard_action", {"draft_id": draft, "reason": ""}, "/reason"),
        ("discard_action", {"draft_id": draft, "reason": "x" * 501}, "/reason"),
        ("list_pending_actions", {"limit": 0}, "/limit"),
        ("list_pending_actions", {"limit": 101}, "/limit"),
        ("list_pending_actions", {"status": "waiting"}, "/status"),
        ("list_pending_actions", {"after": "x"}, "/after"),
    ]
    for capability, arguments, pointer in wrong:
        with pytest.raises(Invalid) as refused:
            await here.ask(capability, arguments)
        assert pointer in {one.pointer for one in refused.value.findings}, (capability, arguments)
    for capability in ("confirm_action", "discard_action"):
        with pytest.raises(NotFound):
            await here.ask(capability, {"draft_id": AN_ID})

    assert here.telegram.requests == []
    (listed,) = (await here.ask("list_pending_actions", {}))["drafts"]
    assert (listed["draft_id"], listed["payload"]) == (draft, {"text": "Hello"})
    assert (await here.confirm(draft))["status"] == "confirmed"
    assert [sent["text"] for sent in here.telegram.messages] == ["Hello"]
    assert (await here.ask("list_pending_actions", {}))["drafts"] == []


async def test_confirming_does_not_pass_the_pipeline_a_second_time(here: Office) -> None:
    first, second = await here.nudge(), await here.nudge()
    passed: set[str] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is Pipeline.call.__code__:
            passed.add(frame.f_locals["ask"].capability)

    sys.setprofile(note)
    try:
        await here.confirm(first)
        await here.ask("confirm_actions", {"draft_ids": [second]})
    finally:
        sys.setprofile(None)

    assert len(here.telegram.messages) == 2
    assert passed == {"confirm_action", "confirm_actions"}


async def test_what_was_held_is_sent_with_its_secrets_and_no_table_knows_them(
    here: Office,
) -> None:
    # Text that looks like a secret came as data, and stays data.
    (draft,) = await here.posts("[secret slack_bot_token]")
    somebody = await member(
        here.bench.application.database, here.bench.application.workspace_id, Role.OPERATOR
    )

    answer = await here.confirm(draft, somebody)
    again = await here.confirm(draft)

    assert again == answer
    assert answer == {
        "draft_id": draft,
        "status": "confirmed",
        "outcome": "sent",
        "action": "slack_post",
        "source": "slack",
        "hash": (await here.row(draft))["bound_hash"].hex(),
        "result": {"channel": "C0123", "ts": "1503435956.000001"},
    }
    assert here.slack.messages == [{"channel": "C0123", "text": "Hello [secret slack_bot_token]"}]
    assert len(here.slack.requests) == 1
    assert slack.TOKEN not in await everything(here.bench)
    row = await here.row(draft)
    assert (row["answered_kind"], row["answered_by"]) == ("member", somebody.actor.id)
    database = here.bench.application.database
    (called,) = await database.fetch("SELECT * FROM direct_calls WHERE id = $1", row["call_id"])
    assert (called["capability"], called["outcome"]) == ("slack_post", "sent")
    assert called["actor_id"] == somebody.actor.id
    told = await database.fetch(
        "SELECT action, detail FROM audit_log WHERE actor_id = $1", somebody.actor.id
    )
    by_action = {entry["action"]: entry["detail"] for entry in told}
    assert by_action["secret.used"]["call"] == f"draft/{draft}"
    assert by_action["slack_post"]["draft"] == draft
    assert by_action["slack_post"]["hash"] == by_action["draft.approved"]["hash"] == answer["hash"]
    assert row["approved_hash"] == row["bound_hash"]
    assert "confirm_action" in by_action


async def test_a_draft_of_an_integration_is_done_by_its_action(here: Office) -> None:
    held = {}
    for name, given in (
        ("slack_post", {"channel": "C0123", "text": "Hi"}),
        ("telegram_push", {"text": "Hi"}),
    ):
        install = name.partition("_")[0]
        asked = {"install_id": str(install_id_of(install)), "action_name": name, "input": given}
        held[name] = (await here.ask("act_on_integration", asked))["draft_id"]
    # Its edits are of the input, by the fields that the action lists.
    edits = {"draft_id": held["telegram_push"], "edits": {"input": {"text": "x"}}}
    with pytest.raises(Invalid) as refused:
        await here.ask("edit_action", edits)
    assert [one.pointer for one in refused.value.findings] == ["/edits/input"]
    edited = await here.ask("edit_action", {**edits, "edits": {"text": "Hi there"}})
    assert (edited["action"], edited["payload"]["input"]) == ("telegram_push", {"text": "Hi there"})
    with pytest.raises(Conflict):
        await here.confirm(held["telegram_push"])
    sure = {"draft_id": held["telegram_push"], "hash": edited["hash"]}
    await here.ask("confirm_action", sure)

    answers = {name: await here.confirm(draft) for name, draft in held.items()}

    assert answers["slack_post"]["result"]["channel"] == "C0123"
    assert answers["telegram_push"]["result"] == {"message_id": 101}
    assert here.slack.messages == [{"channel": "C0123", "text": "Hi"}]
    assert [message["text"] for message in here.telegram.messages] == ["Hi there"]


async def test_a_draft_waits_on_while_what_it_needs_is_not_set_up(here: Office) -> None:
    mail = {"to": ["ada@example.com"], "subject": "Hi", "text": "Hello."}
    asked = {
        "install_id": str(install_id_of("email")),
        "action_name": "send_email",
        "input": {"to": mail["to"], "subject": "Hi", "body": "Hello."},
    }
    # This application has no mail server, and its first member no address.
    held = {
        (await here.ask(name, given))["draft_id"]: code
        for name, given, code in (
            ("send_email", mail, "mail_not_set_up"),
            ("act_on_integration", asked, "mail_not_set_up"),
            ("email.notify_owner", {"subject": "Hi", "text": "Hello."}, "owner_mail_missing"),
        )
    }
    (post,), nudge = await here.posts("you"), await here.nudge()
    vault, secret_scope = here.bench.application.vault, here.bench.secret_scope
    for name in ("slack_bot_token", "telegram_bot_token"):
        await vault.delete(secret_scope, name)
    for draft, code in {**held, post: "secret_missing", nudge: "secret_missing"}.items():
        for _ in range(2):
            with pytest.raises(Problem) as refused:
                await here.confirm(draft)
            assert refused.value.code == code
            setting = "mainspring secrets set" if code == "secret_missing" else "MAINSPRING_"
            assert setting in str(refused.value.suggestion)
        row = await here.row(draft)
        assert (row["status"], row["answered_by"], row["call_id"]) == ("pending", None, None)
        # It says why it could not leave, and waits for the person who agreed to it as before.
        assert row["error"]["code"] == code
    async with here.bench.application.database.transaction() as tx:
        assert (await waiting_for(tx, here.owner.actor))["drafts"] == len(held) + 2

    await vault.set(secret_scope, "slack_bot_token", slack.TOKEN)
    await vault.set(secret_scope, "telegram_bot_token", telegram.TOKEN)
    for draft in (post, nudge):
        assert (await here.confirm(draft))["outcome"] == "sent"
        assert (await here.row(draft))["error"] is None
    assert (len(here.slack.messages), len(here.telegram.messages)) == (1, 1)


async def test_a_hundred_who_confirm_and_discard_at_once_send_it_at_most_once(here: Office) -> None:
    drafts = [await here.nudge(f"n{number}") for number in range(3)]

    async def one(number: int, draft: str) -> str:
        # The first one is wanted by all of them, so that something is sent for certain.
        discards = number % 10 == 9 and draft != drafts[0]
        capability = "discard_action" if discards else "confirm_action"
        try:
            answer = await here.ask(capability, {"draft_id": draft})
        except Conflict as problem:
            return problem.code
        return str(answer["status"])

    for draft in drafts:
        many = range(100 if draft == drafts[0] else 40)
        said = Counter(await asyncio.gather(*(one(number, draft) for number in many)))
        row = await here.row(draft)
        assert row["status"] in ("confirmed", "discarded")
        sent = row["status"] == "confirmed"
        allowed = (
            {"confirmed", "draft_sending", "draft_answered"}
            if sent
            else {"discarded", "draft_discarded"}
        )
        assert set(said) <= allowed, said
        assert said[row["status"]] >= 1
    texts = Counter(message["text"] for message in here.telegram.messages)
    assert set(texts.values()) == {1}
    assert len(here.telegram.requests) == len(texts)


async def test_a_process_that_is_killed_at_the_send_leaves_it_in_doubt_and_nobody_repeats_it(
    here: Office,
) -> None:
    draft = await here.nudge("Once")
    here.telegram.script = [None]
    settings = here.bench.application.settings
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.kit.confirming_process",
        str(settings.database_url),
        str(settings.home),
        here.telegram.url,
        here.telegram.pair,
        draft,
    )
    async with asyncio.timeout(60):
        while not here.telegram.requests:
            assert process.returncode is None
            await asyncio.sleep(0.01)
    process.kill()
    await process.wait()

    with pytest.raises(Conflict, match="being sent right now"):
        await here.confirm(draft)
    with pytest.raises(Conflict, match="being sent right now"):
        await here.ask("discard_action", {"draft_id": draft})
    await here.change(draft, "answered_at = now() - interval '7 minutes'")
    answers = [await here.confirm(draft) for _ in range(3)]

    assert {(one["status"], one["outcome"]) for one in answers} == {("failed", "unknown")}
    assert answers[0]["error"]["code"] == "send_in_doubt"
    (listed,) = (await here.ask("list_pending_actions", {"status": "failed"}))["drafts"]
    assert (listed["draft_id"], listed["outcome"]) == (draft, "unknown")
    assert len(here.telegram.requests) == 1


async def test_a_caller_may_disconnect_and_the_started_call_is_recorded(here: Office) -> None:
    draft = await here.nudge()
    asking = asyncio.create_task(here.confirm(draft))
    async with asyncio.timeout(60):
        while (await here.row(draft))["status"] == "pending":
            await asyncio.sleep(0)
    asking.cancel()
    await asyncio.wait({asking})

    assert (await here.confirm(draft))["status"] == "confirmed"
    assert len(here.telegram.messages) == 1


async def test_what_the_other_side_says_decides_whether_it_is_in_doubt(here: Office) -> None:
    cases = {
        "refused": (slack.refusal("channel_not_found"), "not_sent"),
        "busy": (http_answer(429, b"{}", "Retry-After: 30"), "not_sent"),
        "busy for how long": (http_answer(429, b"{}"), "not_sent"),
        "not there": (http_answer(404, b""), "not_sent"),
        "broken": (http_answer(500, b"oops"), "unknown"),
        "down": (http_answer(503, b"", "Retry-After: 30"), "unknown"),
        "half done": (slack.refusal("fatal_error"), "unknown"),
        "elsewhere": (http_answer(302, b"", "Location: https://slack.com/"), "unknown"),
        "a stranger": (http_answer(200, b"<html>"), "unknown"),
        "cut off": (b"", "unknown"),
    }
    drafts = await here.posts(*cases)
    for draft, (name, (said, outcome)) in zip(drafts, cases.items(), strict=True):
        here.slack.script = [said or b"HTTP/1.1 2"]
        answer = await _while_it_hangs(here, draft) if not said else await here.confirm(draft)
        assert (answer["status"], answer["outcome"]) == ("failed", outcome), (name, answer)
        count = len(here.slack.requests)
        assert await here.confirm(draft) == answer
        assert len(here.slack.requests) == count
    assert here.slack.messages == []


async def _while_it_hangs(here: Office, draft: str) -> Any:
    """Confirms while the other side goes away in the middle of its answer."""
    before = len(here.slack.requests)
    asking = asyncio.create_task(here.confirm(draft))
    async with asyncio.timeout(60):
        while len(here.slack.requests) == before:
            await asyncio.sleep(0.005)
    await here.slack.stop()
    return await asking


async def test_only_somebody_of_this_workspace_who_may_decide_confirms(here: Office) -> None:
    application = here.bench.application
    (draft,) = await here.posts("Ada")
    own = await here.nudge()
    await add_workspace(application.database, NEIGHBOUR, "Next door")
    viewer = await member(application.database, application.workspace_id, Role.VIEWER)
    operator = await member(application.database, application.workspace_id, Role.OPERATOR)
    stranger = await member(application.database, NEIGHBOUR, Role.OWNER)
    client = CapabilityCaller(replace(operator.actor, kind="client", token_id=generate_id()))
    limited = CapabilityCaller(client.actor, capabilities=frozenset({"list_pending_actions"}))
    refusals: list[tuple[CapabilityCaller, str, type[Problem], str]] = [
        (viewer, draft, PermissionDenied, "role_too_small"),
        (stranger, draft, NotFound, "no_draft"),
        (limited, draft, NotFound, "unknown_capability"),
        (operator, own, PermissionDenied, "not_your_draft"),
        (client, draft, PermissionDenied, "person_needed"),
    ]
    for caller, whose, kind, code in refusals:
        with pytest.raises(kind) as refused:
            await here.confirm(whose, caller)
        assert refused.value.code == code
    for caller in (viewer, stranger):
        with pytest.raises(Problem):
            await here.ask("discard_action", {"draft_id": draft}, caller)
    assert (await here.ask("list_pending_actions", {}, stranger))["drafts"] == []
    assert here.slack.requests == here.telegram.requests == []

    assert (await here.confirm(draft, operator))["outcome"] == "sent"
    row = await here.row(draft)
    assert (row["answered_kind"], row["answered_by"]) == ("member", operator.actor.id)


async def test_nobody_whose_words_they_are_approves_where_an_author_may_not(here: Office) -> None:
    application = here.bench.application
    bob, carol, dave = [
        await member(application.database, application.workspace_id, Role.EDITOR) for _ in range(3)
    ]
    (draft,) = await here.posts("Ada")
    await application.database.execute("UPDATE automation_versions SET author = $1", bob.actor.id)
    await here.ask("set_approval_policy", {"author_may_approve": False})

    async def turned_away(named: str, caller: CapabilityCaller, **more: Any) -> None:
        with pytest.raises(PermissionDenied) as refused:
            await here.ask("confirm_action", {"draft_id": named, **more}, caller)
        assert refused.value.code == "author_may_not_approve"

    for author in (here.owner, bob):
        await turned_away(draft, author)
    await turned_away(draft, carol, edits={"text": "Carol's"})
    assert (await here.row(draft))["revision"] == 1
    edit = {"draft_id": draft, "edits": {"text": "Carol's"}}
    edited = await here.ask("edit_action", edit, carol)
    await turned_away(draft, carol, hash=edited["hash"])
    # They stay Carol's words when they are drafted again, and what their author let go of is
    # drafted again by nobody else.
    await here.ask("discard_action", {"draft_id": draft}, carol)
    with pytest.raises(PermissionDenied):
        await here.ask("redraft_action", {"draft_id": draft}, dave)
    again = (await here.ask("redraft_action", {"draft_id": draft}, carol))["draft_id"]
    await turned_away(again, carol)
    assert here.slack.requests == []

    assert (await here.confirm(again, dave))["outcome"] == "sent"
    assert [one["text"] for one in here.slack.messages] == ["Carol's"]


async def test_an_actor_without_a_role_confirms_nothing(here: Office) -> None:
    draft = await here.nudge()
    nobody = CapabilityCaller(Actor(here.bench.application.workspace_id, "member", generate_id()))
    with pytest.raises(PermissionDenied):
        await here.confirm(draft, nobody)
    assert here.telegram.requests == []


async def test_a_draft_whose_time_is_over_is_refused_and_stays_listed(here: Office) -> None:
    late, early = await here.nudge("late"), await here.nudge("early")
    await here.change(late, "expires_at = now() - interval '1 second'")
    await here.change(early, "expires_at = now() + interval '5 seconds'")

    for capability in ("confirm_action", "discard_action"):
        with pytest.raises(Expired) as refused:
            await here.ask(capability, {"draft_id": late})
        assert refused.value.code == "draft_expired"
    assert (await here.confirm(early))["outcome"] == "sent"

    (listed,) = (await here.ask("list_pending_actions", {"status": "expired"}))["drafts"]
    assert (listed["draft_id"], listed["status"]) == (late, "expired")
    assert [message["text"] for message in here.telegram.messages] == ["early"]


async def test_a_draft_that_is_not_what_was_shown_is_not_sent(here: Office) -> None:
    changes: list[tuple[str, tuple[Any, ...]]] = [
        ("arguments = $2", ({"channel": "C9999", "text": "Hello", "token": "x"},)),
        ("arguments = $2, arguments_hash = $3", ({"channel": "C9"}, b"0" * 16)),
        ("preview = 'Something harmless'", ()),
        ("secrets = '[]'", ()),
        ("""secrets = '[{"at": ["token"], "parts": [{"secret": "telegram_bot_token"}]}]'""", ()),
        ("capability = 'telegram_push'", ()),
        ("version = 2", ()),
        ("automation_id = NULL, version = NULL", ()),
        ("bound_hash = NULL", ()),
    ]
    drafts = await here.posts(*(f"p{number}" for number in range(len(changes) + 1)))
    for draft, (assignment, values) in zip(drafts[1:], changes, strict=True):
        await here.change(draft, assignment, *values)
        with pytest.raises(Conflict) as refused:
            await here.confirm(draft)
        assert refused.value.code == "draft_changed", assignment
        assert (await here.row(draft))["status"] == "pending"
    # Grants that were changed under it are not those that it was asked under.
    whose = (await here.row(drafts[0]))["automation_id"]
    await here.bench.application.database.execute(
        "UPDATE automation_versions SET grants = '[]' WHERE automation_id = $1", UUID(str(whose))
    )
    with pytest.raises(Conflict):
        await here.confirm(drafts[0])
    assert here.slack.requests == []


async def test_a_discarded_draft_is_never_sent_and_says_why(here: Office) -> None:
    draft = await here.nudge()
    asked = {"draft_id": draft, "reason": "Wrong chat."}

    answer = await here.ask("discard_action", asked)
    again = await here.ask("discard_action", {"draft_id": draft})

    assert answer == again == {"ok": True, "draft_id": draft, "status": "discarded"}
    with pytest.raises(Conflict) as refused:
        await here.confirm(draft)
    assert refused.value.code == "draft_discarded"
    row = await here.row(draft)
    assert (row["reason"], row["outcome"]) == ("Wrong chat.", "not_sent")
    sent = await here.nudge("another")
    await here.confirm(sent)
    with pytest.raises(Conflict) as late:
        await here.ask("discard_action", {"draft_id": sent})
    assert late.value.code == "draft_answered"
    assert [message["text"] for message in here.telegram.messages] == ["another"]
    assert telegram.TOKEN not in await everything(here.bench)
