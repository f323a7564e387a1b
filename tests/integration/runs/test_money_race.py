"""One day's budget, reserved by many runs at once in processes that share only the database."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from mainspring.settings import Settings
from mainspring.store.database import Database
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import LLM, FakeModels, models_bench

COST = Decimal("0.00015")
RUNS, HOUSES = 20, 3


@pytest.mark.parametrize("whose", ["day_budget", "workspace_budget"])
async def test_twenty_runs_in_three_processes_never_overspend_a_day(
    bench: Bench, database_url: str, whose: str
) -> None:
    cap = Decimal("0.001")
    models = FakeModels(seconds=0.02, together=3)
    day: dict[str, Any] = {"concurrency": "allow_parallel"}
    if whose == "day_budget":
        day["cost_cap_daily_usd"] = str(cap)
    else:
        await bench.application.database.execute(
            "UPDATE workspaces SET cost_cap_daily_usd = $1", cap
        )
    async with AsyncExitStack() as stack:
        applications = []
        for _ in range(HOUSES):
            pool = await Database.open(Settings(database_url=database_url), pool_size=4)
            stack.push_async_callback(pool.close)
            apart = Bench(replace(bench.application, database=pool), bench.outside)
            applications.append(await stack.enter_async_context(models_bench(apart, models)))
        made = []
        for place in range(RUNS):
            # Of one automation, or each of another one in the same workspace.
            name = "one" if whose == "day_budget" else f"automation {place}"
            ask = step("a", LLM, {"prompt": "Hello", "max_tokens": 100}, max_retries=0)
            made.append(await applications[0].dispatch(document(ask, name=name, execution=day)))
        for application in applications:
            await stack.enter_async_context(application.worker())
        runs = [await applications[0].until(run.run_id) for run in made]
    assert models.most >= 3
    spent = COST * models.answered
    # What was promised and not used is free again: the last answer fitted, one more did not.
    assert cap - 2 * COST < spent <= cap
    row = await bench.application.database.fetchrow(
        "SELECT (SELECT sum(usd) FROM spend) AS booked, (SELECT sum(cost_usd) FROM llm_usage) "
        "AS told, (SELECT count(*) FROM reservations WHERE spent IS NULL) AS open"
    )
    assert row is not None
    assert (row["booked"], row["told"], row["open"]) == (spent, spent, 0)
    assert sum((run["cost_usd"] for run in runs), Decimal(0)) == spent
    stopped = [run for run in runs if run["status"] != "succeeded"]
    assert len(runs) - len(stopped) == models.answered
    assert {(run["reason"], run["outcome"]) for run in stopped} == {(whose, "over_budget")}
