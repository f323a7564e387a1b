"""The gate inside a run: grants, drafts, budgets and secrets."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from mainspring.workspace.inbox import list_notifications
from tests.kit.bench import Bench, document, step


async def _revoke(bench: Bench) -> None:
    await bench.application.database.execute("UPDATE automation_versions SET grants = '[]'")


async def test_a_call_that_was_not_granted_is_blocked_and_never_made(bench: Bench) -> None:
    made = await bench.dispatch(document(step("a", "test.note")))
    await _revoke(bench)
    bench.application.versions.forget()
    async with bench.worker():
        run = await bench.until(made.run_id)
    assert (run["status"], run["outcome"], run["reason"]) == ("failed", "blocked", "not_granted")
    assert run["calls"][0]["outcome"] == "denied"
    assert not bench.outside.keys


async def test_an_outside_write_becomes_a_draft_and_the_run_goes_on(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("mail", "test.mail", {"mark": "hello"}),
            step("after", "transform_data", {"output": "{{ mail.kind }}"}),
        )
    )
    assert (run["status"], run["outcome"], run["drafts"]) == ("succeeded", "drafts_waiting", 1)
    assert run["output"] == "draft"
    assert not bench.outside.keys
    (draft,) = await bench.application.database.fetch("SELECT * FROM drafts")
    assert (draft["preview"], draft["arguments"]) == ("Send hello.", {"mark": "hello"})
    assert draft["status"] == "pending"


async def test_a_safe_write_goes_without_a_person_only_under_the_policy_for_it(
    bench: Bench,
) -> None:
    plan: dict[str, Any] = {"write_policy": "auto_confirm_safe"}
    run = await bench.run(
        document(step("nudge", "test.nudge"), step("mail", "test.mail"), execution=plan)
    )
    assert [c["outcome"] for c in run["calls"]] == ["sent", "held"]
    held = await bench.run(document(step("nudge", "test.nudge"), name="careful"))
    assert [c["outcome"] for c in held["calls"]] == ["held"]


async def test_a_run_stops_before_the_call_that_comes_after_the_money_is_gone(
    bench: Bench,
) -> None:
    run = await bench.run(
        document(
            step("a", "test.costly", {"usd": "0.60"}),
            step("b", "test.costly", {"usd": "0.60"}),
            step("c", "test.costly", {"usd": "0.60"}),
        )
    )
    assert (run["status"], run["outcome"]) == ("failed", "over_budget")
    assert run["cost_usd"] == Decimal("1.20")
    assert len(bench.outside.tries) == 2


async def test_a_day_s_cap_that_is_reached_keeps_the_next_run_from_starting(bench: Bench) -> None:
    plan = document(step("a", "test.costly", {"usd": "1.00"}))
    assert (await bench.run(plan))["status"] == "succeeded"
    second = await bench.run(plan)
    assert (second["status"], second["reason"], second["outcome"]) == (
        "skipped",
        "day_budget",
        "over_budget",
    )
    assert len(bench.outside.tries) == 1


async def test_a_notification_reaches_the_inbox_once(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("tell", "notification", {"title": "Done", "message_template": "{{ run.id }}"})
        )
    )
    assert run["outcome"] == "effects", run["error"]
    async with bench.application.database.acquire() as connection:
        (entry,) = await list_notifications(connection, bench.application.workspace_id)
    assert (entry["title"], entry["message"]) == ("Done", str(run["id"]))


async def test_kv_keeps_a_cursor_between_runs(bench: Bench) -> None:
    plan = document(
        step("seen", "automation_kv.set", {"key": "seen", "value": 1, "if_absent": True}),
    )
    first, second = await bench.run(plan), await bench.run(plan)
    assert (first["output"]["set"], second["output"]["set"]) == (True, False)


async def test_a_result_too_large_for_its_record_is_stored_separately(bench: Bench) -> None:
    large = "x" * (bench.application.limits.kv_value_bytes - 6)
    run = await bench.run(
        document(
            step("put", "automation_kv.set", {"key": "large", "value": large}),
            step("get", "automation_kv.get", {"key": "large"}),
        )
    )
    assert run["status"] == "succeeded", run["error"]
    (call,) = [call for call in run["calls"] if call["step"] == "get"]
    assert call["result"] is None
    stored = await bench.application.database.fetchrow("SELECT id, content FROM large_results")
    assert stored is not None
    assert stored["id"] == call["result_id"]
    assert json.loads(stored["content"]) == run["output"] == {"found": True, "value": large}
