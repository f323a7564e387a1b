"""Excessive script output is stored in few rows, and it is reported what was too much."""

from __future__ import annotations

from tests.kit.bench import Bench
from tests.kit.scripts import script


async def test_an_answer_that_is_too_large_is_reported_as_such(bench: Bench) -> None:
    run = await bench.run(script('return "x".repeat(20_000_000);', sdk=False))
    assert run["error"]["code"] == "script_answer"
    assert "16 MB" in run["error"]["detail"]
    assert len(run["steps"]) == 1, "the same again would be too large again"


async def test_marks_without_number_are_few_bookings_and_count_in_full(bench: Bench) -> None:
    source = """
        const mark = (n) => `[[llm_usage]]${JSON.stringify({ model: "m", input_tokens: n,
            output_tokens: 0, cost_usd: 0 })}[[/llm_usage]]`;
        for (let n = 0; n < 9_000; n++) console.log(mark(n % 3 === 0 ? 1 : 0));
        return 1;
    """
    run = await bench.run(script(source, sdk=False))
    assert run["status"] == "succeeded", run["error"]
    row = await bench.application.database.fetchrow(
        "SELECT count(*) AS rows, sum(input_tokens) AS tokens FROM llm_usage "
        "WHERE workspace_id = $1",
        bench.application.workspace_id,
    )
    assert row is not None
    assert row["rows"] < 200
    assert row["tokens"] == 3_000
