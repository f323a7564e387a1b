"""What the documentation of integrations prints, done over MCP with a member's own token.

The tests tell one story in their order: nothing is connected, then a mailbox is, then a calendar.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.acceptance.accounts import REPO, THREAD, Caller, Person, member_of_a_server
from tests.acceptance.commands import step
from tests.acceptance.server import PREFIX, SOON, Json, definition
from tests.kit.doubles.gmail import leaf
from tests.kit.processes import wait_until

DOCUMENTED = {"name", "label", "oauth_provider", "supports", "connected", "description"}
# So late that it is news whenever this is read.
FAR_AWAY = 4_000_000_000
JUNE = {"start": "2026-06-01", "end": "2026-06-07"}


@pytest.fixture(scope="module")
def person() -> Iterator[Person]:
    with member_of_a_server() as made:
        yield made


@pytest.fixture
def mailbox(person: Person) -> Person:
    """The member, once they are connected to their mailbox."""
    person.connect("gmail")
    return person


async def _install(call: Caller, action: str = "Gmail: send_email") -> str:
    """The install of an action, as the documentation finds it: a page's slug encodes it."""
    found = await call("query", q=action, type="integration_action")
    (slug,) = [one["slug"] for one in found["pages"] if one["title"] == action]
    return str(slug.split(".")[1])


async def _mail(call: Caller, install: str, subject: str = "Re: next week", **more: Any) -> Json:
    """The draft that is printed."""
    return await call(
        "act_on_integration",
        install_id=install,
        action_name="send_email",
        input={
            "to": ["noah@a16z.com"],
            "subject": subject,
            "body": "We're in. Let me know what day works.",
            "thread_id": THREAD,
        },
        **more,
    )


def test_what_is_not_connected_is_listed_is_in_no_enum_and_is_refused(person: Person) -> None:
    async def story(call: Caller) -> None:
        rows = (await call("list_integrations"))["integrations"]
        for row in rows:
            assert row.keys() >= DOCUMENTED
            assert row["supports"].keys() == {"fetch", "act", "adapter"}
        known = {row["name"]: row for row in rows}
        assert known.keys() >= {
            "gmail",
            "calendar",
            "drive",
            "github",
            "monday",
            "telegram",
            "discord",
            "coinmarketcap",
            "slack",
            "linear",
            "email",
            "http_json",
            "ics",
            "rss",
        }
        gmail = known["gmail"]
        assert (gmail["label"], gmail["oauth_provider"]) == ("Gmail", "google")
        assert gmail["supports"] == {"fetch": True, "act": True, "adapter": False}
        assert (gmail["connected"], gmail["connect_url"]) == (False, "/integrations/gmail")
        assert all(known[name]["supports"]["adapter"] for name in ("github", "monday"))

        only = (await call("list_integrations", include_unconnected=False))["integrations"]
        assert {row["name"] for row in only} == {r["name"] for r in rows if r["connected"]}
        for tool in ("fetch_from_integration", "act_on_integration"):
            assert not {"gmail", "calendar"} & set(await call.sources(tool))

        for tool in ("fetch_from_integration", "act_on_integration"):
            result = await call.refused(tool, source="gmail", request="from:noah")
            assert (result["status"], result["code"]) == (404, "not_connected")
            assert "/integrations/gmail" in result["suggestion"]
            result = await call.refused(tool, source="gmial", request="from:noah")
            assert (result["status"], result["errors"][0]["pointer"]) == (422, "/source")

    person.over_mcp(story)
    assert person.outside.gmail_guard.requests == []


def test_mail_is_fetched_in_both_shapes_and_found_by_every_search(person: Person) -> None:
    assert "You are ada@example.com there." in person.connect("gmail")

    async def story(call: Caller) -> None:
        asked = {"query": "from:noah ethera after:2026/04/01", "limit": 100}
        found = await call("fetch_from_integration", source="gmail", input=asked)
        assert (found["source"], found["ingested_count"]) == ("gmail", 1)
        assert found.keys() >= {"request", "brain_id", "page_slugs", "translation_log"}
        (slug,) = found["page_slugs"]
        for tool, how in (
            ("query", {"q": "ethera"}),
            ("search", {"q": "ethera"}),
            ("list_pages", {}),
        ):
            pages = (await call(tool, type="email", **how))["pages"]
            assert [one["slug"] for one in pages] == [slug], tool
        page = await call("get_page", slug=slug)
        assert (page["type"], page["source_ref"]) == ("email", f"gmail:thread:{THREAD}")
        assert "Are you in for the ethera round?" in page["body"]

        again = await call("fetch_from_integration", source="gmail", request="from:noah ethera")
        assert (again["ingested_count"], again["page_slugs"]) == (0, [])
        assert '"query":"from:noah ethera"' in again["translation_log"][0]
        most = await call.refused(
            "fetch_from_integration", source="gmail", input={"query": "x", "limit": 251}
        )
        assert most["errors"][0]["pointer"] == "/input/limit"

    person.over_mcp(story)


def test_a_window_of_all_calendars_comes_in_once_that_is_connected(mailbox: Person) -> None:
    async def alone(call: Caller) -> None:
        for tool in ("fetch_from_integration", "act_on_integration"):
            shown = await call.sources(tool)
            assert "gmail" in shown
            assert "calendar" not in shown
        result = await call.refused("fetch_from_integration", source="calendar", input=JUNE)
        assert result["code"] == "not_connected"

    async def both(call: Caller) -> None:
        for tool in ("fetch_from_integration", "act_on_integration"):
            assert {"gmail", "calendar"} <= set(await call.sources(tool))
        names = (await call("list_integrations", include_unconnected=False))["integrations"]
        assert {"gmail", "calendar"} <= {row["name"] for row in names}
        found = await call("fetch_from_integration", source="calendar", input=JUNE)
        assert (found["ingested_count"], len(found["page_slugs"])) == (2, 2)
        pages = (await call("list_pages", type="calendar_event"))["pages"]
        assert {one["title"] for one in pages} == {"Stand-up", "Offsite"}
        (slug,) = [one["slug"] for one in pages if one["title"] == "Offsite"]
        known = (await call("get_page", slug=slug))["frontmatter"]
        assert known.keys() >= {"start", "end", "location", "attendees"}
        message = "events from 2026-06-01 through 2026-06-07"
        again = await call("fetch_from_integration", source="calendar", request=message)
        assert again["ingested_count"] == 0
        unclear = await call.refused(
            "fetch_from_integration", source="calendar", request="whatever is on next week"
        )
        assert unclear["errors"][0]["pointer"] == "/request"

    mailbox.over_mcp(alone)
    assert "Google Calendar is connected" in mailbox.connect("calendar")
    mailbox.over_mcp(both)


def test_a_drafted_reply_leaves_once_into_its_thread_when_it_is_confirmed(mailbox: Person) -> None:
    gmail = mailbox.outside.gmail
    before = len(gmail.sent)

    async def story(call: Caller) -> None:
        draft = await _mail(call, await _install(call))
        assert draft.keys() >= {
            "kind",
            "draft_id",
            "action",
            "preview",
            "payload",
            "expires_at",
        }
        assert (draft["kind"], draft["action"]) == ("draft", "send_email")
        assert "noah@a16z.com" in draft["preview"]
        assert draft["payload"]["input"]["thread_id"] == THREAD
        waiting = await call("list_pending_actions", source="gmail")
        (entry,) = waiting["drafts"]
        assert (waiting["count"], entry["draft_id"]) == (1, draft["draft_id"])
        assert entry.keys() >= {
            "draft_id",
            "source",
            "action",
            "preview",
            "created_at",
            "expires_at",
            "notify_targets",
        }
        assert (entry["source"], entry["notify_targets"]) == ("gmail", ["inbox"])
        assert len(gmail.sent) == before, "nothing leaves before somebody agrees"

        sent = await call("confirm_action", draft_id=draft["draft_id"])
        assert (sent["status"], sent["result"].keys()) == ("confirmed", {"message_id"})
        assert await call("confirm_action", draft_id=draft["draft_id"]) == sent
        (mail,) = gmail.sent[before:]
        assert sent["result"]["message_id"] == f"sent{before + 1}"
        assert gmail.messages[-1] == {"threadId": THREAD}
        assert (mail["To"], mail["Subject"]) == ("noah@a16z.com", "Re: next week")
        assert mail["In-Reply-To"] == "<m1@a16z.com>"
        assert "We're in. Let me know what day works." in mail.as_string()
        assert (await call("list_pending_actions"))["count"] == 0

    mailbox.over_mcp(story)


def test_a_draft_is_discarded_or_edited_in_the_fields_that_may_be(mailbox: Person) -> None:
    gmail = mailbox.outside.gmail
    before = len(gmail.sent)

    async def story(call: Caller) -> None:
        install = await _install(call)
        one = (await _mail(call, install))["draft_id"]
        assert await call("discard_action", draft_id=one) == {
            "ok": True,
            "draft_id": one,
            "status": "discarded",
        }
        gone = await call.refused("confirm_action", draft_id=one)
        assert gone["status"] == 409

        two = (await _mail(call, install))["draft_id"]
        stray = await call.refused("confirm_action", draft_id=two, edits={"thread_id": "other"})
        assert (stray["code"], stray["errors"][0]["pointer"]) == (
            "not_editable",
            "/edits/thread_id",
        )
        wrong = await call.refused("confirm_action", draft_id=two, edits={"cc": ["legal"]})
        assert wrong["errors"][0]["pointer"] == "/edits/cc/0"
        assert len(gmail.sent) == before

        edits = {"subject": "Re: Q3 — confirmed", "cc": ["legal@example.com"]}
        sent = await call("confirm_action", draft_id=two, edits=edits)
        assert sent["status"] == "confirmed"
        (mail,) = gmail.sent[before:]
        assert (mail["Subject"], mail["Cc"]) == ("Re: Q3 — confirmed", "legal@example.com")
        assert mail["To"] == "noah@a16z.com"

    mailbox.over_mcp(story)


def test_drafts_of_one_turn_are_answered_as_a_set(mailbox: Person) -> None:
    gmail = mailbox.outside.gmail
    before = len(gmail.sent)
    batch = str(uuid4())

    async def story(call: Caller) -> None:
        install = await _install(call)
        drafts = [
            (await _mail(call, install, f"Follow-up {number}", batch_id=batch))["draft_id"]
            for number in range(4)
        ]
        waiting = (await call("list_pending_actions", limit=100))["drafts"]
        assert {one["draft_id"] for one in waiting if one["batch_id"] == batch} == set(drafts)

        seen = await call("ack_inbox_action", id=drafts[0], decision="approved")
        assert seen == {"ok": True, "id": drafts[0], "decision": "approved", "recorded": True}
        again = await call("ack_inbox_action", id=drafts[0], decision="declined")
        assert (again["decision"], again["recorded"]) == ("approved", False)
        assert len(gmail.sent) == before, "to have seen it sends nothing"

        let_go = (await call("discard_actions", draft_ids=drafts[:1]))["results"]
        assert let_go == [{"draft_id": drafts[0], "status": "discarded"}]
        nobody = str(uuid4())
        several = {"draft_ids": [drafts[1], nobody, *drafts[2:]]}
        # Their client offers the inbox for the three that exist, and they close it.
        refused = await call.refused("confirm_actions", **several)
        assert refused["code"] == "person_needed"
        assert "3 drafts" in refused["detail"]
        assert len(gmail.sent) == before, "a program agrees to none of them"
        path = "/drafts/confirm"
        results = (await asyncio.to_thread(mailbox.ask, "POST", path, several))["results"]
        assert [one["draft_id"] for one in results] == [drafts[1], nobody, *drafts[2:]]
        assert [one["status"] for one in results] == ["confirmed", "failed", *["confirmed"] * 2]
        assert results[0]["action"] == "send_email"
        assert results[0]["source"] == "gmail"
        assert [mail["Subject"] for mail in gmail.sent[before:]] == [
            "Follow-up 1",
            "Follow-up 2",
            "Follow-up 3",
        ]
        for tool, most in (("confirm_actions", 50), ("discard_actions", 100)):
            many = await call.refused(tool, draft_ids=[str(uuid4()) for _ in range(most + 1)])
            assert many["errors"][0]["pointer"] == "/draft_ids"

    mailbox.over_mcp(story)


def test_events_and_files_are_drafted_and_edited_in_fields_of_their_own(person: Person) -> None:
    calendar, drive = person.outside.calendar, person.outside.drive
    for name in ("calendar", "drive"):
        person.connect(name)
    tea = {
        "summary": "Tea",
        "start": "2026-06-03T15:00:00Z",
        "end": "2026-06-03T15:30:00Z",
        "attendees": ["noah@a16z.com"],
        "calendar_id": "team",
    }
    later = {"summary": "Tea, later", "location": "Porto", "send_updates": "all"}
    file = {"name": "notes.md", "content": "# Notes", "mime_type": "text/markdown"}
    renamed = {"name": "minutes.md", "content": "# Minutes"}

    async def story(call: Caller) -> None:
        for title, name, given, edits, stray, made in (
            (
                "Google Calendar: calendar.create_event",
                "calendar.create_event",
                tea,
                later,
                "calendar_id",
                "event_id",
            ),
            (
                "Google Drive: drive.create_file",
                "drive.create_file",
                file,
                renamed,
                "mime_type",
                "file_id",
            ),
        ):
            install = await _install(call, title)
            draft = await call(
                "act_on_integration", install_id=install, action_name=name, input=given
            )
            one = draft["draft_id"]
            result = await call.refused("confirm_action", draft_id=one, edits={stray: "x"})
            assert result["errors"][0]["pointer"] == f"/edits/{stray}"
            sent = await call("confirm_action", draft_id=one, edits=edits)
            assert (sent["status"], sent["result"].keys()) == ("confirmed", {made}), sent

    known = len(calendar.messages)
    person.over_mcp(story)
    (event,) = calendar.messages[known:]
    assert (event["summary"], event["location"], event["sendUpdates"]) == (*later.values(),)
    assert [one["email"] for one in event["attendees"]] == ["noah@a16z.com"]
    (made,) = drive.files.values()
    assert (made["name"], drive.contents[made["id"]]) == ("minutes.md", b"# Minutes")


def test_what_was_asked_in_words_is_drafted_or_asked_back(mailbox: Person) -> None:
    gmail = mailbox.outside.gmail
    before = len(gmail.sent)

    async def story(call: Caller) -> None:
        asked = {"source": "gmail", "request": "Tell noah@a16z.com that Friday works"}
        draft = await call("act_on_integration", **asked)
        assert (draft["kind"], draft["action"]) == ("draft", "send_email")
        assert draft["payload"]["input"]["to"] == ["noah@a16z.com"]
        await call("discard_action", draft_id=draft["draft_id"])
        unclear = await call("act_on_integration", source="gmail", request="Tell Omer yes.")
        assert unclear.keys() == {"kind", "question"}
        assert unclear["kind"] == "clarification"
        assert (await call("list_pending_actions"))["count"] == 0
        long = await call.refused("act_on_integration", source="gmail", request="x" * 1_001)
        assert long["errors"][0]["pointer"] == "/request"
        assert len(gmail.sent) == before

        file = {"filename": "plan.txt", "content_base64": "VGhlIHBsYW4u"}
        many = await call.refused("act_on_integration", **asked, attachments=[file] * 6)
        assert many["errors"][0]["pointer"] == "/attachments"
        nowhere = await call.refused("act_on_integration", **asked, notify=["sms"])
        assert nowhere["errors"][0]["pointer"] == "/notify/0"
        draft = await call("act_on_integration", **asked, attachments=[file], notify=["inbox"])
        assert "1 attachment" in draft["preview"]
        await call("confirm_action", draft_id=draft["draft_id"])
        (mail,) = gmail.sent[before:]
        (part,) = [one for one in mail.walk() if one.get_filename()]
        assert (part.get_filename(), part.get_payload(decode=True)) == ("plan.txt", b"The plan.")

    mailbox.over_mcp(story)


def test_a_board_linked_to_a_repository_is_filled_and_its_rows_keep_their_ids(
    person: Person,
) -> None:
    pulls = person.outside.github.repositories[REPO].pulls

    async def story(call: Caller) -> None:
        board_id = (await call("create_board", name="Engineering"))["id"]
        wrong = await call.refused(
            "create_board_link", board_id=board_id, kind="githup", ref={}, display_name="x"
        )
        assert wrong["errors"][0]["pointer"] == "/kind"
        link = await call(
            "create_board_link",
            board_id=board_id,
            kind="github",
            ref={"owner": "ssvlabs", "repo": "brains"},
            display_name="brains repo PRs",
        )
        recipe = await call(
            "create_dataset_recipe",
            link_id=link["id"],
            dataset_name="prs",
            adapter_op="github.list_open_prs",
            refresh_cron="0 * * * *",
            dedupe_key_field="id",
            dedupe_target_field="pr_id",
        )
        assert recipe["refresh_cron"] == "0 * * * *"

        async def rows() -> dict[int, Json]:
            shown = await call("get_board", board_id=board_id, dataset="prs")
            return {row["pr_id"]: row for row in shown["data"]["datasets"]["prs"]["rows"]}

        first = await call("refresh_dataset", recipe_id=recipe["id"])
        assert (first["total"], first["appended"]) == (3, 3)
        before = await rows()
        assert {row["title"] for row in before.values()} == {"Change 1", "Change 2", "Change 3"}
        pulls[0] = {**pulls[0], "title": "Changed", "updated_at": "2026-03-09T09:00:00Z"}
        gone = pulls.pop(2)
        second = await call("refresh_dataset", recipe_id=recipe["id"])
        assert (second["total"], second["updated"], second["deleted"]) == (2, 1, 1)
        after = await rows()
        assert {key: row["row_id"] for key, row in after.items()} == {
            key: row["row_id"] for key, row in before.items() if key != gone["id"]
        }
        assert after[pulls[0]["id"]]["title"] == "Changed"

        # The schedule is an automation like any other, and does the same.
        run = await call("run_automation_once", automation_id=recipe["automation_id"])
        assert run["status"] == "succeeded", run
        assert await rows() == after

    person.over_mcp(story)


# --- the inbox


def _nudge(subject: str, *, reads: bool = False) -> Json:
    """An automation that looks into the mailbox, if it is to, and drafts an answer."""
    looks = step("look", "fetch_from_integration", source="gmail", request="from:noah ethera")
    writes = step(
        "answer",
        "gmail.send_email",
        to=["noah@a16z.com"],
        subject=subject,
        body="We're in.",
        thread_id=THREAD,
    )
    grants = [{"capability": "gmail.send_email"}]
    if reads:
        grants.append({"capability": "fetch_from_integration"})
    return definition(
        f"Answer Noah: {subject}", [looks, writes] if reads else [writes], grants=grants
    )


def _waiting(person: Person, run: Json) -> Json:
    """The one draft that a run left."""
    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting"), run
    (draft,) = [one for one in person.drafts() if one["run_id"] == run["id"]]
    assert draft["status"] == "pending"
    return draft


def test_an_edited_draft_is_sent_once_by_its_approver(mailbox: Person) -> None:
    gmail = mailbox.outside.gmail
    before = len(gmail.sent)
    run = mailbox.ran(mailbox.saved(_nudge("First words")))
    draft = _waiting(mailbox, run)
    at = f"/drafts/{draft['id']}"
    edited = mailbox.ask("POST", f"{at}/edit", {"edits": {"subject": "Other words"}})
    assert (edited["revision"], edited["hash"] != draft["hash"]) == (2, True)
    assert "Other words" in edited["preview"]
    assert "First words" not in edited["preview"]
    assert mailbox.ask("GET", at)["preview"] == edited["preview"]

    for seen, code in (({}, "draft_edited"), ({"hash": draft["hash"]}, "draft_changed")):
        result = mailbox.refused("POST", f"{at}/confirm", seen)
        assert (result["status"], result["code"]) == (409, code)
    # Anyone who only follows a link has agreed to nothing.
    assert mailbox.browser.get(f"{PREFIX}{at}/confirm").status_code == 405
    assert len(gmail.sent) == before

    sent = mailbox.ask("POST", f"{at}/confirm", {"hash": edited["hash"]})
    assert (sent["status"], sent["outcome"], sent["hash"]) == ("confirmed", "sent", edited["hash"])
    assert mailbox.ask("POST", f"{at}/confirm", {"hash": edited["hash"]}) == sent
    (mail,) = gmail.sent[before:]
    assert mail["Subject"] == "Other words"
    stored = mailbox.ask("GET", at)
    assert (stored["status"], stored["approved_hash"]) == ("confirmed", edited["hash"])


def test_a_draft_whose_time_is_over_is_drafted_again_and_sent(mailbox: Person) -> None:
    gmail = mailbox.outside.gmail
    before = len(gmail.sent)
    draft = _waiting(mailbox, mailbox.ran(mailbox.saved(_nudge("In time"))))
    mailbox.server.sql(
        "UPDATE drafts SET expires_at = now() - interval '1 minute' WHERE id = $1::text::uuid",
        draft["id"],
    )

    async def story(call: Caller) -> None:
        pending = (await call("list_pending_actions"))["drafts"]
        assert draft["id"] not in {one["draft_id"] for one in pending}
        late = await call.refused("confirm_action", draft_id=draft["id"])
        assert late["status"] in {409, 410}
        again = await call("redraft_action", draft_id=draft["id"])
        assert (again["redraft_of"], again["status"]) == (draft["id"], "pending")
        assert again["preview"] == draft["preview"]
        assert len(gmail.sent) == before
        sent = await call("confirm_action", draft_id=again["draft_id"])
        assert (sent["status"], sent["outcome"]) == ("confirmed", "sent")

    mailbox.over_mcp(story)
    assert [mail["Subject"] for mail in gmail.sent[before:]] == ["In time"]


def test_access_that_was_taken_back_blocks_the_next_run_until_it_is_given_again(
    mailbox: Person,
) -> None:
    gmail, google = mailbox.outside.gmail, mailbox.outside.google
    automation = mailbox.saved(_nudge("After all", reads=True))
    writer = mailbox.saved(_nudge("Never"))
    first = _waiting(mailbox, mailbox.ran(automation))
    mailbox.ask("POST", f"/drafts/{first['id']}/discard", {})
    before, asked = len(gmail.sent), len(mailbox.drafts())

    google.end()
    # The first learns of it from Google; then it is known, also for what only writes.
    for blocked in map(mailbox.ran, (automation, automation, writer)):
        assert (blocked["status"], blocked["outcome"]) == ("failed", "blocked"), blocked
        assert "Gmail" in blocked["error"]["detail"]
        assert "/integrations/gmail" in blocked["error"]["suggestion"]
        assert (blocked["cost_usd"], blocked["drafts"], blocked["effects"]) == (0, 0, 0)
        assert blocked["attempt"] == 1, "nobody tries again what only a person can mend"
    assert (len(gmail.sent), len(mailbox.drafts())) == (before, asked)

    async def story(call: Caller) -> None:
        rows = (await call("list_integrations"))["integrations"]
        (row,) = [one for one in rows if one["name"] == "gmail"]
        assert (row["connected"], row["state"]) == (False, "reconnect")
        assert row["connection"]["health"] == "reconnect"
        assert "gmail" not in await call.sources("fetch_from_integration")
        result = await call.refused("fetch_from_integration", source="gmail", request="from:noah")
        assert (result["status"], "Gmail" in result["detail"]) == (403, True)

    mailbox.over_mcp(story)
    assert "Gmail is connected" in mailbox.sign_in("gmail")
    mended = _waiting(mailbox, mailbox.ran(automation))
    assert mailbox.ask("POST", f"/drafts/{mended['id']}/confirm", {})["outcome"] == "sent"
    assert [mail["Subject"] for mail in gmail.sent[before:]] == ["After all"]


def test_what_was_read_before_a_worker_was_killed_is_written_no_second_time(
    mailbox: Person,
) -> None:
    gmail, entry_point, server = mailbox.outside.gmail, mailbox.outside.gmail_guard, mailbox.server
    worker = next(one["pid"] for one in server.ready["parts"] if one["name"] == "worker")
    # On a day on which nobody tests; it is started manually.
    asked = {"source": "gmail", "every": "0 0 29 2 *"}
    watched = mailbox.ask("POST", "/capabilities/watch_integration", asked)
    automation = watched["automation_id"]
    first = mailbox.ran(automation)
    assert first["status"] == "succeeded", first
    for number in range(6):
        gmail.put(
            f"new{number}",
            f"new{number}",
            leaf("text/plain", b"News."),
            at=FAR_AWAY,
            From="noah@a16z.com",
            To="ada@example.com",
            Subject=f"News {number}",
        )
    # Two portions are read and kept; in the middle of the third nobody answers.
    gmail.page_size = 2
    entry_point.silent_after = b"pageToken=p4"
    run_id = mailbox.begun(automation)
    wait_until(lambda: entry_point.is_silent, SOON, "the third portion")
    stored = mailbox.ask("POST", "/capabilities/list_pages", {"type": "email", "limit": 100})
    assert sum(one["title"].startswith("News") for one in stored["pages"]) == 4
    os.kill(worker, signal.SIGKILL)
    run = mailbox.over(run_id)
    assert (run["status"], run["takeovers"]) == ("succeeded", 1), run

    async def story(call: Caller) -> None:
        pages = (await call("list_pages", type="email", limit=100))["pages"]
        news = [one["title"] for one in pages if one["title"].startswith("News")]
        assert sorted(news) == [f"News {number}" for number in range(6)]

    mailbox.over_mcp(story)
    result = [one["payload"]["message_id"] for one in mailbox.told("gmail.message_received")]
    assert sorted(result) == [f"new{number}" for number in range(6)]
    again = mailbox.ran(automation)
    assert (again["status"], again["effects"], again["output"]["ingested_count"]) == (
        "succeeded",
        0,
        0,
    )


def test_nothing_that_was_heard_holds_a_token(mailbox: Person) -> None:
    families = mailbox.outside.google.families
    secrets = [text for one in families for text in (one.refresh, *one.access)]
    assert secrets
    output = "".join(mailbox.heard) + mailbox.server.log
    assert not [one for one in secrets if one in output]
