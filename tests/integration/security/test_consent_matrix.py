"""Every credential tries every operation, and what comes of it is what the one table says."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx2
import pytest

from mainspring.definition.validate import validate
from mainspring.runs.arrivals import Request
from mainspring.workspace.triggers import list_triggers
from scripts.consent_matrix import PAGE, ROWS, Operation, Outcome, written
from tests.kit.api import Api, served
from tests.kit.authoring import Desk, draft
from tests.kit.codex import Codex, automation, says
from tests.kit.consenting import agree_to_all
from tests.kit.house import Bench, document, step
from tests.kit.mcp import connected, problem_of
from tests.kit.people import ROOT

DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
NOTE = step("note", "transform_data", {"output": "x"})
# The code of a problem, or None; and what was answered.
Told = tuple[str | None, Any]
Call = Callable[[str, Mapping[str, Any]], Awaitable[Told]]


def over_rest(client: httpx2.AsyncClient) -> Call:
    async def call(name: str, given: Mapping[str, Any]) -> Told:
        answer = await client.post(f"{ROOT}/capabilities/{name}", json=dict(given))
        told = answer.json()
        return (None if answer.status_code < 300 else told["code"]), told

    return call


@asynccontextmanager
async def over_mcp(api: Api) -> AsyncIterator[Call]:
    async with connected(api.address, api.token) as client:

        async def call(name: str, given: Mapping[str, Any]) -> Told:
            result = await client.call_tool(name, dict(given))
            if result.is_error:
                shown = {"structuredContent": result.structured_content, "_meta": result.meta}
                return problem_of(shown)["code"], None
            return None, result.structured_content

        yield call


def in_a_run(bench: Bench) -> Call:
    """A run of an automation that a person has agreed to makes the call in its only step."""
    made = 0

    async def call(name: str, given: Mapping[str, Any]) -> Told:
        nonlocal made
        made += 1
        grants = [{"capability": one, "params": {}} for one in (name, "get_board")]
        plan = document(step("call", name, given), name=f"caller {made}", grants=grants)
        words = await bench.house.registry.of(bench.house.workspace_id)
        findings = validate(plan, words, bench.house.limits).findings
        if findings:
            return findings[0].code, None
        run = await bench.until((await bench.dispatch(plan)).run_id)
        if run["status"] != "succeeded":
            return run["error"]["code"], None
        return None, run["output"]

    return call


@dataclass(slots=True)
class Trial:
    """One credential in a house, and the operations of the table."""

    api: Api
    bench: Bench
    call: Call
    is_person: bool = False

    async def came_to(self, operation: Operation) -> Outcome:
        tried: Outcome = await getattr(self, operation)()
        return tried

    async def _unagreed(self, name: str) -> str:
        """An automation that a program has made."""
        plan = document(NOTE, name=f"unagreed {name}", triggers=[DAILY])
        answer = await self.api.program.post(f"{ROOT}/automations", json=plan)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def _kept(self, automation_id: str) -> dict[str, Any]:
        return await Desk(self.bench).kept(automation_id)

    async def create(self) -> Outcome:
        code, made = await self.call("save_automation_draft", draft(name="made here"))
        assert code is None, made
        kept = await self._kept(made["automation_id"])
        if "consent" in made:
            assert kept["agreed"] is None
            return "waits"
        assert kept["agreed"]["via"] == "page"
        return "agrees"

    async def edit_wider(self) -> Outcome:
        return await self._edit("wider", 0.9)

    async def edit_narrower(self) -> Outcome:
        return await self._edit("narrower", 0.2)

    async def _edit(self, name: str, cap: float) -> Outcome:
        one = await Desk(self.bench).save(name=f"to be {name}", cost_cap_daily_usd=0.5)
        change = {"automation_id": one, "cost_cap_daily_usd": cap}
        code, made = await self.call("update_automation", change)
        if code is not None:
            return "refused"
        agreed = (await self._kept(one))["agreed"]
        if "consent" in made:
            assert agreed["version"] == 1
            return "waits"
        assert agreed["version"] == 2
        return "agrees" if self.is_person else "free"

    async def activate(self) -> Outcome:
        one = await self._unagreed("to activate")
        code, _ = await self.call("update_automation", {"automation_id": one, "state": "active"})
        return await self._shown(one, "activate") if code == "consent_needed" else _other(code)

    async def live_run(self) -> Outcome:
        one = await self._unagreed("to run")
        asked = {"automation_id": one, "dry_run": False}
        code, _ = await self.call("run_automation_once", asked)
        return await self._shown(one, "run") if code == "consent_needed" else _other(code)

    async def _shown(self, automation_id: str, way: str) -> Outcome:
        """It was refused and shown; who sends the digest back may be let go on."""
        if not self.is_person:
            return "refused"
        place = f"{ROOT}/automations/{automation_id}/{way}"
        shown = (await self.api.client.post(place)).json()["consent"]
        done = await self.api.client.post(place, json={"digest": shown["digest"]})
        assert done.status_code in (200, 202), done.text
        return "shown"

    async def dry_run(self) -> Outcome:
        one = await self._unagreed("to try")
        code, made = await self.call("run_automation_once", {"automation_id": one})
        assert code is None, code
        assert made["status"] == "succeeded" or made.get("kind") == "suppressed", made
        return "works"

    async def trigger(self) -> Outcome:
        one, house = UUID(await self._unagreed("to fire")), self.bench.house
        async with house.database.acquire() as connection:
            (row,) = await list_triggers(connection, house.workspace_id, one)
        wish = Request(
            house.workspace_id, one, trigger_id=row["id"], trigger_type="schedule"
        )  # fmt: skip
        made = await house.dispatcher.dispatch(wish)
        return "nothing" if made.reason == "paused" else "works"

    async def answer_approval(self) -> Outcome:
        plan = document(step("ask", "approval", {"title": "May it?"}), name="asks")
        run = await self.bench.dispatch(plan)
        await self.bench.until(run.run_id, "waiting")
        question = await self.bench.house.database.fetchval(
            "SELECT id FROM approvals WHERE run_id = $1", run.run_id
        )
        given = {"approval_id": str(question), "decision": "approved"}
        return _other((await self.call("answer_approval", given))[0])

    async def agree(self) -> Outcome:
        one = await self._unagreed("to agree to")
        answer = await self.api.program.get(f"{ROOT}/consents", params={"automation_id": one})
        (asked,) = answer.json()["consents"]
        given = {"consent_id": asked["consent_id"], "digest": asked["digest"], "agree": True}
        return _other((await self.call("answer_consent", given))[0])


def _other(code: str | None) -> Outcome:
    return "works" if code is None else "refused"


@asynccontextmanager
async def _holder(name: str, api: Api, bench: Bench) -> AsyncIterator[Trial]:
    if name == "page session":
        yield Trial(api, bench, over_rest(api.client), is_person=True)
    elif name == "token":
        yield Trial(api, bench, over_rest(api.program))
    elif name == "run":
        yield Trial(api, bench, in_a_run(bench))
    else:
        assert name == "MCP client"
        async with over_mcp(api) as call:
            yield Trial(api, bench, call)


@pytest.mark.parametrize("name", [one for one in ROWS if one not in ("recipe", "import")])
async def test_a_credential_can_do_what_its_row_says(name: str, bench: Bench) -> None:
    async with (
        served(bench.house) as api, bench.worker(), _holder(name, api, bench) as trial
    ):  # fmt: skip
        came_to = {one: await trial.came_to(one) for one in ROWS[name]}
    assert came_to == ROWS[name]


async def test_a_recipe_waits_for_a_person_and_so_does_what_an_upgrade_adds(bench: Bench) -> None:
    house, codex = bench.house, Codex(bench.house)

    def version(number: str, cap: float) -> dict[str, Any]:
        caps = {"execution": {"cost_cap_daily_usd": cap}}
        return automation("checker", [says(number)], version=number, definition=caps)

    async def waits() -> bool:
        return bool(await agree_to_all(house.database, house.workspace_id))

    await codex.publish(version("1.0.0", 0.5))
    made = (await codex.apply("checker"))["created"]
    came_to: dict[Operation, Outcome] = {"create": "waits" if await waits() else "agrees"}
    await codex.publish(version("1.1.0", 0.9))
    await codex.upgrade(made)
    came_to["edit_wider"] = "waits" if await waits() else "free"
    await codex.publish(version("1.2.0", 0.2))
    await codex.upgrade(made)
    came_to["edit_narrower"] = "waits" if await waits() else "free"
    assert came_to == ROWS["recipe"]


async def test_an_import_waits_for_a_person_whoever_brings_it(bench: Bench) -> None:
    house = bench.house
    came_to: dict[Operation, Outcome] = {}
    caps: list[tuple[Operation, float]] = [
        ("create", 0.5), ("edit_wider", 0.9), ("edit_narrower", 0.2),
    ]  # fmt: skip
    async with served(house) as api:
        for operation, cap in caps:
            file = document(NOTE, name="Imported", execution={"cost_cap_daily_usd": cap})
            answer = await api.client.post(
                f"{ROOT}/import", json=file, params={"on_clash": "new_version"}
            )
            (made,) = answer.json()["imported"]
            came_to[operation] = "free" if made["consent"] is None else "waits"
            await agree_to_all(house.database, house.workspace_id)
    assert came_to == ROWS["import"]


def test_the_page_about_consent_has_the_table() -> None:
    there = PAGE.read_text(encoding="utf-8")
    assert written(there) == there, "run python -m scripts.consent_matrix"
