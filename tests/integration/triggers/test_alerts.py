"""The owner hears of failures: alerts, what gathers in them, the pause, and the mail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.event import EventRow
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.outbound.mail import SmtpMailer, read_smtp_url
from mainspring.runs.replay import replay
from mainspring.runs.run_requests import RunRequest
from mainspring.store.events import append_events
from mainspring.triggers.alerts import CONSUMER, TRIES, AlertMailer, FailureAlerts, mails
from mainspring.triggers.log_reader import EventLogReader
from mainspring.workspace.alerts import claim_mail, count_consecutive_failures
from mainspring.workspace.automation_states import acknowledge
from mainspring.workspace.automations import set_state
from mainspring.workspace.inbox import list_notifications
from tests.kit.bench import PATIENCE, Bench, document, step
from tests.kit.events import ECHO, is_behind, listen, match_all, runs_of, tell
from tests.kit.mail import MailServerDouble, mail_server, read_letter

HOOK = {"id": "hook", "type": "webhook"}
_BLOCKED = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'
"""


def _breaks(name: str = "a test", **more: Any) -> dict[str, Any]:
    config = {"failures": 99, "permanent": True}
    return document(
        step("first", "transform_data", {"output": 1}),
        step("second", "test.flaky", config),
        name=name,
        triggers=[HOOK],
        execution={"concurrency": "allow_parallel"},
        **more,
    )


def _works(name: str = "a test") -> dict[str, Any]:
    plan = step("first", "transform_data", {"output": 1})
    more = {"execution": {"concurrency": "allow_parallel"}}
    return document(plan, name=name, triggers=[HOOK], **more)


@dataclass(slots=True)
class Story:
    """An application whose runs are worked on and whose alerts are read, step by step."""

    bench: Bench
    reader: EventLogReader

    async def active(self, written: dict[str, Any]) -> tuple[UUID, UUID]:
        """Saves and activates; the automation and its one trigger."""
        saved = await self.bench.save(written)
        async with self.bench.application.database.transaction() as tx:
            workspace_id = self.bench.application.workspace_id
            await set_state(tx, workspace_id, saved.automation_id, "active")
        trigger_id = await self.bench.application.database.fetchval(
            "SELECT id FROM triggers WHERE automation_id = $1", saved.automation_id
        )
        return saved.automation_id, trigger_id

    async def ends(self, automation_id: UUID, trigger_id: UUID | None = None) -> dict[str, Any]:
        """One run from its start to what is reported about it."""
        kind = "manual" if trigger_id is None else "webhook"
        application = self.bench.application
        request = RunRequest(application.workspace_id, automation_id, kind, trigger_id)
        made = await application.dispatcher.dispatch(request)
        run = await self.bench.until(made.run_id)
        await self.told()
        return run

    async def told(self) -> None:
        """Reads the log to where it ends now."""
        async with asyncio.timeout(PATIENCE):
            while await is_behind(self.bench.application, CONSUMER):
                if not await self.reader.once():
                    await asyncio.sleep(0.01)

    async def automation(self, automation_id: UUID) -> dict[str, Any]:
        row = await self.bench.application.database.fetchrow(
            "SELECT * FROM automations WHERE id = $1", automation_id
        )
        assert row is not None
        return dict(row)

    async def inbox(self) -> list[dict[str, Any]]:
        async with self.bench.application.database.acquire() as connection:
            return await list_notifications(connection, self.bench.application.workspace_id)

    async def due(self) -> int:
        return int(
            await self.bench.application.database.fetchval(
                "SELECT count(*) FROM notifications WHERE mail_due_at IS NOT NULL"
            )
        )


def _reader(bench: Bench, limits: Limits, *, mail: bool) -> EventLogReader:
    return EventLogReader(
        bench.application.database, CONSUMER, FailureAlerts(limits, mail=mail).handle
    )


@asynccontextmanager
async def _story(bench: Bench, *, mail: bool = True, in_row: int = 5) -> AsyncIterator[Story]:
    limits = replace(bench.application.limits, failures_in_row=in_row)
    reader = _reader(bench, limits, mail=mail)
    await reader.begin()
    async with bench.worker():
        yield Story(bench, reader)


async def test_a_failed_run_is_reported_with_its_step_its_reason_and_what_to_do(
    bench: Bench,
) -> None:
    async with _story(bench) as story:
        run = await story.ends(*await story.active(_breaks("Daily digest")))
        (alert,) = await story.inbox()
    assert (alert["level"], alert["title"]) == ("error", "Daily digest failed")
    assert (alert["automation_id"], alert["run_id"]) == (run["automation_id"], run["id"])
    lines = alert["message"].splitlines()
    assert lines[0] == "Step second failed: This can never work."
    assert f"Run {run['id']}, started by its webhook." in lines
    assert f"After you fix the cause outside Mainspring: mainspring retry {run['id']}" in lines
    assert await story.due() == 1


async def test_a_run_that_succeeds_or_is_cancelled_is_not_reported(bench: Bench) -> None:
    async with _story(bench) as story:
        await story.ends(*await story.active(_works()))
        made = await bench.dispatch(document(step("hang", "test.hang"), name="slow"))
        await bench.outside.started.wait()
        await bench.application.control.cancel(bench.application.workspace_id, made.run_id)
        assert (await bench.until(made.run_id))["status"] == "cancelled"
        await story.told()
        assert await story.inbox() == []


async def test_failures_that_follow_closely_are_one_alert_that_says_how_many(
    bench: Bench,
) -> None:
    async with _story(bench) as story:
        where = await story.active(_breaks())
        first = await story.ends(*where)
        await bench.application.database.execute("UPDATE notifications SET read_at = now()")
        await story.ends(*where)
        last = await story.ends(*where)
        (alert,) = await story.inbox()
    assert "3 runs have failed since this alert was opened" in alert["message"]
    assert str(last["id"]) in alert["message"]
    assert alert["run_id"] == first["id"]
    assert alert["read_at"] is None
    assert await story.due() == 1


async def test_many_failures_read_at_once_are_one_alert_too(bench: Bench) -> None:
    async with _story(bench, in_row=100) as story:
        automation_id, trigger_id = await story.active(_breaks())
        application = bench.application
        request = RunRequest(application.workspace_id, automation_id, "webhook", trigger_id)
        made = await application.dispatcher.dispatch_all([request] * 20)
        for one in made:
            await bench.until(one.run_id)
        await story.told()
        (alert,) = await story.inbox()
        found = await story.automation(automation_id)
    assert "20 runs have failed" in alert["message"]
    assert found["failures"] == 20


async def test_a_failure_much_later_is_a_new_alert(bench: Bench) -> None:
    async with _story(bench) as story:
        where = await story.active(_breaks())
        await story.ends(*where)
        await bench.application.database.execute(
            "UPDATE notifications SET created_at = created_at - interval '11 minutes'"
        )
        await story.ends(*where)
        assert len(await story.inbox()) == 2
    assert await story.due() == 2


async def test_an_automation_s_own_message_is_never_taken_for_an_alert(bench: Bench) -> None:
    own = {"title": "a test failed", "message": "Mine.", "level": "error"}
    after = [step("tell", "inbox.post_notification", own)]
    written = _breaks()
    written["execution"]["on_failure"] = after
    async with _story(bench) as story:
        where = await story.active(written)
        await story.ends(*where)
        messages = [entry["message"] for entry in await story.inbox()]
    assert messages.count("Mine.") == 1
    assert len(messages) == 2


async def test_enough_failures_in_a_row_pause_the_automation_and_say_so(bench: Bench) -> None:
    async with _story(bench) as story:
        automation_id, trigger_id = await story.active(_breaks())
        for number in range(1, 5):
            await story.ends(automation_id, trigger_id)
            found = await story.automation(automation_id)
            assert (found["state"], found["failures"]) == ("active", number)
        last = await story.ends(automation_id, trigger_id)
        found = await story.automation(automation_id)
        assert (found["state"], found["paused_reason"]) == ("paused", "failures")
        assert found["failures"] == 5
        result = [entry for entry in await story.inbox() if entry["level"] == "warning"]
        assert [entry["title"] for entry in result] == ["a test was paused after repeated failures"]
        assert "Its last 5 runs failed" in result[0]["message"]
        assert "activate it again" in result[0]["message"]
        assert result[0]["run_id"] == last["id"]
        # Nothing starts it any more, and the pause is reported once.
        after = await story.ends(automation_id, trigger_id)
        assert (after["status"], after["reason"]) == ("skipped", "paused")
        assert len(await story.inbox()) == 2


async def test_a_success_in_between_begins_the_count_anew(bench: Bench) -> None:
    async with _story(bench) as story:
        where = await story.active(_breaks())
        for _ in range(4):
            await story.ends(*where)
        await bench.save(_works())
        await story.ends(*where)
        assert (await story.automation(where[0]))["failures"] == 0
        await bench.save(_breaks())
        for _ in range(4):
            await story.ends(*where)
        found = await story.automation(where[0])
        assert (found["state"], found["failures"]) == ("active", 4)


async def test_manual_runs_are_reported_in_the_inbox_alone_and_never_pause(bench: Bench) -> None:
    async with _story(bench) as story:
        automation_id, trigger_id = await story.active(_breaks())
        for _ in range(6):
            await story.ends(automation_id)
        found = await story.automation(automation_id)
        assert (found["state"], found["failures"]) == ("active", 0)
        assert len(await story.inbox()) == 1
        assert await story.due() == 0
        # The first failure that nobody watched is mailed, though the alert was there.
        await story.ends(automation_id, trigger_id)
        assert len(await story.inbox()) == 1
        assert await story.due() == 1


async def test_a_replay_by_a_person_does_not_count_either(bench: Bench) -> None:
    async with _story(bench, in_row=2) as story:
        automation_id, trigger_id = await story.active(_breaks())
        run = await story.ends(automation_id, trigger_id)
        application = bench.application
        again = await replay(
            application.database,
            application.dispatcher,
            application.limits,
            application.workspace_id,
            run["id"],
        )
        await bench.until(again.run_id)
        await story.told()
        found = await story.automation(automation_id)
    assert (found["state"], found["failures"]) == ("active", 1)


async def test_a_body_that_does_not_fit_never_pauses_but_a_schedule_does(bench: Bench) -> None:
    """Unauthenticated callers who send nonsense to a webhook must not be able to stop it."""
    async with _story(bench, in_row=2) as story:
        automation_id, trigger_id = await story.active(_breaks())
        await story.ends(automation_id, trigger_id)
        await bench.application.database.execute("UPDATE runs SET reason = 'invalid_inputs'")
        await story.ends(automation_id, trigger_id)
        found = await story.automation(automation_id)
        assert (found["state"], found["failures"]) == ("active", 1)
        await bench.application.database.execute("UPDATE runs SET trigger_type = 'schedule'")
        await story.ends(automation_id, trigger_id)
        assert (await story.automation(automation_id))["state"] == "paused"


@pytest.mark.parametrize(
    ("filters", "text", "code"),
    [
        ({"text": {"regex": r"\p{L}+ \p{L}+"}}, "!" * 2_000, "filter_text_unread"),
        (
            {"$or": [{"text": {"regex": f"(a|b)*c{number}"}} for number in range(90)]},
            "ab" * 100_000,
            "filter_too_costly",
        ),
    ],
)
async def test_texts_too_long_for_a_filter_are_reported_but_never_pause(
    bench: Bench, filters: dict[str, Any], text: str, code: str
) -> None:
    """A sender must not be able to switch off an automation that listens."""
    async with _story(bench, in_row=2) as story:
        automation_id = await listen(bench, "listening", "mail.came", filters)
        for _ in range(3):
            await tell(bench.application, "mail.came", {"text": text})
        await match_all(bench.application)
        await story.told()
        runs = await runs_of(bench.application, automation_id)
        assert [(run["status"], run["error"]["code"]) for run in runs] == [("failed", code)] * 3
        found = await story.automation(automation_id)
        assert (found["state"], found["failures"]) == ("active", 0)
        (alert,) = await story.inbox()
        assert "3 runs have failed" in alert["message"]
        assert await story.due() == 1


async def test_fixed_inputs_that_do_not_fit_pause_an_automation_that_listens(
    bench: Bench,
) -> None:
    schema = {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}}
    async with _story(bench, in_row=2) as story:
        automation_id = await listen(
            bench, "needs", "mail.came", None, ECHO, inputs={"schema": schema}
        )
        await tell(bench.application, "mail.came", {}, {})
        await match_all(bench.application)
        await story.told()
        assert (await story.automation(automation_id))["state"] == "paused"


async def test_what_was_acknowledged_does_not_count_again(bench: Bench) -> None:
    async with _story(bench) as story:
        automation_id, trigger_id = await story.active(_breaks())
        for _ in range(4):
            await story.ends(automation_id, trigger_id)
        async with bench.application.database.transaction() as tx:
            state = await acknowledge(tx, bench.application.workspace_id, automation_id)
        assert state == "active"
        assert (await story.automation(automation_id))["failures"] == 0
        assert [entry["read_at"] is None for entry in await story.inbox()] == [False]
        await story.ends(automation_id, trigger_id)
        found = await story.automation(automation_id)
        assert (found["state"], found["failures"]) == ("active", 1)
        # It is news again, in an alert of its own.
        assert [entry["read_at"] is None for entry in await story.inbox()] == [True, False]


async def test_acknowledging_a_paused_automation_does_not_activate_it(bench: Bench) -> None:
    async with _story(bench, in_row=1) as story:
        automation_id, trigger_id = await story.active(_breaks())
        await story.ends(automation_id, trigger_id)
        async with bench.application.database.transaction() as tx:
            assert await acknowledge(tx, bench.application.workspace_id, automation_id) == "paused"
        found = await story.automation(automation_id)
        assert (found["state"], found["failures"]) == ("paused", 0)


async def test_activating_again_begins_the_count_anew(bench: Bench) -> None:
    async with _story(bench, in_row=2) as story:
        automation_id, trigger_id = await story.active(_breaks())
        await story.ends(automation_id, trigger_id)
        await story.ends(automation_id, trigger_id)
        assert (await story.automation(automation_id))["state"] == "paused"
        async with bench.application.database.transaction() as tx:
            await set_state(tx, bench.application.workspace_id, automation_id, "active")
        await story.ends(automation_id, trigger_id)
        found = await story.automation(automation_id)
        assert (found["state"], found["failures"]) == ("active", 1)


async def test_the_same_event_read_twice_makes_one_alert(bench: Bench) -> None:
    async with _story(bench) as story:
        await story.ends(*await story.active(_breaks()))
        await bench.application.database.execute(
            "UPDATE event_cursors SET xid = '0'::xid8, id = $1", UUID(int=0)
        )
        story.reader = _reader(bench, bench.application.limits, mail=True)
        assert await story.reader.once() > 0
        (alert,) = await story.inbox()
    assert "runs have failed" not in alert["message"]


async def test_events_that_lie_or_make_no_sense_are_passed_over(bench: Bench) -> None:
    application = bench.application
    async with _story(bench) as story:
        automation_id, _ = await story.active(_works())
        payloads = (
            "{}",
            '{"run_id": 7, "automation_id": []}',
            '{"run_id": "x", "automation_id": "y"}',
            f'{{"run_id": "{generate_id()}", "automation_id": "{automation_id}"}}',
        )
        async with application.database.transaction() as tx:
            rows = [
                EventRow(
                    application.workspace_id, generate_id(), "automation.run.failed", "x", payload
                )
                for payload in payloads
            ]
            await append_events(tx, rows)
        await story.told()
        assert await story.inbox() == []
        assert (await story.automation(automation_id))["failures"] == 0


async def test_the_title_is_one_line_whatever_the_name_holds(bench: Bench) -> None:
    async with _story(bench) as story:
        made = await story.active(_breaks("Plain"))
        # Such a name is refused today; an earlier version may have kept one.
        await bench.application.database.execute(
            "UPDATE automations SET name = $1", "Evil\r\nBcc: x\u2028 \x1b[31mname"
        )
        await story.ends(*made)
        (alert,) = await story.inbox()
    assert alert["title"] == "Evil Bcc: x [31mname failed"


@asynccontextmanager
async def _posted(
    bench: Bench, post: MailServerDouble, first: str | None = "ada@example.com", **more: Any
) -> AsyncIterator[AlertMailer]:
    """A postman and the mail server he goes to."""
    async with mail_server(post) as port:
        server = read_smtp_url(f"smtp://127.0.0.1:{port}")
        mailer = SmtpMailer(
            server, "m@example.org", bench.application.limits, bench.application.clock
        )
        yield AlertMailer(bench.application.database, mailer, first, **more)


async def _alert(bench: Bench) -> dict[str, Any]:
    async with _story(bench) as story:
        await story.ends(*await story.active(_breaks("Daily digest")))
        (alert,) = await story.inbox()
        return alert


async def _mail_row(bench: Bench) -> dict[str, Any]:
    row = await bench.application.database.fetchrow(
        "SELECT mail_due_at, mail_tries, mailed_at, mail_due_at > now() AS later FROM notifications"
    )
    assert row is not None
    return dict(row)


async def test_an_alert_is_mailed_once_however_many_bring_it(bench: Bench) -> None:
    alert, post = await _alert(bench), MailServerDouble()
    async with _posted(bench, post) as mailer:
        brought = await asyncio.gather(*(mailer.once() for _ in range(4)))
        assert sorted(brought) == [False, False, False, True]
        assert not await mailer.once()
    (mail,) = post.messages
    assert (mail["to"], mail["subject"]) == ("ada@example.com", "Daily digest failed")
    assert mail["auto-submitted"] == "auto-generated"
    assert mail.get_content().splitlines() == alert["message"].splitlines()
    assert (await _mail_row(bench))["mailed_at"] is not None


async def test_a_letter_that_another_is_taking_is_left_to_him(bench: Bench) -> None:
    await _alert(bench)
    post = MailServerDouble()
    async with _posted(bench, post) as mailer, asyncio.timeout(PATIENCE):
        async with bench.application.database.transaction() as tx:
            assert await claim_mail(tx, 60.0, 3600.0) is not None
            assert not await mailer.once()
        assert not await mailer.once()
    assert post.offered == []


async def test_a_letter_that_was_not_taken_waits_and_is_tried_again_as_the_same(
    bench: Bench,
) -> None:
    await _alert(bench)
    post = MailServerDouble(at_data=["451 Not now"])
    async with _posted(bench, post) as mailer:
        assert await mailer.once()
        row = await _mail_row(bench)
        assert (row["mail_tries"], row["mailed_at"], row["later"]) == (1, None, True)
        assert not await mailer.once()
        await bench.application.database.execute("UPDATE notifications SET mail_due_at = now()")
        assert await mailer.once()
    ids = {read_letter(data)["message-id"] for data in post.offered}
    assert (len(post.offered), len(post.messages), len(ids)) == (2, 1, 1)


async def test_a_mail_that_is_never_accepted_is_given_up_and_logged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    await _alert(bench)
    post = MailServerDouble(at_data=["451 Not now"] * 99)
    async with _posted(bench, post, first_pause=0.0) as mailer:
        while await mailer.once():
            assert len(post.offered) <= TRIES
    row = await _mail_row(bench)
    assert (len(post.offered), row["mail_due_at"], row["mailed_at"]) == (TRIES, None, None)
    assert "stays in the inbox only" in caplog.text


async def test_an_alert_that_was_never_accepted_says_so_in_the_inbox(bench: Bench) -> None:
    async with _story(bench) as story:
        await story.ends(*await story.active(_breaks("Daily digest")))
        post = MailServerDouble(at_data=["451 Not now"] * 99)
        async with _posted(bench, post, first_pause=0.0) as mailer:
            while await mailer.once():
                assert len(post.offered) <= TRIES
        (alert,) = await story.inbox()
    assert "\n\nThis alert was not mailed: " in alert["message"]


async def test_an_alert_to_an_owner_without_an_address_says_so_in_the_inbox(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    post = MailServerDouble()
    async with _story(bench) as story:
        await story.ends(*await story.active(_breaks("Daily digest")))
        async with _posted(bench, post, first=None) as mailer:
            assert await mailer.once()
            assert not await mailer.once()
        (alert,) = await story.inbox()
    assert post.offered == []
    assert alert["message"].startswith("Step second failed: This can never work.")
    assert "not mailed: the owner of the automation has no verified email" in alert["message"]
    assert "mainspring email set" in alert["message"]
    assert "was not mailed" in caplog.text


async def test_an_alert_says_when_the_notice_of_on_failure_did_not_leave_either(
    bench: Bench,
) -> None:
    notice = step("tell", "email.notify_owner", {"subject": "It failed", "text": "So."})
    written = _breaks("Daily digest")
    written["execution"]["on_failure"] = [{**notice, "max_retries": 0}]
    async with _story(bench) as story:
        run = await story.ends(*await story.active(written))
        (alert,) = await story.inbox()
    assert run["error"]["on_failure"]["code"] == "owner_mail_missing"
    expected = "on_failure failed too, at step tell: "
    assert any(line.startswith(expected) for line in alert["message"].splitlines()), alert


async def test_a_postman_that_is_stopped_ends(bench: Bench) -> None:
    await _alert(bench)
    post, stop = MailServerDouble(), asyncio.Event()
    async with _posted(bench, post, poll_seconds=60) as mailer, asyncio.timeout(PATIENCE):
        going = asyncio.create_task(mailer.run(stop))
        while not post.messages:
            await asyncio.sleep(0.01)
        stop.set()
        await going


async def test_without_mail_set_up_alerts_stay_in_the_inbox(bench: Bench) -> None:
    settings = bench.application.settings
    assert not mails(settings)
    assert not mails(replace(settings, owner_mail="ada@example.com"))
    # Other people than the first have addresses of their own.
    assert mails(replace(settings, smtp_url="smtp://localhost"))
    async with _story(bench, mail=False) as story:
        await story.ends(*await story.active(_breaks()))
        assert len(await story.inbox()) == 1
    assert await story.due() == 0


async def test_failures_are_in_a_row_as_they_ended(bench: Bench) -> None:
    """A quick run that began last and succeeded first does not part slow ones that failed."""
    application = bench.application
    async with _story(bench) as story:
        automation_id, trigger_id = await story.active(_breaks())
        for _ in range(2):
            await story.ends(automation_id, trigger_id)
        await bench.save(_works())
        quick = await story.ends(automation_id, trigger_id)
    assert quick["status"] == "succeeded"
    await application.database.execute(
        "UPDATE runs SET finished_at = created_at - interval '1 hour' WHERE id = $1", quick["id"]
    )
    async with application.database.acquire() as connection:
        assert (
            await count_consecutive_failures(
                connection, application.workspace_id, automation_id, None, 5
            )
            == 2
        )


async def test_automations_that_are_paused_together_hold_their_triggers_in_one_order(
    bench: Bench,
) -> None:
    """Those who fire hold triggers by id, whichever automations they belong to."""
    database = bench.application.database
    async with _story(bench, in_row=1) as story:
        first, _ = await story.active(_breaks("first"))
        second, low = await story.active(_breaks("second"))
        await bench.save({**_breaks("first"), "triggers": [{**HOOK, "id": "later"}]})
        high = await database.fetchval("SELECT id FROM triggers WHERE slug = 'later'")
        assert (first < second, low < high) == (True, True)
        for one, trigger in ((first, high), (second, low)):
            request = RunRequest(bench.application.workspace_id, one, "webhook", trigger)
            await bench.until((await bench.application.dispatcher.dispatch(request)).run_id)
        async with database.transaction() as tx:
            await tx.execute("SELECT 1 FROM triggers WHERE id = $1 FOR SHARE", low)
            telling = asyncio.create_task(story.told())
            async with asyncio.timeout(PATIENCE):
                while not await database.fetchval(_BLOCKED):
                    await asyncio.sleep(0.01)
            await tx.execute("SELECT 1 FROM triggers WHERE id = $1 FOR SHARE NOWAIT", high)
        await telling
        states = [(await story.automation(one))["state"] for one in (first, second)]
    assert states == ["paused", "paused"]
