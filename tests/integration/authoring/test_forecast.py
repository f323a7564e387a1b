"""The forecast over a real application: before a run, after some, and after its events."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import orjson

from mainspring.authoring.forecast.forecaster import ForecastDependencies, forecast
from mainspring.authoring.forecast.schemas import FORECAST_SCHEMA
from mainspring.contracts.clock import SystemClock
from mainspring.contracts.ids import generate_id, get_lowest_id_at
from mainspring.contracts.model import (
    DEFAULT_MODEL,
    EmptyModelCatalog,
    ModelCatalog,
    ModelReply,
    Price,
    ToolCall,
)
from mainspring.definition.json_schema import compile_schema
from mainspring.runs.run_requests import RunRequest
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.automations import set_state
from tests.kit.agents import FINAL, agents_bench, thinking
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import LLM, FakeModels
from tests.kit.tenants import add_workspace

EVENT = """
    INSERT INTO events (workspace_id, id, created_at, type, source_id, payload)
    VALUES ($1, $2, $3, $4, 'test', $5::text::jsonb)
"""
ASK = """
    INSERT INTO llm_usage (workspace_id, id, at, run_id, step, caller, model, input_tokens,
        output_tokens, reported)
    VALUES ($1, $2, $3, $4, 'one', $5, $6, $7, 0, $8)
"""
AGES = timedelta(days=40)
AGE = "UPDATE workspaces SET created_at = $2, cost_cap_daily_usd = $3 WHERE workspace_id = $1"
WEEKDAYS = {"type": "schedule", "config": {"cron": "0 9 * * 1-5", "timezone": "UTC"}}
BOARD = "01900000-0000-7000-8000-00000000000b"


@dataclass(slots=True)
class Window:
    """Where somebody asks what a definition will cost."""

    bench: Bench
    models: ModelCatalog

    async def look(
        self, written: Mapping[str, Any], automation_id: UUID | None = None
    ) -> dict[str, Any]:
        application = self.bench.application
        walled = WorkspaceDatabase(application.database, application.workspace_id)
        parts = ForecastDependencies(walled, self.models, SystemClock(), application.limits)
        words = await application.registry.of(application.workspace_id)
        result = await forecast(
            parts, application.workspace_id, written, (), words, automation_id=automation_id
        )
        shown = result.as_dict()
        assert compile_schema(FORECAST_SCHEMA, application.limits).findings(shown, "") == []
        ends = [Decimal(shown["usd_per_month"][end]) for end in ("low", "usual", "high")]
        assert sorted(ends) == ends
        assert ends[-1] <= Decimal(shown["caps"]["usd_per_month"])
        return shown

    async def rate(self, *triggers: Mapping[str, Any], of: UUID | None = None) -> Any:
        plan = step("ask", LLM, {"prompt": "Hello"})
        return (await self.look(document(plan, triggers=list(triggers)), of))["runs_per_month"]

    async def run(self, automation_id: UUID, **more: Any) -> None:
        made = await self.bench.application.dispatcher.dispatch(
            RunRequest(self.bench.application.workspace_id, automation_id, **more)
        )
        run = await self.bench.until(made.run_id)
        assert run["status"] == "succeeded", run["error"]


def on(kind: str, **config: Any) -> dict[str, Any]:
    return {"type": kind, "config": config}


def _ends(read: int, written: int) -> ModelReply:
    call = ToolCall("c0", FINAL, {"n": 1})
    return ModelReply("", DEFAULT_MODEL, read, written, calls=(call,), provider="outside")


async def test_a_forecast_is_bounded_before_the_first_run_and_measured_after_the_third(
    bench: Bench,
) -> None:
    # Tokens are millionths of a dollar here, so a run costs so many thousandths; the last is a
    # trial, which asks too and pays.
    models = FakeModels([_ends(800 * n, 200 * n) for n in (1, 2, 3, 2, 7)])
    written = {**thinking(name="thinks"), "triggers": [WEEKDAYS]}
    written["plan"].append(step("free", "transform_data", {"output": 1}))
    async with agents_bench(bench, models) as thinkers:
        window = Window(thinkers, models)
        before = await window.look(written)
        assert before["usd_per_run"]["basis"] == "bounded"
        assert [one["basis"] for one in before["steps"]] == ["bounded", "free"]
        assert before["runs_per_month"]["usual"] in {20, 21, 22}
        assert Decimal(before["usd_per_month"]["high"]) > 0

        saved = await thinkers.save(written)
        async with thinkers.worker():
            for _ in range(2):
                await window.run(saved.automation_id)
            few = await window.look(written, saved.automation_id)
            await window.run(saved.automation_id)
            await window.run(saved.automation_id)
            # A trial says nothing of what it does by itself.
            await window.run(saved.automation_id, mode="dry_run")
        assert few["usd_per_run"]["basis"] == "bounded"

        after = await window.look(written, saved.automation_id)
        run = after["usd_per_run"]
        assert (run["basis"], run["low"], run["usual"], run["high"]) == (
            "measured",
            "0.001",
            "0.002",
            "0.003",
        )
        assert after["steps"][0] == {
            "step_id": "think",
            "usual": "0.002",
            "high": "0.003",
            "basis": "measured",
            "why": "Measured in 4 runs.",
        }
        runs = after["runs_per_month"]["usual"]
        assert Decimal(after["usd_per_month"]["usual"]) == runs * Decimal("0.002")
        await _others_are_told_apart(window, models, saved.automation_id)


async def _others_are_told_apart(window: Window, models: FakeModels, automation_id: UUID) -> None:
    # Other words are still near; another model is another thing, and nothing like it ran.
    plan = thinking(name="thinks", prompt="Do it well.")
    near = await window.look(plan, automation_id)
    assert "nearly the same" in near["usd_per_run"]["why"]
    other = await window.look(thinking(model="small"), automation_id)
    assert other["usd_per_run"]["basis"] == "bounded"

    # A new one that asks the same model is like what was paid here, at today's price.
    models.prices[DEFAULT_MODEL] = Price(Decimal(2), Decimal(2))
    new = await window.look(thinking(prompt="Something new."))
    assert (new["usd_per_run"]["basis"], new["usd_per_run"]["usual"]) == ("similar", "0.006")

    # Asks of one program are asks of their own; what it reported or asked long ago is not
    # looked at.
    now, run_id = datetime.now(UTC), generate_id()
    asks = [(now, 1_000, False)] * 3 + [(now, 9_000, True), (now - AGES, 9_000, False)]
    for at, read, reported in asks:
        await window.bench.application.database.execute(
            ASK,
            window.bench.application.workspace_id,
            generate_id(),
            at,
            run_id,
            LLM,
            "small",
            read,
            reported,
        )
    asking = await window.look(document(step("ask", LLM, {"prompt": "x", "model": "small"})))
    assert asking["steps"][0]["usual"] == "0.001"
    assert "3 conversations" in asking["steps"][0]["why"]


async def test_runs_are_as_frequent_as_what_would_have_started_them(bench: Bench) -> None:
    window, application = Window(bench, FakeModels()), bench.application
    space, other_tenant, now = application.workspace_id, generate_id(), datetime.now(UTC)
    await add_workspace(application.database, other_tenant, "next door")
    await application.database.execute(AGE, space, now - timedelta(days=60), Decimal("0.5"))
    pages = [{"type": "email" if n % 3 else "note", "title": f"Page {n}"} for n in range(21)]
    entries: list[tuple[UUID, str, Mapping[str, Any]]] = [
        *((space, "page.ingested", page) for page in pages),
        *((space, "board.changed", {"board_id": BOARD, "change": "rows_appended"}),) * 7,
        *((other_tenant, "page.ingested", page) for page in pages),
    ]
    for number, (where, kind, payload) in enumerate(entries):
        at = now - timedelta(hours=number % 7 * 24 + 1)
        shown = orjson.dumps(payload).decode()
        row = UUID(int=get_lowest_id_at(at).int + number + 1)
        await application.database.execute(EVENT, where, row, at, kind, shown)

    every = await window.rate(on("page_ingested"))
    assert (every["basis"], every["usual"]) == ("observed", 90)
    assert every["low"] < 90 < every["high"]
    assert (await window.rate(on("page_ingested", page_type="email")))["usual"] == 60
    filters = {"title": {"ends_with": "0"}}
    assert (await window.rate(on("page_ingested", filters=filters)))["usual"] == 13
    rows = {"board_id": BOARD, "change": ["rows_appended"]}
    assert (await window.rate(on("board_change", **rows)))["usual"] == 30
    assert (await window.rate(on("event", event_type="board.changed")))["usual"] == 30
    assert (await window.rate(on("event", event_type="nobody.tells")))["usual"] == 0
    both = await window.rate(on("page_ingested"), on("board_change", **rows))
    assert (both["basis"], both["usual"]) == ("observed", 120)
    switched_off = {**on("page_ingested"), "enabled": False}
    assert (await window.rate(switched_off))["basis"] == "by_hand"


async def test_a_webhook_is_as_frequent_as_its_calls_and_unknown_before_them(bench: Bench) -> None:
    window, application, space = (
        Window(bench, FakeModels()),
        bench.application,
        bench.application.workspace_id,
    )
    assert (await window.rate(on("webhook")))["basis"] == "unknown"
    hooked = await bench.save(
        document(
            step("pay", "test.costly", {"usd": "0.01"}),
            name="hooked",
            triggers=[{"id": "hook", "type": "webhook", "config": {}}],
        )
    )
    # The first call finds it paused, so that nothing runs.
    made = []
    for key in ("early", "a", "b", "c"):
        one = await application.dispatcher.dispatch(
            RunRequest(space, hooked.automation_id, trigger_type="webhook", key=key)
        )
        async with application.database.transaction() as tx:
            await set_state(tx, space, hooked.automation_id, "active")
        made.append(one.run_id)
    called = await window.rate(on("webhook"), of=hooked.automation_id)
    assert (called["basis"], called["usual"]) == ("observed", 90)
    assert "3 times, looking back less than 1 minute" in called["why"]
    # The calls of two webhooks are counted once.
    assert await window.rate(on("webhook"), on("webhook"), of=hooked.automation_id) == called

    # What costs money without any plan that shows it is known from its runs.
    plan = document(step("pay", "test.costly", {"usd": "0.01"}))
    assert (await window.look(plan, hooked.automation_id))["usd_per_run"]["basis"] == "free"
    async with bench.worker():
        for run_id in made:
            await bench.until(run_id)
    paid = (await window.look(plan, hooked.automation_id))["usd_per_run"]
    assert (paid["basis"], paid["usual"]) == ("measured", "0.01")


async def test_whatever_is_missing_there_is_an_answer_within_the_caps(bench: Bench) -> None:
    window, application = Window(bench, EmptyModelCatalog()), bench.application
    await application.database.execute(
        AGE, application.workspace_id, datetime.now(UTC), Decimal("0.5")
    )
    # The workspace's own day is the cap.
    priced = await window.look(document(step("ask", LLM, {"prompt": "x"}), triggers=[WEEKDAYS]))
    assert priced["usd_per_run"]["basis"] == "unknown"
    assert priced["notes"][0] == "No model is connected to this installation."
    assert priced["caps"]["usd_per_day"] == "0.5"
    assert Decimal(priced["caps"]["usd_per_month"]) == 15
    runs = priced["runs_per_month"]["usual"]
    assert Decimal(priced["usd_per_month"]["high"]) == runs * Decimal("0.5")

    costly = {"title": {"regex": "(a+)+$"}}
    triggers: Sequence[Any] = (
        None,
        7,
        "x",
        [None, 1, {}],
        [{"type": []}],
        [{"type": "schedule", "config": "daily"}],
        [on("schedule", cron="0 9 * * *")],
        [on("event")],
        [on("board_change", change=3)],
        [on("board_change", board_id=[], change=7)],
        [on("page_ingested", filters="x")],
        [on("page_ingested", filters={"a": {"b": 1}})],
        [on("event", event_type={"a": 1})],
        [on("event", event_type="a\x00b")],
        [on("page_ingested", filters=costly)],
        [on("page_ingested", page_type="\ud800")],
    )
    for given in triggers:
        result = await window.look({"triggers": given, "plan": [step("ask", LLM, {"prompt": "x"})]})
        assert result["runs_per_month"]["basis"] in {"unknown", "by_hand", "observed"}
    for model in ("\x00", "x" * 9_999, "\ud800", ["x"], "{{ inputs.model }}"):
        ask = step("ask", LLM, {"prompt": "x", "model": model})
        assert (await window.look({"plan": [ask]}))["usd_per_run"]["basis"] == "unknown"
    for written in ({}, {"plan": 3, "execution": []}, {"execution": {"model": "\x00" * 9_999}}):
        assert (await window.look(written, generate_id()))["usd_per_run"]["basis"] == "free"
