"""The forecast against what runs really cost.

python -m scripts.forecast_check [--save]

Opens an application with its own database, and a model server in another process that speaks
a provider's wire and answers at varied length. An automation with an agent and a free step is
priced before it has ever run, then runs twenty times through the worker, the gate and the
ledger, and is priced once more after ten of them. Prints each forecast, what the runs came to,
and how far apart they are. With --save it is kept in docs/contributing/forecast-check.txt.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import mean
from typing import Any, Final
from uuid import UUID

from mainspring.app import Application, build_worker, open_application
from mainspring.authoring.forecast.amounts import CostRange
from mainspring.authoring.forecast.forecast import CostForecast
from mainspring.authoring.forecast.forecaster import ForecastDependencies, forecast
from mainspring.contracts.clock import SystemClock
from mainspring.contracts.context import Actor
from mainspring.contracts.model import DEFAULT_MODEL
from mainspring.contracts.roles import Role
from mainspring.definition.validate import ValidationReport, validate
from mainspring.gate.callers import CapabilityCaller
from mainspring.runs.history import read_run
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.automations import FIRST_MEMBER, save

ROOT: Final = Path(__file__).resolve().parent.parent
SAVED: Final = ROOT / "docs" / "contributing" / "forecast-check.txt"
RUNS: Final = 20
PATIENCE: Final = 60.0
WORDS: Final = (
    "launch",
    "price",
    "region",
    "partner",
    "invoice",
    "review",
    "quarter",
    "customer",
    "roadmap",
    "support",
    "release",
    "survey",
    "margin",
    "pilot",
    "contract",
    "forecast",
    "meeting",
    "supplier",
    "market",
    "update",
)
TOPICS: Final = ("launch", "pricing", "partners", "support", "roadmap", "survey")

DOCUMENT: Final[dict[str, Any]] = {
    "schema_version": "1.2",
    "name": "Competitor bullets",
    "goal": "Say every weekday morning what is new about our competitors.",
    "triggers": [
        {"type": "schedule", "config": {"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}}
    ],
    "plan": [
        {
            "step_id": "think",
            "action": "agent_task",
            "config": {
                "prompt": "Look for what the workspace knows about our competitors since "
                "yesterday. Say what is new in at most five bullets, each with its source, and "
                "leave out what was said before.",
                "tools": ["search", "get_page"],
                "output_schema": {
                    "type": "object",
                    "required": ["bullets"],
                    "additionalProperties": False,
                    "properties": {"bullets": {"type": "array", "items": {"type": "string"}}},
                },
            },
        },
        {
            "step_id": "count",
            "action": "transform_data",
            "config": {"output": "{{ steps.think.bullets | length }} bullets"},
        },
    ],
}


def _sentence(chance: random.Random, least: int, most: int) -> str:
    return " ".join(chance.choices(WORDS, k=chance.randint(least, most)))


def answers(runs: int) -> Iterator[dict[str, Any]]:
    """What the model says: in each run some look-ups, and then bullets, never twice the same."""
    chance = random.Random(20_26)
    for _ in range(runs):
        for _ in range(chance.choice((0, 1, 1, 2, 2, 3))):
            topic = chance.choice(TOPICS)
            known = ("search", {"q": topic}), ("get_page", {"slug": topic})
            name, arguments = chance.choice(known)
            output = _sentence(chance, 0, 20)
            yield {"text": output, "calls": [{"name": name, "arguments": arguments}]}
        bullets = [_sentence(chance, 8, 40) for _ in range(chance.randint(1, 5))]
        yield {"calls": [{"name": "final_answer", "arguments": {"bullets": bullets}}]}


@contextlib.asynccontextmanager
async def provider(script: Path) -> AsyncIterator[str]:
    """The model server in a process of its own; host and port."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.kit.model_server",
        "--script",
        str(script),
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    try:
        assert process.stdout is not None
        yield f"127.0.0.1:{int((await process.stdout.readline()).split()[-1])}"
    finally:
        process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def working(application: Application) -> AsyncIterator[None]:
    """A worker at work."""
    worker = build_worker(application)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def furnish(application: Application) -> None:
    """Pages of varied length, so that what tools answer is as it would be."""
    chance = random.Random(7)
    owner = CapabilityCaller(
        Actor(application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
    )
    for topic in TOPICS:
        body = f"About {topic}. {_sentence(chance, 100, 900)}."
        page = {"slug": topic, "title": topic, "type": "note", "markdown": body}
        await application.gate.direct(owner, "create_page", page)


async def priced(
    application: Application, report: ValidationReport, automation_id: UUID | None = None
) -> CostForecast:
    walled = WorkspaceDatabase(application.database, application.workspace_id)
    parts = ForecastDependencies(walled, application.providers, SystemClock(), application.limits)
    words = await application.registry.of(application.workspace_id)
    return await forecast(
        parts, application.workspace_id, DOCUMENT, report.grants, words, automation_id=automation_id
    )


async def run_once(application: Application, automation_id: UUID) -> Decimal:
    """One live run, to its end; what is on the books for it."""
    made = await application.dispatcher.dispatch(
        RunRequest(application.workspace_id, automation_id)
    )
    async with asyncio.timeout(PATIENCE):
        while True:
            async with application.database.acquire() as connection:
                run = await read_run(connection, application.workspace_id, made.run_id)
            if run["status"] in FINAL:
                break
            await asyncio.sleep(0.01)
    if run["status"] != "succeeded":
        raise SystemExit(f"A run did not succeed: {run['error']}")
    asked = "SELECT sum(cost_usd) FROM llm_usage WHERE workspace_id = $1 AND run_id = $2"
    booked = await application.database.fetchval(asked, application.workspace_id, made.run_id)
    stored = "SELECT cost_usd FROM runs WHERE workspace_id = $1 AND id = $2"
    cost = await application.database.fetchval(stored, application.workspace_id, made.run_id)
    if booked != cost:
        raise SystemExit(f"The ledger says {booked} and the run says {cost}.")
    return Decimal(cost)


async def check(folder: Path) -> list[str]:
    """Both comparisons, line by line."""
    script = folder / "answers.json"
    script.write_text(json.dumps({"answers": list(answers(RUNS))}))
    async with provider(script) as pair:
        settings = Settings(
            home=folder / "home",
            egress_allow=frozenset({pair}),
            poll_seconds=0.2,
            anthropic_key="a-key-of-nobody",
            anthropic_url=f"http://{pair}",
        )
        async with open_application(settings) as application:
            await furnish(application)
            return await _compared(application)


async def _compared(application: Application) -> list[str]:
    report = validate(DOCUMENT, application.registry, application.limits)
    if report.definition is None:
        raise SystemExit(f"The definition of this check is not valid: {report.findings}")
    before = await priced(application, report)
    async with application.database.transaction() as tx:
        made = await save(
            tx, application.workspace_id, report.definition, report.grants, FIRST_MEMBER
        )
    async with working(application):
        first = [await run_once(application, made.automation_id) for _ in range(RUNS // 2)]
        halfway = await priced(application, report, made.automation_id)
        second = [await run_once(application, made.automation_id) for _ in range(RUNS - RUNS // 2)]
    return [
        f"The forecast against the cost of {RUNS} real runs",
        "",
        f"One agent with two tools and one free step, model {DEFAULT_MODEL} at its list price. The",
        "runs went through the worker, the gate and the ledger. The provider was a double on",
        "loopback that counts a token for four characters: this checks the reckoning, and not how",
        "a provider cuts text into tokens.",
        "",
        *_against("Before any run", before, f"all {RUNS} runs", [*first, *second]),
        "",
        *_against(f"After {len(first)} runs", halfway, f"the {len(second)} runs after", second),
    ]


def _against(when: str, told: CostForecast, which: str, costs: Sequence[Decimal]) -> list[str]:
    run, total, many = told.run.span, sum(costs, Decimal(0)), len(costs)
    inside = sum(run.low <= cost <= run.high for cost in costs)
    all_of_them = told.run.of_many(many, many, many)
    within = "inside" if all_of_them.low <= total <= all_of_them.high else "outside"
    apart = (all_of_them.usual - total) / total * 100
    ends = f"from {_usd(min(costs))} to {_usd(max(costs))}"
    return [
        f"{when} ({told.run.basis}): {told.sentence}",
        f"  {told.run.why}",
        f"  forecast for one run: {_range(run)}",
        f"  forecast for {many} runs: {_range(all_of_them)}",
        f"  {which}: {_usd(total)} together, {_usd(mean(costs))} on average, {ends}",
        f"  difference: {apart:+.1f} % of what they cost, {within} the range for all of them",
        f"  {inside} of {many} single runs lie in the range for one",
    ]


def _range(span: CostRange) -> str:
    return f"{_usd(span.usual)}, from {_usd(span.low)} to {_usd(span.high)}"


def _usd(amount: Decimal) -> str:
    return f"${amount:.6f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="Hold the forecast against real runs.")
    parser.add_argument("--save", action="store_true", help="keep what is printed")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="mainspring-forecast-"))
    folder.chmod(0o711)  # the database may run as a user of its own
    try:
        text = "\n".join(asyncio.run(check(folder))) + "\n"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sys.stdout.write(text)
    if asked.save:
        SAVED.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
