"""The ledger for people: sums and single asks, over REST and on the command line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from mainspring.app import application_services, build_registry
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Invalid
from mainspring.contracts.model import DEFAULT_MODEL, ModelReply
from mainspring.contracts.roles import Role
from mainspring.settings import Settings
from mainspring.surfaces.cli.capabilities import show_capabilities
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.factory import ApplicationFactory
from mainspring.surfaces.cli.ledger import read_day, show_usage
from mainspring.surfaces.cli.runs import show_logs
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from tests.kit.api import Api, served
from tests.kit.bench import Bench, document, step
from tests.kit.model_doubles import LLM, FakeModels, asking, models_bench
from tests.kit.tenants import NEIGHBOUR, add_person, add_workspace

ROOT = "/api/v1"
HELLO = {"prompt": "Hello", "max_tokens": 100}
COST = 0.00015


async def _get(api: Api, path: str, token: str | None = None, **query: Any) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = await api.client.get(f"{ROOT}{path}", params=query, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def _report(ctx: StepContext) -> Any:
    await ctx.report_usage("mine", 10, 5, Decimal("0.25"))


async def _furnished(one: Bench, models: FakeModels) -> tuple[Any, Any]:
    """Six asks of two automations on two days, and one that a script tells of."""
    both = await one.run(
        document(
            step("a", LLM, HELLO),
            step("b", LLM, {**HELLO, "model": "small"}),
            step("c", "test.program"),
            name="both",
        )
    )
    models.reply = ModelReply("Hello.", "small", 100, 50, 20, provider="outside")
    asks = [step(name, LLM, {**HELLO, "model": "small"}) for name in ("a", "b", "c")]
    other = await one.run(document(*asks, name="other"))
    await one.application.database.execute(
        "UPDATE llm_usage SET at = at - interval '1 day' WHERE run_id = $1 AND step = 'a'",
        other["id"],
    )
    return both, other


async def test_the_ledger_is_added_up_and_listed_for_who_may_read_it(bench: Bench) -> None:
    models = FakeModels(reply=ModelReply("Hello.", DEFAULT_MODEL, 100, 50, provider="outside"))
    async with models_bench(bench, models, asking(_report, uses=())) as one:
        both, other = await _furnished(one, models)
        async with served(one.application) as api:
            await _check_sums(api, both, other)
            await _check_asks(api, both, other)
            await _check_run(api, both)
            await _check_others(api, one)
            await _check_bad(api)


async def _check_sums(api: Api, both: Any, other: Any) -> None:
    sums = await _get(api, "/usage")
    today = datetime.now(UTC).date()
    assert (sums["to"], sums["zone"]) == (today.isoformat(), "UTC")
    assert sums["from"] == (today - timedelta(days=29)).isoformat()
    total = sums["total"]
    assert (total["asks"], total["reported_usd"]) == (6, 0.25)
    assert total["cost_usd"] == pytest.approx(0.25 + 5 * COST)
    assert (total["input_tokens"], total["output_tokens"]) == (510, 255)
    yesterday = (today - timedelta(days=1)).isoformat()
    assert [(row["day"], row["asks"]) for row in sums["days"]] == [
        (yesterday, 1),
        (today.isoformat(), 5),
    ]
    assert [(row["name"], row["automation_id"], row["asks"]) for row in sums["automations"]] == [
        ("both", str(both["automation_id"]), 3),
        ("other", str(other["automation_id"]), 3),
    ]
    assert [(row["provider"], row["model"], row["asks"]) for row in sums["models"]] == [
        ("", "mine", 1),
        ("outside", "small", 3),
        ("outside", DEFAULT_MODEL, 2),
    ]
    assert [(row["caller"], row["asks"]) for row in sums["callers"]] == [("script", 1), (LLM, 5)]
    one_day = await _get(api, "/usage", to=yesterday, **{"from": yesterday})
    assert (one_day["total"]["asks"], one_day["total"]["cached_tokens"]) == (1, 20)
    mine = await _get(api, "/usage", automation_id=str(other["automation_id"]))
    assert (mine["total"]["asks"], [row["name"] for row in mine["automations"]]) == (3, ["other"])
    none = await _get(api, "/usage", to="2020-01-01")
    assert (none["total"]["asks"], none["total"]["cost_usd"], none["days"]) == (0, 0, [])


async def _check_asks(api: Api, both: Any, other: Any) -> None:
    found, cursor = [], None
    while True:
        query: dict[str, Any] = {} if cursor is None else {"cursor": cursor}
        page = await _get(api, "/usage/calls", limit=4, **query)
        found += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    assert [row["at"] for row in found] == sorted((row["at"] for row in found), reverse=True)
    assert len({row["id"] for row in found}) == len(found) == 6
    newest, oldest = found[0], found[-1]
    assert (newest["automation"], newest["step"], newest["caller"]) == ("other", "c", LLM)
    assert (oldest["run_id"], oldest["step"]) == (str(other["id"]), "a")
    assert newest["price"]["input_usd_per_million"] == "1"
    assert (newest["cost_usd"], newest["reported"]) == (COST, False)
    for query, asks in (
        ({"run_id": str(both["id"])}, 3),
        ({"model": "small"}, 3),
        ({"caller": "script"}, 1),
        ({"automation_id": str(other["automation_id"])}, 3),
        ({"model": "none"}, 0),
        ({"from": "2020-01-01", "to": "2020-01-02"}, 0),
    ):
        page = await _get(api, "/usage/calls", **query)
        assert (len(page["items"]), page["next"]) == (asks, None), query


async def _check_run(api: Api, both: Any) -> None:
    run = await _get(api, f"/runs/{both['id']}")
    told = [(row["step"], row["model"], row["asks"], row["reported"]) for row in run["usage"]]
    assert told == [
        ("a", DEFAULT_MODEL, 1, False),
        ("b", DEFAULT_MODEL, 1, False),
        ("c", "mine", 1, True),
    ]
    assert sum(row["cost_usd"] for row in run["usage"]) == pytest.approx(run["cost_usd"])
    history = (await _get(api, f"/capabilities/{LLM}"))["history"]
    assert (history["calls"], history["average_usd"]) == (5, COST)
    assert history["average_ms"] >= 0
    assert history["since"] <= run["finished_at"]
    assert (await _get(api, "/capabilities/http_fetch"))["history"] == {
        "calls": 0,
        "average_usd": None,
        "average_ms": None,
        "since": None,
    }


async def _check_others(api: Api, one: Bench) -> None:
    """A viewer sees all of it; another tenant nothing; an anonymous caller is refused."""
    database = one.application.database
    await add_workspace(database, NEIGHBOUR, "next door")
    viewer = await add_person(database, one.application.workspace_id, Role.VIEWER, name="looker")
    other_person = await add_person(database, NEIGHBOUR, name="neighbour")
    assert (await _get(api, "/usage", viewer.token))["total"]["asks"] == 6
    assert len((await _get(api, "/usage/calls", viewer.token))["items"]) == 6
    assert (await _get(api, "/usage", other_person.token))["total"]["asks"] == 0
    first = (await _get(api, "/usage/calls", limit=1))["next"]
    for query in ({}, {"cursor": first}):
        assert (await _get(api, "/usage/calls", other_person.token, **query))["items"] == []
    capability = await _get(api, f"/capabilities/{LLM}", other_person.token)
    assert capability["history"]["calls"] == 0
    assert (await api.anonymous.get(f"{ROOT}/usage")).status_code == 401


async def _check_bad(api: Api) -> None:
    for path, where in (("/usage", ""), ("/usage/calls", "/query")):
        for query, name in (
            ("from=2026-03-02&to=2026-03-01", "from"),
            ("from=2020-01-01", "from"),
            ("from=yesterday", "from"),
            ("to=2026-02-30", "to"),
            ("automation_id=mine", "automation_id"),
            ("to=0001-01-01", "from"),
            ("to=9999-12-31", "from"),
        ):
            answer = await api.client.get(f"{ROOT}{path}?{query}")
            assert answer.status_code == 422, (path, query, answer.text)
            pointers = [error["pointer"] for error in answer.json()["errors"]]
            assert pointers == [f"{where}/{name}"], (path, query)
    for query in ("by=day", "cursor=x"):
        assert (await api.client.get(f"{ROOT}/usage/calls?{query}")).status_code == 422


def _desk(services: ApplicationServices) -> CommandContext:
    """A command line that uses the test's own application."""

    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield services

    return CommandContext(ApplicationFactory(enter, build_registry))


async def test_the_command_line_shows_the_same_in_columns_and_as_json(
    bench: Bench, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    models = FakeModels(reply=ModelReply("Hello.", DEFAULT_MODEL, 100, 50, provider="outside"))
    plain, programs = Screen(), Screen(for_programs=True)
    async with models_bench(bench, models, asking(_report, uses=())) as one:
        desk = _desk(application_services(one.application))

        async def said(
            screen: Screen, by: str = "day", calls: int | None = None, **days: str
        ) -> str:
            capsys.readouterr()
            given = days.get("from"), days.get("to")
            assert await show_usage(desk, screen, by, *given, calls is not None, calls or 20) == 0
            return capsys.readouterr().out

        assert "No model was called" in await said(plain)
        both, _ = await _furnished(one, models)
        today = datetime.now(UTC).date().isoformat()
        assert today in await said(plain)
        for by, word in (("automation", "other"), ("model", "outside/small"), ("caller", LLM)):
            assert word in await said(plain, by)
        text = await said(plain)
        assert "6 asks from" in text
        assert "$0.25075, $0.25 of it by scripts' own word" in text
        assert "(UTC)" in text
        listed = await said(plain, calls=2)
        assert listed.count("other") == 2
        answer = json.loads(await said(programs, calls=3, to=today))
        assert (answer["total"]["asks"], len(answer["calls"])) == (6, 3)
        capsys.readouterr()
        await show_logs(desk, plain, str(both["id"]), calls=False)
        assert f"b: {DEFAULT_MODEL}, 1 ask, 100 tokens read, 50 written, $0.00015" in (
            capsys.readouterr().out
        )
        await show_capabilities(desk, plain, LLM, everything=False)
        assert "5 calls since" in capsys.readouterr().out
    for wrong in ("yesterday", "2026-2-1", "20260201", "2026-02-30", ""):
        with pytest.raises(Invalid) as refused:
            read_day("from", wrong)
        assert "--from" in refused.value.detail
