"""Cases that once went wrong: order after a resume, numbers, cancels, loops and sizes."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from mainspring.contracts.errors import Conflict, Invalid
from mainspring.contracts.ids import generate_id
from mainspring.runs.run_requests import RunRequest
from mainspring.runs.worker import rescue
from tests.kit.bench import Bench, document, step

NEEDS_N = {
    "schema": {
        "type": "object",
        "required": ["n"],
        "properties": {"n": {"type": "integer"}},
    }
}
NEVER = {"failures": 9, "permanent": True}


async def test_a_resumed_run_finds_its_values_in_the_order_they_had(bench: Bench) -> None:
    """Keys that a store might sort, walked over a wait between every two items."""
    run = await bench.run(
        document(
            step("a", "transform_data", {"output": {"zebra": 1e16, "bb": 2, "a": 3}}),
            step(
                "each",
                "for_each",
                {
                    "items": "{{ steps.a | reverse }}",
                    "steps": [
                        step("say", "test.note", {"mark": "{{ item }} {{ steps.a }}"}),
                        step("wait", "delay", {"seconds": 0.05}),
                    ],
                },
            ),
        )
    )
    assert run["status"] == "succeeded", run["error"]
    assert [mark.split(" ")[0] for mark in bench.outside.order] == ["a", "bb", "zebra"]
    (whole,) = {mark.split(" ", 1)[1] for mark in bench.outside.order}
    assert list(json.loads(whole)) == ["zebra", "bb", "a"]
    assert "1e" in whole


async def test_a_number_beyond_64_bits_is_refused_as_the_step_s_own_problem(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("big", "transform_data", {"output": "{{ 2 ** 64 * 2 }}"}),
            execution={"on_failure": [step("tell", "test.note", {"mark": "told"})]},
        )
    )
    assert (run["status"], run["reason"]) == ("failed", "json_integer")
    assert [s["status"] for s in run["steps"]] == ["failed", "succeeded"]
    assert bench.outside.order == ["told"]


async def test_a_cancel_is_not_forgotten_when_the_run_goes_to_sleep(bench: Bench) -> None:
    made = await bench.dispatch(
        document(step("a", "test.hang"), step("w", "delay", {"seconds": 999}))
    )
    async with bench.worker(poll_seconds=30.0):
        await bench.outside.started.wait()
        await bench.application.control.cancel(bench.application.workspace_id, made.run_id)
        bench.outside.release.set()
        await bench.until(made.run_id, "waiting", "cancelled")
    async with bench.worker():
        assert (await bench.until(made.run_id))["status"] == "cancelled"


async def test_a_run_refused_for_its_inputs_or_its_money_cannot_be_sent_round_again(
    bench: Bench,
) -> None:
    plan = document(step("a", "test.note"), inputs=NEEDS_N)
    await bench.save(plan)
    await bench.application.database.execute("UPDATE automations SET state = 'active'")
    refused = await bench.dispatch(
        plan, trigger_type="webhook", trigger_id=generate_id(), inputs={"n": "x"}
    )
    costly = document(
        step("a", "test.costly", {"usd": 2}), step("b", "test.costly", {"usd": 2}), name="costly"
    )
    poor = await bench.run(costly)
    assert poor["outcome"] == "over_budget"
    for run_id in (refused.run_id, poor["id"]):
        with pytest.raises(Conflict):
            await bench.application.control.retry(bench.application.workspace_id, run_id)


ROW = {"row": list(range(1_000))}


def _skipping(**execution: Any) -> dict[str, Any]:
    """A loop over many items, each with a condition that takes some work and is false."""
    busy = "(inputs.row | join('-') | replace('1', '22') | length) > 999999"
    each = {"items": "{{ inputs.row }}", "steps": [step("x", "test.note", when=busy)]}
    schema = {"type": "object", "properties": {"row": {"type": "array"}}}
    return document(step("each", "for_each", each), inputs={"schema": schema}, execution=execution)


async def test_a_long_row_of_skipped_items_gives_way_to_other_runs(bench: Bench) -> None:
    async with bench.worker():
        long = await bench.dispatch(_skipping(), inputs=ROW)
        await bench.until(long.run_id, "running")
        other = document(step("a", "transform_data", {"output": 1}), name="another")
        made = await bench.dispatch(other)
        brief = await bench.until(made.run_id)
        ended = await bench.until(long.run_id, patience=300)
    assert (brief["status"], ended["status"]) == ("succeeded", "succeeded")
    assert brief["finished_at"] < ended["finished_at"]


async def test_a_long_row_of_skipped_items_ends_with_the_time_of_its_run(bench: Bench) -> None:
    made = await bench.dispatch(_skipping(timeout_seconds=1), inputs=ROW)
    async with bench.worker():
        run = await bench.until(made.run_id)
    assert (run["status"], run["reason"]) == ("timed_out", "run_timeout")


async def test_too_many_records_end_a_run_whatever_the_loop_forgives(bench: Bench) -> None:
    application = bench.application
    few = replace(application.limits, step_records=50)
    leaf = step("x", "transform_data", {"output": 1})
    inner = step(
        "i", "for_each", {"items": list(range(40)), "continue_on_error": True, "steps": [leaf]}
    )
    plan = document(
        step("o", "for_each", {"items": [1, 2, 3], "continue_on_error": True, "steps": [inner]})
    )
    made = await bench.dispatch(plan)
    async with Bench(replace(application, limits=few), bench.outside).worker():
        run = await bench.until(made.run_id)
    assert (run["status"], run["reason"]) == ("failed", "too_many_records")


@pytest.mark.parametrize("action", ["transform_data", "automation_kv.set"])
async def test_one_large_value_used_many_times_is_bounded(bench: Bench, action: str) -> None:
    many: Any = ["{{ steps.a }}"] * 300
    config = {"output": many} if action == "transform_data" else {"key": "k", "value": many}
    run = await bench.run(
        document(
            step("a", "transform_data", {"output": "{{ 'x' * 900000 }}"}),
            step("b", action, config, max_retries=0),
        )
    )
    assert (run["status"], run["reason"]) == ("failed", "template_too_large")


async def test_arguments_too_large_for_a_call_leave_a_small_record(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("a", "transform_data", {"output": "{{ 'x' * 900000 }}"}),
            step("b", "test.echo", {"one": "{{ steps.a }}", "two": "{{ steps.a }}"}),
        )
    )
    assert (run["status"], run["reason"]) == ("failed", "arguments_too_large")
    size = "SELECT max(length(arguments::text)) FROM calls"
    assert await bench.application.database.fetchval(size) < 100


async def test_the_sweep_finds_a_forgotten_lane_among_many_healthy_ones(bench: Bench) -> None:
    plan = document(
        step("a", "test.hang"), inputs=NEEDS_N, execution={"concurrency_key": "{{ inputs.n }}"}
    )
    saved = await bench.save(plan)
    request = RunRequest(bench.application.workspace_id, saved.automation_id)
    pairs = [replace(request, inputs={"n": n}) for n in range(1_050) for _ in range(2)]
    made = await bench.application.dispatcher.dispatch_all(pairs)
    await bench.application.database.execute(
        "UPDATE runs SET status = 'dead', finished_at = now() WHERE id = $1", made[-2].run_id
    )
    await rescue(bench.application.database, bench.application.limits)
    assert (await bench.read(made[-1].run_id))["due_at"].year < 9000
    held = "SELECT count(*) FROM runs WHERE due_at = 'infinity'"
    assert await bench.application.database.fetchval(held) == 1_049


async def test_one_key_twice_in_a_batch_is_one_run(bench: Bench) -> None:
    saved = await bench.save(document(step("a", "test.echo")))
    request = RunRequest(
        bench.application.workspace_id, saved.automation_id, key="k", body_hash=b"1"
    )
    first, second = await bench.application.dispatcher.dispatch_all([request, request])
    assert (first.run_id, first.existed, second.existed) == (second.run_id, False, True)
    with pytest.raises(Invalid, match="different body"):
        await bench.application.dispatcher.dispatch_all(
            [replace(request, key="z"), replace(request, key="z", body_hash=b"2")]
        )


async def test_on_failure_repeats_its_nested_steps_when_the_run_fails_again(bench: Bench) -> None:
    plan = document(
        step("a", "test.flaky", NEVER),
        execution={
            "on_failure": [
                step(
                    "each",
                    "for_each",
                    {
                        "items": [1, 2],
                        "steps": [step("tell", "test.note", {"mark": "{{ item }}"})],
                    },
                ),
            ]
        },
    )
    run = await bench.run(plan)
    await bench.application.control.retry(bench.application.workspace_id, run["id"])
    async with bench.worker():
        again = await bench.until(run["id"])
    assert again["status"] == "failed"
    assert bench.outside.order == ["1", "2", "1", "2"]


async def test_a_loop_in_which_nothing_worked_has_failed(bench: Bench) -> None:
    run = await bench.run(
        document(
            step(
                "each",
                "for_each",
                {
                    "items": [1, 2],
                    "continue_on_error": True,
                    "steps": [step("x", "test.flaky", NEVER)],
                },
            )
        )
    )
    assert (run["status"], run["reason"]) == ("failed", "never")


@pytest.mark.parametrize(
    "plan",
    [
        [step("each", "for_each", {"items": [], "steps": [step("x", "test.note")]})],
        [step("wait", "delay", {"seconds": 0})],
    ],
)
async def test_walking_over_nothing_and_waiting_are_nothing_to_do(
    bench: Bench, plan: list[dict[str, Any]]
) -> None:
    run = await bench.run(document(*plan))
    assert (run["status"], run["outcome"]) == ("succeeded", "nothing_to_do")


async def test_a_call_that_changed_nothing_is_no_effect(bench: Bench) -> None:
    seen = {"key": "seen", "value": 1, "if_absent": True}
    first = await bench.run(document(step("a", "automation_kv.set", seen)))
    second = await bench.run(document(step("a", "automation_kv.set", seen)))
    gone = await bench.run(
        document(step("a", "automation_kv.delete", {"key": "other"}), name="gone")
    )
    assert (first["outcome"], second["outcome"], gone["outcome"]) == (
        "effects",
        "answer_only",
        "answer_only",
    )


async def test_a_lone_expression_in_a_field_for_text_is_written_out(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("n", "transform_data", {"output": 7}),
            step("tell", "notification", {"title": "{{ n }}", "message_template": "{{ [n] }}"}),
        )
    )
    assert run["status"] == "succeeded", run["error"]
    row = await bench.application.database.fetchrow("SELECT title, message FROM notifications")
    assert row is not None
    assert (row["title"], row["message"]) == ("7", "[7]")


async def test_a_sleeping_run_wakes_at_its_moment_and_not_at_the_next_look(bench: Bench) -> None:
    made = await bench.dispatch(document(step("w", "delay", {"seconds": 0.3})))
    async with bench.worker(poll_seconds=600.0):
        run = await bench.until(made.run_id)
    assert (run["finished_at"] - run["started_at"]).total_seconds() < 300
