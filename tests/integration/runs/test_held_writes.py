"""A run waits for a write that is held for a person, and goes on with what came of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import pytest
import pytest_asyncio

from mainspring.connections.installed_integrations import install_id_of
from mainspring.contracts.errors import Conflict, Problem
from mainspring.gate.reminders import DraftReminders
from mainspring.runs.replay import replay
from tests.kit.bench import Bench, document, step
from tests.kit.drafts import INPUTS, POST, Office, office
from tests.kit.scripted_server import http_answer
from tests.kit.slack import refusal

NOTE = step("note", "notification", {"title": "{{ steps.tell.ts }}: {{ steps.tell.sent.text }}"})
AT_ONCE = {"retry_backoff": "none", "max_retries": 0}
ADA = {"who": "Ada"}


@pytest_asyncio.fixture
async def here(bench: Bench) -> AsyncIterator[Office]:
    async with office(bench) as made:
        yield made


def _plan(*after: Any, tell: Any = None, **more: Any) -> dict[str, Any]:
    telling = step("tell", "slack_post", POST, **{**AT_ONCE, **(tell or {})})
    return document(telling, *after, inputs=INPUTS, **more)


async def _waiting(here: Office, plan: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A run that has come to its held write; no worker holds it any more."""
    made = await here.bench.dispatch(plan, inputs=ADA, **more)
    async with here.bench.worker() as worker:
        run = await here.bench.until(made.run_id, "waiting")
        await here.bench.until_idle(worker)
    return run


def _draft_of(run: dict[str, Any]) -> str:
    (waiting,) = [one for one in run["steps"] if one["status"] == "waiting"]
    return str(waiting["output"]["draft_id"])


async def _ended(here: Office, run: dict[str, Any]) -> dict[str, Any]:
    async with here.bench.worker():
        return await here.bench.until(run["id"])


async def _let_expire(here: Office, run_id: UUID) -> None:
    """Time passes, for the drafts of a run and for the run that waits until then."""
    async with here.bench.application.database.transaction() as tx:
        await tx.execute(
            "UPDATE drafts SET expires_at = now() - interval '1 second' WHERE run_id = $1", run_id
        )
        await tx.execute("UPDATE runs SET due_at = now() WHERE id = $1", run_id)


async def test_a_later_step_uses_the_result_and_the_edited_text(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    draft = _draft_of(run)
    assert here.slack.messages == []
    assert run["due_at"] == (await here.row(draft))["expires_at"]

    await here.ask("confirm_action", {"draft_id": draft, "edits": {"text": "Good morning"}})
    run = await _ended(here, run)

    assert (run["status"], run["outcome"]) == ("succeeded", "effects"), run["error"]
    outputs = {one["step"]: one["output"] for one in run["steps"]}
    assert (outputs["tell"]["ts"], outputs["tell"]["channel"]) == ("1503435956.000001", "C0123")
    assert outputs["tell"]["sent"]["text"] == "Good morning"
    (result,) = await here.bench.application.database.fetch("SELECT title FROM notifications")
    assert result["title"] == "1503435956.000001: Good morning"
    assert [one["text"] for one in here.slack.messages] == ["Good morning"]
    assert (run["drafts"], run["effects"]) == (0, 2)
    assert [one["status"] for one in run["steps"]] == ["succeeded", "succeeded"]


async def test_a_step_whose_result_nobody_reads_goes_on_at_once(here: Office) -> None:
    plain = step("note", "notification", {"title": "Posted."})
    run = await here.bench.run(_plan(plain), inputs=ADA)

    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting")
    assert run["steps"][0]["output"]["kind"] == "draft"


async def test_a_step_that_says_continue_goes_on_though_its_result_is_read(here: Office) -> None:
    asked = step("note", "notification", {"title": "{{ steps.tell.ts | default('none yet') }}"})
    run = await here.bench.run(_plan(asked, tell={"on_hold": "continue"}), inputs=ADA)

    assert (run["status"], run["outcome"]) == ("succeeded", "drafts_waiting")


async def test_a_step_that_says_wait_waits_though_nobody_reads_its_result(here: Office) -> None:
    run = await _waiting(here, _plan(tell={"on_hold": "wait"}))
    await here.confirm(_draft_of(run))
    run = await _ended(here, run)

    assert run["output"]["ts"] == "1503435956.000001"


HANDLING = {
    "on_failure": [
        step(
            "no",
            "notification",
            {"title": "{{ run.failed_step_id }} {{ run.error.code }}"},
            when="{{ run.error.code in ['declined', 'expired'] }}",
        ),
        step(
            "other",
            "notification",
            {"title": "other"},
            when="{{ run.error.code not in ['declined', 'expired'] }}",
        ),
    ]
}


async def test_a_refusal_fails_the_step_and_on_failure_handles_it(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE, execution=HANDLING))
    await here.ask("discard_action", {"draft_id": _draft_of(run), "reason": "Not today."})
    run = await _ended(here, run)

    assert (run["status"], run["error"]["code"]) == ("failed", "declined")
    assert "Not today." in run["error"]["detail"]
    result = await here.bench.application.database.fetch("SELECT title FROM notifications")
    assert [one["title"] for one in result] == ["tell declined"]
    assert here.slack.messages == []


async def test_a_draft_that_nobody_answers_fails_the_step_as_expired(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE, execution=HANDLING))
    await _let_expire(here, run["id"])
    run = await _ended(here, run)

    assert (run["status"], run["error"]["code"]) == ("failed", "expired")
    result = await here.bench.application.database.fetch("SELECT title FROM notifications")
    assert [one["title"] for one in result] == ["tell expired"]


async def test_a_failing_send_is_repeated_without_a_second_draft(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE, tell={"max_retries": 1}))
    here.slack.script = [refusal("ratelimited")]
    answer = await here.confirm(_draft_of(run))
    run = await _ended(here, run)

    assert answer["outcome"] == "sent"
    assert run["status"] == "succeeded", run["error"]
    assert len(here.slack.requests) == 2
    assert await here.bench.application.database.fetchval("SELECT count(*) FROM drafts") == 1


async def test_a_send_that_fails_for_good_fails_the_step_with_that_problem(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE, tell={"max_retries": 3}))
    here.slack.script = [refusal("channel_not_found")]
    await here.confirm(_draft_of(run))
    run = await _ended(here, run)

    assert (run["status"], run["error"]["code"]) == ("failed", "slack_channel_not_found")
    assert len(here.slack.requests) == 1


async def test_a_send_that_may_have_left_is_not_repeated(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE, tell={"max_retries": 3}))
    here.slack.script = [http_answer(500, b"<html>oops</html>")]
    answer = await here.confirm(_draft_of(run))
    run = await _ended(here, run)

    assert answer["outcome"] == "unknown"
    assert run["status"] == "failed"
    assert len(here.slack.requests) == 1


async def test_a_send_whose_process_was_lost_fails_the_step_before_the_draft_expires(
    here: Office,
) -> None:
    run = await _waiting(here, _plan(NOTE))
    draft = _draft_of(run)
    # As the row is after the process that sends was killed.
    await here.change(draft, "status = 'sending', answered_at = now() - interval '5 minutes'")
    async with here.bench.application.database.transaction() as tx:
        await tx.execute("UPDATE runs SET due_at = now() WHERE id = $1", run["id"])
    async with here.bench.worker() as worker:
        await here.bench.until(run["id"], "waiting")
        await here.bench.until_idle(worker)
    again = await here.bench.read(run["id"])
    assert again["status"] == "waiting"
    assert again["due_at"] < (await here.row(draft))["expires_at"]

    await here.change(draft, "answered_at = now() - interval '7 minutes'")
    async with here.bench.application.database.transaction() as tx:
        await tx.execute("UPDATE runs SET due_at = now() WHERE id = $1", run["id"])
    run = await _ended(here, run)
    assert (run["status"], run["error"]["code"]) == ("failed", "send_in_doubt")


async def test_a_confirmation_before_the_run_sleeps_is_not_lost(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    database = here.bench.application.database
    await database.execute("UPDATE runs SET status = 'running' WHERE id = $1", run["id"])
    await here.confirm(_draft_of(run))
    row = await database.fetchrow("SELECT nudged_at FROM runs WHERE id = $1", run["id"])
    assert row is not None
    assert row["nudged_at"] is not None
    # Its worker was lost on the way; the next one finds the answer.
    await database.execute(
        "UPDATE runs SET status = 'pending', due_at = now() WHERE id = $1", run["id"]
    )
    assert (await _ended(here, run))["status"] == "succeeded"


async def test_a_cancelled_run_takes_its_draft_with_it(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    draft = _draft_of(run)
    space = here.bench.application.workspace_id
    assert await here.bench.application.control.cancel(space, run["id"]) == "cancelled"

    row = await here.row(draft)
    assert (row["status"], row["reason"]) == ("discarded", "The run was cancelled.")
    with pytest.raises(Conflict):
        await here.confirm(draft)
    assert here.slack.messages == []


async def test_a_run_that_was_retried_after_a_refusal_holds_its_write_again(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    first = _draft_of(run)
    await here.ask("discard_action", {"draft_id": first})
    await _ended(here, run)
    await here.bench.application.control.retry(here.bench.application.workspace_id, run["id"])
    async with here.bench.worker() as worker:
        run = await here.bench.until(run["id"], "waiting")
        await here.bench.until_idle(worker)
    second = _draft_of(run)
    assert second != first
    await here.confirm(second)
    assert (await _ended(here, run))["status"] == "succeeded"
    assert len(here.slack.messages) == 1


async def test_a_run_that_waited_is_replayed_with_a_draft_of_its_own(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    await here.confirm(_draft_of(run))
    await _ended(here, run)
    application = here.bench.application
    made = await replay(
        application.database,
        application.dispatcher,
        application.limits,
        application.workspace_id,
        run["id"],
    )
    async with here.bench.worker() as worker:
        second = await here.bench.until(made.run_id, "waiting")
        await here.bench.until_idle(worker)
    assert len(here.slack.messages) == 1
    await here.confirm(_draft_of(second))
    assert (await _ended(here, second))["status"] == "succeeded"
    assert len(here.slack.messages) == 2


async def test_a_dry_run_pretends_and_does_not_wait(here: Office) -> None:
    made = await here.bench.dispatch(_plan(NOTE), inputs=ADA, mode="dry_run")
    async with here.bench.worker():
        run = await here.bench.until(made.run_id)

    assert run["status"] == "succeeded", run["error"]
    assert run["steps"][0]["output"]["sent"]["text"] == "Hello Ada"
    assert await here.bench.application.database.fetchval("SELECT count(*) FROM drafts") == 0


LOOP = step(
    "each",
    "for_each",
    {
        "items": ["one", "two", "three"],
        "continue_on_error": True,
        "steps": [
            step("tell", "slack_post", {**POST, "text": "{{ item }}"}, **AT_ONCE),
            step("note", "notification", {"title": "{{ item }} {{ steps.tell.ts }}"}),
        ],
    },
)


async def test_items_of_a_loop_wait_each_for_its_own_draft(here: Office) -> None:
    run = await _waiting(here, document(LOOP, inputs=INPUTS))
    drafts = {
        one["item"]: one["output"]["draft_id"] for one in run["steps"] if one["status"] == "waiting"
    }
    # All are shown at once; no item waits for the one before it.
    assert sorted(drafts) == ["0", "1", "2"]
    await here.confirm(drafts["2"])
    async with here.bench.worker() as worker:
        await _until_noted(here, "three 1503435956.000001")
        await here.bench.until(run["id"], "waiting")
        await here.bench.until_idle(worker)
    await here.ask("discard_action", {"draft_id": drafts["0"]})
    await here.confirm(drafts["1"])
    run = await _ended(here, run)

    assert (run["status"], run["reason"]) == ("succeeded", "items_failed")
    (failed,) = run["output"]["failed"]
    assert (failed["index"], failed["error"]["code"]) == (0, "declined")
    assert [one["text"] for one in here.slack.messages] == ["three", "two"]
    assert (run["drafts"], run["outcome"]) == (0, "effects")


async def _until_noted(here: Office, title: str) -> None:
    async with asyncio.timeout(60):
        while not await here.bench.application.database.fetchval(
            "SELECT count(*) FROM notifications WHERE title = $1", title
        ):
            await asyncio.sleep(0.01)


async def test_a_loop_that_fails_takes_its_other_drafts_with_it(here: Office) -> None:
    strict = {**LOOP, "config": {**LOOP["config"], "continue_on_error": False}}
    run = await _waiting(here, document(strict, inputs=INPUTS))
    drafts = [one["output"]["draft_id"] for one in run["steps"] if one["status"] == "waiting"]
    await here.ask("discard_action", {"draft_id": drafts[0]})
    run = await _ended(here, run)

    assert (run["status"], run["error"]["code"]) == ("failed", "declined")
    for left in drafts[1:]:
        with pytest.raises(Problem):
            await here.confirm(left)
    assert here.slack.messages == []


async def _lasts(here: Office, draft_id: str) -> float:
    row = await here.row(draft_id)
    return float((row["expires_at"] - row["created_at"]).total_seconds())


async def test_a_write_of_a_run_waits_for_72_hours_or_as_was_said(here: Office) -> None:
    (draft,) = await here.posts("Ada")
    assert await _lasts(here, draft) == pytest.approx(259_200, abs=60)
    assert await _lasts(here, await here.nudge()) == pytest.approx(3_600, abs=60)

    stored = await here.ask("set_approval_policy", {"held_seconds": 7_200})
    assert (stored["held_seconds"], stored["draft_seconds"]) == (7_200, None)
    (draft,) = await here.posts("Bob")
    assert await _lasts(here, draft) == pytest.approx(7_200, abs=60)
    assert await _lasts(here, await here.nudge()) == pytest.approx(3_600, abs=60)

    run = await _waiting(here, _plan(NOTE, tell={"hold_expires_after": "3d"}))
    assert await _lasts(here, _draft_of(run)) == pytest.approx(259_200, abs=60)

    await here.change(draft, "expires_at = now()")
    again = await here.ask("redraft_action", {"draft_id": draft})
    assert await _lasts(here, again["draft_id"]) == pytest.approx(7_200, abs=60)


async def test_acting_on_an_integration_waits_for_an_hour_in_a_run_too(here: Office) -> None:
    acting = {
        "install_id": str(install_id_of("slack")),
        "action_name": "slack_post",
        "input": {"channel": "C0123", "text": "Hi"},
    }
    plan = document(
        step("act", "act_on_integration", acting, on_hold="wait"),
        step("note", "notification", {"title": "{{ steps.act.ts }}"}),
    )
    made = await here.bench.dispatch(plan)
    async with here.bench.worker():
        run = await here.bench.until(made.run_id, "waiting")
    assert await _lasts(here, _draft_of(run)) == pytest.approx(3_600, abs=60)
    await here.confirm(_draft_of(run))
    run = await _ended(here, run)

    assert run["status"] == "succeeded", run["error"]
    assert run["steps"][0]["output"]["ts"] == "1503435956.000001"


async def test_people_are_reminded_once_before_a_held_write_expires(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    draft = _draft_of(run)
    database = here.bench.application.database
    reminders = DraftReminders(database)
    assert await reminders.once() == 0

    await here.change(
        draft, "created_at = now() - interval '55 hours', expires_at = now() + interval '17 hours'"
    )
    assert await reminders.once() == 1
    assert await reminders.once() == 0
    (result,) = await database.fetch("SELECT title, message, run_id FROM notifications")
    assert result["title"] == "A draft expires soon"
    assert "Hello Ada" in result["message"]
    assert result["run_id"] == run["id"]


async def test_what_a_run_waited_for_ends_with_it_whatever_ended_it(here: Office) -> None:
    run = await _waiting(here, _plan(NOTE))
    draft = _draft_of(run)
    await here.bench.application.database.execute(
        "UPDATE runs SET status = 'dead', finished_at = now() WHERE id = $1", run["id"]
    )
    with pytest.raises(Conflict) as ended:
        await here.confirm(draft)
    assert ended.value.code == "run_ended"
    await DraftReminders(here.bench.application.database).once()
    assert (await here.row(draft))["status"] == "discarded"
    assert here.slack.messages == []
