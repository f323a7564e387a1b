"""What a member made stops when they leave, and goes on when somebody has taken it over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.roles import Role
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.members import remove_member
from mainspring.workspace.people.users import disable_user, enable_user
from mainspring.workspace.sealing import SecretScope
from tests.integration.triggers.test_schedule import MINUTE, due_of, schedule, scheduler_of
from tests.integration.triggers.test_webhook_signatures import (
    SECRET,
    _send,
    _signed,
    _signed_hook,
)
from tests.kit.api import Api, api
from tests.kit.bench import Bench, document, step
from tests.kit.events import listen, match_all, runs_of, tell
from tests.kit.people import Browser, browser, make_person, member
from tests.kit.webhooks import PLAN, Hook, hook, webhook

__all__ = ["api"]

PARALLEL: dict[str, Any] = {"execution": {"concurrency": "allow_parallel"}}


async def _ada(bench: Bench, role: Role = Role.EDITOR) -> UUID:
    space = bench.application.workspace_id
    made = await make_person(
        bench.application.database, "ada@example.org", workspace_id=space, role=role
    )
    return made.id


async def _hook_of(bench: Bench, api: Api, owner: UUID, *triggers: Any, **more: Any) -> Hook:
    """An active webhook automation that a member owns, with a token that they made."""
    made = await hook(bench, api, *triggers, **{**PARALLEL, **more})
    database = bench.application.database
    await database.execute(
        "UPDATE automations SET created_by = $2 WHERE id = $1", made.automation_id, owner
    )
    await database.execute(
        "UPDATE triggers SET secret_made_by = $2 WHERE automation_id = $1 "
        "AND secret_hash IS NOT NULL",
        made.automation_id,
        owner,
    )
    return made


async def _remove(bench: Bench, user_id: UUID) -> None:
    owner = member(bench.application.workspace_id, FIRST_MEMBER, Role.OWNER)
    async with bench.application.database.transaction() as tx:
        await remove_member(tx, owner, user_id)


async def _disable(bench: Bench, user_id: UUID) -> None:
    async with bench.application.database.transaction() as tx:
        await disable_user(tx, user_id)


async def _state(bench: Bench, automation_id: UUID) -> tuple[str, str | None]:
    row = await bench.application.database.fetchrow(
        "SELECT state, paused_reason FROM automations WHERE id = $1", automation_id
    )
    assert row is not None
    return row["state"], row["paused_reason"]


async def _take(page: Browser, user_id: UUID, **more: Any) -> dict[str, Any]:
    shown = await page.ask("GET", f"/members/{user_id}/takeover")
    assert shown.status_code == 200, shown.text
    body = {"digest": shown.json()["digest"], **more}
    answer = await page.ask("POST", f"/members/{user_id}/takeover", json=body)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()
    return result


@pytest.mark.parametrize("end", [_remove, _disable])
async def test_the_webhook_of_a_leaver_keeps_its_calls_until_it_is_taken_over(
    bench: Bench, api: Api, end: Any
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada)
    # Twice, so that it is remembered and written in one statement.
    for _ in range(2):
        assert (await called.fire({"a": 1})).status_code == 202

    await end(bench, ada)

    assert await _state(bench, called.automation_id) == ("paused", "owner_left")
    answer = await called.fire({"a": 2}, key="k1")
    assert (answer.status_code, answer.json()["code"]) == (409, "owner_left")
    missed = await bench.read(UUID(answer.json()["run_id"]))
    assert (missed["status"], missed["reason"]) == ("skipped", "owner_left")
    assert missed["payload"] == {"a": 2}
    refused = await api.client.post(f"/api/v1/automations/{called.automation_id}/activate")
    assert (refused.status_code, refused.json()["code"]) == (404, "owner_left")

    async with browser(api, FIRST_MEMBER) as page:
        result = await _take(page, ada)
    (one,) = result["automations"]
    assert (one["state"], one["problem"], one["missed"]) == ("active", None, 1)
    # The token and the address are what they were.
    assert (await called.fire({"a": 3})).status_code == 202
    assert (await called.fire({"a": 2}, key="k1")).status_code == 202
    replayed = await api.client.post(f"/api/v1/runs/{missed['id']}/replay")
    assert replayed.status_code == 202, replayed.text
    assert (await bench.read(UUID(replayed.json()["run_id"])))["status"] == "pending"


async def test_a_token_of_a_leaver_for_somebody_elses_automation_is_suspended_alone(
    bench: Bench, api: Api
) -> None:
    ada = await _ada(bench)
    called = await hook(bench, api, **PARALLEL)
    await bench.application.database.execute("UPDATE triggers SET secret_made_by = $1", ada)
    assert (await called.fire({"a": 1})).status_code == 202
    await _remove(bench, ada)
    assert await _state(bench, called.automation_id) == ("active", None)
    for _ in range(2):
        assert (await called.fire({"a": 1})).json()["code"] == "owner_left"
    async with browser(api, FIRST_MEMBER) as page:
        listed = (await page.ask("GET", "/members")).json()["left"]
        assert [(one["email"], one["automations"], one["webhooks"]) for one in listed] == [
            ("ada@example.org", 0, 1)
        ]
        assert (await _take(page, ada))["webhooks"] == 1
        assert (await page.ask("GET", "/members")).json()["left"] == []
    assert (await called.fire({"a": 1})).status_code == 202


async def test_a_new_token_ends_the_suspension(bench: Bench, api: Api) -> None:
    ada = await _ada(bench)
    called = await hook(bench, api, **PARALLEL)
    await bench.application.database.execute("UPDATE triggers SET secret_made_by = $1", ada)
    await _remove(bench, ada)
    path = f"/api/v1/automations/{called.automation_id}/triggers/{called.slug}/token"
    made = (await api.client.post(path)).json()["token"]
    assert (await called.fire({"a": 1})).status_code == 401
    assert (await replace(called, token=made).fire({"a": 1})).status_code == 202


async def test_events_of_a_leavers_automation_are_recorded_as_missed(bench: Bench) -> None:
    ada = await _ada(bench)
    listening = await listen(bench, "listens", "file.added")
    await bench.application.database.execute("UPDATE automations SET created_by = $1", ada)
    await _remove(bench, ada)
    await tell(bench.application, "file.added", {"name": "x"})
    await match_all(bench.application)
    (run,) = await runs_of(bench.application, listening)
    assert (run["status"], run["reason"]) == ("skipped", "owner_left")


async def test_fire_times_of_a_leavers_schedule_are_recorded_as_missed(
    bench: Bench, api: Api
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada, webhook(), schedule())
    await _remove(bench, ada)
    due = await due_of(bench)
    # An edit by somebody else does not hide what it misses.
    triggers = [webhook(), schedule()]
    await bench.save(document(PLAN, name="hooked", goal="Other.", triggers=triggers, **PARALLEL))
    assert await scheduler_of(bench).once(due) == 1
    rows = await bench.application.database.fetch(
        "SELECT status, reason, trigger_type FROM runs ORDER BY id"
    )
    assert [tuple(row) for row in rows] == [("skipped", "owner_left", "schedule")]
    async with browser(api, FIRST_MEMBER) as page:
        await _take(page, ada)
    assert await due_of(bench) == due + MINUTE
    assert await scheduler_of(bench).once(due + MINUTE) == 1
    query = "SELECT status FROM runs ORDER BY id DESC LIMIT 1"
    assert await bench.application.database.fetchval(query) == "pending"
    assert await _state(bench, called.automation_id) == ("active", None)


async def test_a_signed_call_of_a_leaver_is_verified_and_kept(bench: Bench, api: Api) -> None:
    called = await _signed_hook(bench, api, **PARALLEL)
    ada = await _ada(bench)
    await bench.application.database.execute("UPDATE automations SET created_by = $1", ada)
    await bench.application.vault.set(
        SecretScope(bench.application.workspace_id, ada), "billing_key", SECRET
    )
    assert (await _send(called, _signed(message="msg_1"))).status_code == 202
    await _remove(bench, ada)
    stored = await _send(called, _signed(message="msg_2"))
    assert (stored.status_code, stored.json()["code"]) == (409, "owner_left")
    forged = await _send(called, {**_signed(message="msg_3"), "webhook-signature": "v1,AAAA"})
    assert (forged.status_code, forged.json()["code"]) == (401, "unknown_webhook")


async def test_remaining_members_are_notified_of_what_stopped(bench: Bench, api: Api) -> None:
    ada = await _ada(bench)
    await _hook_of(bench, api, ada, name="digest")
    await _remove(bench, ada)
    result = await bench.application.database.fetchrow(
        "SELECT title, message, level FROM notifications"
    )
    assert result is not None
    assert result["title"] == "Ada left: what they made has stopped"
    assert "- digest" in result["message"]
    assert "mainspring members takeover ada@example.org" in result["message"]
    assert result["level"] == "warning"


async def test_the_new_owner_sees_what_it_may_do_and_what_is_missing(
    bench: Bench, api: Api
) -> None:
    ada, space = await _ada(bench), bench.application.workspace_id
    fetch = {"url": "https://example.test/", "headers": {"X-Key": "{{ secrets.key }}"}}
    plan = [step("ask", "http_fetch", fetch)]
    called = await _hook_of(bench, api, ada, plan=plan, name="asks")
    await bench.application.vault.set(SecretScope(space, ada), "key", "ada's own value")
    await _remove(bench, ada)
    async with browser(api, FIRST_MEMBER) as page:
        shown = (await page.ask("GET", f"/members/{ada}/takeover")).json()
        (one,) = shown["automations"]
        assert any("example.test" in says for says in one["may"])
        assert [found["code"] for found in one["missing"]] == ["secret_missing"]
        (accepted,) = (await _take(page, ada))["automations"]
        assert (accepted["state"], accepted["problem"]["code"]) == ("paused", "secrets_missing")
        # Until it is active, calls are kept.
        assert (await called.fire({"a": 1})).json()["code"] == "owner_left"
        assert await _state(bench, called.automation_id) == ("paused", "owner_left")
        await bench.application.vault.set(
            SecretScope(space, FIRST_MEMBER), "key", "the new owner's"
        )
        done = await page.ask("POST", f"/automations/{called.automation_id}/activate")
        assert done.json()["state"] == "active", done.text
    assert (await called.fire({"a": 1})).status_code == 202


async def test_only_a_person_takes_over_and_only_what_they_were_shown(
    bench: Bench, api: Api
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada)
    path = f"/members/{ada}/takeover"
    async with browser(api, FIRST_MEMBER) as page:
        # Nobody takes anything from somebody who is here.
        assert (await page.ask("GET", path)).json()["code"] == "nothing_left"
        await _remove(bench, ada)
        digest = (await page.ask("GET", path)).json()["digest"]
        program = await api.anonymous.post(
            f"/api/v1{path}",
            json={"digest": digest},
            headers={"Authorization": f"Bearer {api.token}"},
        )
        assert (program.status_code, program.json()["code"]) == (403, "person_needed")
        other = await page.ask("POST", path, json={"digest": "0" * 64})
        assert (other.status_code, other.json()["code"]) == (409, "takeover_changed")
        some = await page.ask(
            "POST", path, json={"digest": digest, "automations": [str(called.automation_id)]}
        )
        assert [one["state"] for one in some.json()["automations"]] == ["active"]
        again = await page.ask("POST", path, json={"digest": digest})
        assert again.json()["code"] == "nothing_left"


@pytest.mark.parametrize("was_active", [True, False])
async def test_a_leavers_automation_is_not_run_live_before_it_is_taken_over(
    bench: Bench, api: Api, was_active: bool
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada)
    assert (await called.fire({"a": 1})).status_code == 202
    place = f"/api/v1/automations/{called.automation_id}"
    if not was_active:
        assert (await api.client.post(f"{place}/pause")).status_code == 200
    (before,) = (await api.client.get(f"/api/v1/runs?automation_id={called.automation_id}")).json()[
        "items"
    ]
    await _remove(bench, ada)
    for path in (f"{place}/run", f"/api/v1/runs/{before['id']}/replay"):
        refused = await api.client.post(path, json={})
        assert (refused.status_code, refused.json()["code"]) == (409, "owner_left"), refused.text
        assert "mainspring members takeover" in refused.json()["suggestion"]
    tried = await api.client.post(f"{place}/run", json={"dry_run": True})
    assert tried.status_code == 202, tried.text
    async with browser(api, FIRST_MEMBER) as page:
        await _take(page, ada)
    assert (await api.client.post(f"{place}/run", json={})).status_code == 202


async def test_an_owner_who_is_enabled_again_activates_what_stopped(bench: Bench, api: Api) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada)
    await _disable(bench, ada)
    async with bench.application.database.transaction() as tx:
        await enable_user(tx, ada)
    # Nothing starts by itself: a person decides.
    assert (await called.fire({"a": 1})).json()["code"] == "owner_left"
    done = await api.client.post(f"/api/v1/automations/{called.automation_id}/activate")
    assert done.json()["state"] == "active", done.text
    assert (await called.fire({"a": 1})).status_code == 202


async def test_what_somebody_left_before_the_upgrade_goes_on_and_is_listed(
    bench: Bench, api: Api
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada)
    await bench.application.database.execute("DELETE FROM members WHERE user_id = $1", ada)
    assert (await called.fire({"a": 1})).status_code == 202
    async with browser(api, FIRST_MEMBER) as page:
        (left,) = (await page.ask("GET", "/members")).json()["left"]
        assert (left["id"], left["automations"]) == (str(ada), 1)
        (accepted,) = (await _take(page, ada))["automations"]
    assert (accepted["stopped"], accepted["state"]) == (False, "active")
    assert (await called.fire({"a": 1})).status_code == 202


async def test_missed_runs_are_replayed_with_a_takeover_by_the_policy_of_each_trigger(
    bench: Bench, api: Api
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada, webhook(), schedule())
    await _remove(bench, ada)
    for number in (1, 2):
        assert (await called.fire({"a": number})).status_code == 409
    due = await due_of(bench)
    for moment in (due, due + MINUTE):
        await scheduler_of(bench).once(moment)
    missed = await bench.application.database.fetch("SELECT id, trigger_type FROM runs ORDER BY id")
    assert [one["trigger_type"] for one in missed] == ["webhook"] * 2 + ["schedule"] * 2

    async with browser(api, FIRST_MEMBER) as page:
        result = await _take(page, ada, replay_missed=True)
    (one,) = result["automations"]
    # Of the schedule the latest moment alone: its policy is fire_once.
    assert (one["missed"], one["replayable"], one["replayed"]) == (4, 3, 3)
    made = await bench.application.database.fetch(
        "SELECT replay_of, status, payload FROM runs WHERE replay_of IS NOT NULL ORDER BY id"
    )
    expected = [missed[0]["id"], missed[1]["id"], missed[3]["id"]]
    assert [(row["replay_of"], row["status"]) for row in made] == [
        (run_id, "pending") for run_id in expected
    ]
    assert [row["payload"] for row in made][:2] == [{"a": 1}, {"a": 2}]


async def test_a_takeover_without_that_starts_nothing_and_keeps_what_was_missed(
    bench: Bench, api: Api
) -> None:
    ada = await _ada(bench)
    called = await _hook_of(bench, api, ada)
    await _remove(bench, ada)
    await called.fire({"a": 1})
    async with browser(api, FIRST_MEMBER) as page:
        (one,) = (await _take(page, ada))["automations"]
    assert (one["missed"], one["replayable"], one["replayed"]) == (1, 1, 0)
    rows = await bench.application.database.fetch("SELECT status, reason FROM runs")
    assert [tuple(row) for row in rows] == [("skipped", "owner_left")]
