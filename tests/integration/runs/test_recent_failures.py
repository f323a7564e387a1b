"""What an automation is shown about its own failures."""

from __future__ import annotations

from tests.kit.bench import Bench, document, step


async def test_the_failures_of_trials_are_not_among_the_failures_of_an_automation(
    bench: Bench,
) -> None:
    failing = {"source": "if (input.fail) throw new Error('no'); return await recentFailures();"}
    asked = {"properties": {"fail": {"type": "boolean", "default": True}}, "type": "object"}
    plan = document(
        step("main", "script", {**failing, "input": {"fail": "{{ inputs.fail }}"}}),
        inputs={"schema": asked},
    )
    runs = [await bench.run(plan, mode=mode) for mode in ("dry_run", "live", "verify")]
    assert {run["status"] for run in runs} == {"failed"}

    last = await bench.run(plan, inputs={"fail": False})

    assert [one["run_id"] for one in last["output"]["failures"]] == [str(runs[1]["id"])]
