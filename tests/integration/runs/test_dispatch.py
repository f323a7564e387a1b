"""Accepting a run: inputs, keys that start at most one run, chains, states."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.runs.run_requests import RunRequest
from tests.kit.bench import Bench, document, step

NEEDS_N = {
    "schema": {
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer"}, "who": {"type": "string", "default": "$creator"}},
        "additionalProperties": False,
    }
}


async def test_bad_inputs_of_a_person_are_answered_and_nothing_is_stored(bench: Bench) -> None:
    plan = document(step("a", "test.echo"), inputs=NEEDS_N)
    with pytest.raises(Invalid) as caught:
        await bench.dispatch(plan, inputs={"n": "three"})
    assert caught.value.findings[0].pointer.endswith("/n")
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 0


async def test_an_input_that_is_declared_nowhere_is_refused_with_a_suggestion(
    bench: Bench,
) -> None:
    schema = {"type": "object", "properties": {"since": {"type": "string", "default": "x"}}}
    plan = document(step("a", "test.echo"), inputs={"schema": schema})
    with pytest.raises(Invalid) as caught:
        await bench.dispatch(plan, inputs={"sinse": "y"})
    finding = caught.value.findings[0]
    assert (finding.pointer, finding.suggestion) == ("/inputs/sinse", "Did you mean 'since'?")
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 0


async def test_inputs_are_judged_by_the_version_that_was_saved_just_now(bench: Bench) -> None:
    """Whatever is remembered of the one before."""
    before = document(step("a", "test.echo"), inputs=NEEDS_N)
    await bench.dispatch(before, inputs={"n": 1})
    other = {"schema": {"type": "object", "properties": {"m": {"type": "integer"}}}}
    made = await bench.dispatch(document(step("a", "test.echo"), inputs=other), inputs={"m": 2})
    run = await bench.read(made.run_id)
    assert (run["version"], run["inputs"]) == (2, {"m": 2})
    with pytest.raises(Invalid):
        await bench.dispatch(document(step("a", "test.echo"), inputs=other), inputs={"n": 1})


async def test_a_run_executes_the_version_it_was_accepted_with(bench: Bench) -> None:
    made = await bench.dispatch(document(step("a", "test.echo", {"value": "accepted"})))
    newer = await bench.save(document(step("b", "transform_data", {"output": "newer"})))
    assert newer.version == 2
    # As a worker that never compiled the first version.
    bench.application.versions.forget()

    async with bench.worker():
        run = await bench.until(made.run_id)

    assert run["status"] == "succeeded"
    assert (run["version"], [ran["step"] for ran in run["steps"]]) == (1, ["a"])


async def test_bad_inputs_of_a_trigger_become_a_failed_run_that_says_why(bench: Bench) -> None:
    plan = document(step("a", "test.echo"), inputs=NEEDS_N)
    await bench.save(plan)
    await bench.application.database.execute("UPDATE automations SET state = 'active'")
    made = await bench.dispatch(plan, trigger_type="webhook")
    run = await bench.read(made.run_id)
    assert (run["status"], run["reason"]) == ("failed", "invalid_inputs")
    assert run["error"]["errors"]


async def test_defaults_and_tokens_are_filled_before_the_run_is_stored(bench: Bench) -> None:
    made = await bench.dispatch(document(step("a", "test.echo"), inputs=NEEDS_N), inputs={"n": 3})
    run = await bench.read(made.run_id)
    assert run["inputs"]["n"] == 3
    assert len(run["inputs"]["who"]) == 36


async def test_fifty_racing_requests_with_one_key_start_one_run(bench: Bench) -> None:
    saved = await bench.save(document(step("a", "test.echo")))
    request = RunRequest(bench.application.workspace_id, saved.automation_id, key="tick 9:00")
    made = await asyncio.gather(
        *(bench.application.dispatcher.dispatch(request) for _ in range(50))
    )
    assert len({one.run_id for one in made}) == 1
    assert sum(not one.existed for one in made) == 1
    assert await bench.application.database.fetchval("SELECT count(*) FROM runs") == 1


async def test_a_key_with_another_body_is_refused_and_an_expired_key_is_free(bench: Bench) -> None:
    saved = await bench.save(document(step("a", "test.echo")))
    past = datetime.now(UTC) - timedelta(seconds=1)
    base = RunRequest(bench.application.workspace_id, saved.automation_id, key="k")
    dispatch = bench.application.dispatcher.dispatch
    first = await dispatch(replace(base, body_hash=b"1", key_expires_at=past))
    second = await dispatch(replace(base, body_hash=b"2"))
    assert first.run_id != second.run_id
    with pytest.raises(Invalid, match="different body"):
        await dispatch(replace(base, body_hash=b"3"))


async def test_a_chain_of_runs_ends_at_its_depth_with_a_record(bench: Bench) -> None:
    saved = await bench.save(
        document(step("a", "test.echo"), execution={"concurrency": "allow_parallel"})
    )
    request = RunRequest(bench.application.workspace_id, saved.automation_id)
    made = await bench.application.dispatcher.dispatch(request)
    while made.status == "pending":
        made = await bench.application.dispatcher.dispatch(replace(request, parent_id=made.run_id))
    assert (made.status, made.reason) == ("skipped", "chain_depth")
    pending = "SELECT count(*) FROM runs WHERE status = 'pending'"
    assert (
        await bench.application.database.fetchval(pending)
        == bench.application.limits.chain_depth + 1
    )


async def test_a_paused_automation_runs_manually_and_not_by_trigger(bench: Bench) -> None:
    plan = document(step("a", "test.echo"))
    by_trigger = await bench.dispatch(plan, trigger_type="schedule", trigger_id=generate_id())
    assert (by_trigger.status, by_trigger.reason) == ("skipped", "paused")
    assert (await bench.dispatch(plan)).status == "pending"


async def test_an_unknown_automation_is_missing(bench: Bench) -> None:
    with pytest.raises(NotFound):
        await bench.application.dispatcher.dispatch(
            RunRequest(bench.application.workspace_id, generate_id())
        )


async def test_saving_twice_makes_one_version_and_triggers_keep_their_ids(bench: Bench) -> None:
    daily = {
        "id": "daily",
        "type": "schedule",
        "config": {"cron": "0 9 * * *", "timezone": "Europe/Berlin"},
    }
    first = await bench.save(document(step("a", "test.echo"), triggers=[daily]))
    same = await bench.save(document(step("a", "test.echo"), triggers=[daily]))
    before = await bench.application.database.fetchval("SELECT id FROM triggers")
    later = {**daily, "config": {**daily["config"], "cron": "0 10 * * *"}}  # type: ignore[dict-item]
    edited = await bench.save(document(step("a", "test.echo"), triggers=[later]))
    assert (first.version, same.version, edited.version) == (1, 1, 2)
    assert not same.changed
    row = await bench.application.database.fetchrow("SELECT id, config FROM triggers")
    assert row is not None
    assert row["id"] == before
    assert row["config"]["cron"] == "0 10 * * *"
