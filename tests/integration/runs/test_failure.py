"""What happens when a step fails: retries, timeouts, on_failure, retry from the failed step."""

from __future__ import annotations

import pytest

from mainspring.contracts.errors import Conflict
from mainspring.runs.rows import RunEvent
from tests.kit.bench import Bench, document, step

NO_PAUSE = {"retry_backoff": "none", "max_retries": 3}


async def test_a_step_that_fails_twice_takes_three_attempts_and_each_is_recorded(
    bench: Bench,
) -> None:
    run = await bench.run(document(step("a", "test.flaky", {"failures": 2}, **NO_PAUSE)))
    assert run["status"] == "succeeded"
    assert [(s["attempt"], s["status"]) for s in run["steps"]] == [
        (1, "retrying"),
        (2, "retrying"),
        (3, "succeeded"),
    ]
    assert [c["outcome"] for c in run["calls"]] == ["failed", "failed", "read"]


async def test_the_key_of_a_call_is_the_same_over_all_attempts(bench: Bench) -> None:
    run = await bench.run(document(step("a", "test.flaky", {"failures": 2}, **NO_PAUSE)))
    assert bench.outside.tries == {f"{run['id']}/a/1": 3}


async def test_a_permanent_failure_is_not_tried_again(bench: Bench) -> None:
    run = await bench.run(
        document(step("a", "test.flaky", {"failures": 9, "permanent": True}, **NO_PAUSE))
    )
    assert [s["status"] for s in run["steps"]] == ["failed"]
    assert (run["status"], run["outcome"], run["reason"]) == ("failed", "failed", "never")


async def test_attempts_end_at_max_retries(bench: Bench) -> None:
    run = await bench.run(
        document(step("a", "test.flaky", {"failures": 9}, retry_backoff="none", max_retries=2))
    )
    assert [s["status"] for s in run["steps"]] == ["retrying", "retrying", "failed"]


async def test_a_long_retry_after_frees_the_worker(bench: Bench) -> None:
    """The run waits in the table until the moment the other side asked for."""
    made = await bench.dispatch(
        document(step("a", "test.flaky", {"failures": 1, "retry_after": 120}, max_retries=1))
    )
    async with bench.worker() as worker:
        run = await bench.until(made.run_id, "waiting")
        await bench.until_idle(worker)
    (record,) = run["steps"]
    asked = (run["due_at"] - record["finished_at"]).total_seconds()
    assert 119 <= asked <= 121


async def test_on_failure_sees_the_error_and_the_run_still_failed(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("a", "test.flaky", {"failures": 9, "permanent": True}),
            execution={
                "on_failure": [
                    step(
                        "tell",
                        "test.note",
                        {"mark": "{{ run.failed_step_id }}: {{ run.error.code }}"},
                    ),
                ]
            },
        )
    )
    assert run["status"] == "failed"
    assert bench.outside.order == ["a: never"]
    assert run["effects"] == 1


async def test_a_failing_on_failure_does_not_hide_the_first_error(bench: Bench) -> None:
    bad = {"failures": 9, "permanent": True}
    run = await bench.run(
        document(
            step("a", "test.flaky", bad),
            execution={"on_failure": [step("b", "test.flaky", bad)]},
        )
    )
    assert run["error"]["code"] == "never"
    assert run["error"]["on_failure"]["step"] == "b"


async def test_a_step_timeout_really_stops_the_work(bench: Bench) -> None:
    run = await bench.run(document(step("a", "test.hang", timeout_seconds=1, max_retries=0)))
    assert (run["status"], run["reason"]) == ("timed_out", "step_timeout")
    assert bench.outside.stopped == [f"{run['id']}/a/1"]


async def test_the_run_s_own_time_ends_it_whatever_the_step_allows(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("a", "test.hang", timeout_seconds=500, max_retries=5),
            execution={"timeout_seconds": 1},
        )
    )
    assert (run["status"], run["reason"]) == ("timed_out", "run_timeout")
    assert len(run["steps"]) == 1


async def test_retry_goes_on_at_the_failed_step_with_the_earlier_outputs(bench: Bench) -> None:
    run = await bench.run(
        document(
            step("a", "test.note", {"mark": "once"}),
            step("b", "test.flaky", {"failures": 1, "permanent": True}),
            step("c", "transform_data", {"output": "{{ a.noted }} {{ run.attempt }}"}),
        )
    )
    assert run["status"] == "failed"
    await bench.application.control.retry(bench.application.workspace_id, run["id"])
    async with bench.worker():
        again = await bench.until(run["id"])
    assert again["status"] == "succeeded", again["error"]
    assert again["attempt"] == 2
    assert again["output"] == "true 2"
    assert bench.outside.order == ["once"]
    assert [(s["step"], s["attempt"], s["status"]) for s in again["steps"]] == [
        ("a", 1, "succeeded"),
        ("b", 1, "failed"),
        ("b", 2, "succeeded"),
        ("c", 1, "succeeded"),
    ]


async def test_a_run_that_succeeded_cannot_be_retried(bench: Bench) -> None:
    run = await bench.run(document(step("a", "test.echo")))
    with pytest.raises(Conflict, match="Only a failed run"):
        await bench.application.control.retry(bench.application.workspace_id, run["id"])


async def test_a_retried_for_each_repeats_only_the_items_that_are_not_done(bench: Bench) -> None:
    plan = document(
        step(
            "each",
            "for_each",
            {
                "items": [0, 1, 0],
                "steps": [
                    step("mark", "test.note", {"mark": "{{ index }}"}),
                    step("try", "test.flaky", {"failures": "{{ item }}", "permanent": True}),
                ],
            },
        )
    )
    run = await bench.run(plan)
    assert run["status"] == "failed"
    await bench.application.control.retry(bench.application.workspace_id, run["id"])
    async with bench.worker():
        again = await bench.until(run["id"])
    assert again["status"] == "succeeded", again["error"]
    assert bench.outside.order == ["0", "1", "2"]


async def test_watchers_are_notified_of_retries_with_the_problem(bench: Bench) -> None:
    seen: list[RunEvent] = []
    made = await bench.dispatch(document(step("a", "test.flaky", {"failures": 1}, **NO_PAUSE)))
    async with bench.worker(watch=seen.append):
        await bench.until(made.run_id)
    assert [moment.kind for moment in seen] == [
        "run_started",
        "step_started",
        "step_retrying",
        "step_started",
        "step_finished",
        "run_ended",
    ]
