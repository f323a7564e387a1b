"""Every credential tries every operation, and what comes of it is what the one table says."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
import pytest_asyncio
from mcp import Client
from mcp_types import ElicitResult

from mainspring.app import application_services, build_registry, open_application
from mainspring.definition.validate import validate
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, build_app, run_cli
from mainspring.surfaces.cli.logins import SavedLogin, keep_login, read_address
from mainspring.surfaces.mcp import server
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER, list_triggers
from scripts.consent_matrix import PAGE, ROWS, Operation, Outcome, written
from tests.kit.agents import ScriptedModels, agents_bench, calls, ends, thinking
from tests.kit.api import Api, served
from tests.kit.authoring import CapabilityClient, draft
from tests.kit.bench import Bench, document, step
from tests.kit.codex import Codex, automation, says
from tests.kit.consent import agree_to_all
from tests.kit.drafts import Office, office
from tests.kit.mcp import connected, problem_of
from tests.kit.people import ROOT, browser
from tests.kit.terminals import answered

DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
NOTE = step("note", "transform_data", {"output": "x"})
# The code of a problem, or None; and what was answered.
Told = tuple[str | None, Any]
Call = Callable[[str, Mapping[str, Any]], Awaitable[Told]]


def over_rest(client: httpx2.AsyncClient) -> Call:
    async def call(name: str, given: Mapping[str, Any]) -> Told:
        answer = await client.post(f"{ROOT}/capabilities/{name}", json=dict(given))
        result = answer.json()
        return (None if answer.status_code < 300 else result["code"]), result

    return call


def over_mcp(client: Client) -> Call:
    async def call(name: str, given: Mapping[str, Any]) -> Told:
        result = await client.call_tool(name, dict(given))
        if result.is_error:
            shown = {"structuredContent": result.structured_content, "_meta": result.meta}
            return problem_of(shown)["code"], None
        return None, result.structured_content

    return call


async def _ran(bench: Bench, plan: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """A run of an automation that a person has agreed to; or the code of what is wrong with it."""
    words = await bench.application.registry.of(bench.application.workspace_id)
    findings = validate(plan, words, bench.application.limits).findings
    if findings:
        return findings[0].code, {}
    return None, await bench.until((await bench.dispatch(plan)).run_id)


def _grants(name: str, *more: str) -> list[dict[str, Any]]:
    return [{"capability": one, "params": {}} for one in (name, "get_board", *more)]


def in_a_run(bench: Bench) -> Call:
    """The call is the only step of a run."""
    made = 0

    async def call(name: str, given: Mapping[str, Any]) -> Told:
        nonlocal made
        made += 1
        grants = _grants(name)
        plan = document(step("call", name, given), name=f"caller {made}", grants=grants)
        code, run = await _ran(bench, plan)
        if code is not None:
            return code, None
        if run["status"] != "succeeded":
            return run["error"]["code"], None
        return None, run["output"]

    return call


def by_an_agent(bench: Bench, models: ScriptedModels) -> Call:
    """The model of an agent step asks for the call, which is its only tool."""
    made = 0

    async def call(name: str, given: Mapping[str, Any]) -> Told:
        nonlocal made
        made += 1
        models.script = [calls((name, dict(given))), ends()]
        plan = thinking(name, name=f"thinker {made}") | {"grants": _grants(name, "agent.run")}
        code, run = await _ran(bench, plan)
        if code is not None:
            return code, None
        assert run["status"] == "succeeded", run["error"]
        (answer,) = models.tool_results
        (record,) = [one for one in run["calls"] if one["capability"] == name]
        if record["error"] is not None:
            return record["error"]["code"], None
        # What a tool answers is between two lines that mark it as untrusted.
        return None, json.loads(answer.split("\n")[1])

    return call


@dataclass(slots=True)
class Trial:
    """One credential in an application, and the operations of the table."""

    api: Api
    here: Office
    call: Call
    is_person: bool = False
    # Called with each automation that the credential is tried on.
    meets: Callable[[str], Awaitable[None]] | None = None

    @property
    def bench(self) -> Bench:
        return self.here.bench

    async def came_to(self, operation: Operation) -> Outcome:
        tried: Outcome = await getattr(self, operation)()
        return tried

    async def _unagreed(self, name: str) -> str:
        """An automation that a program has made."""
        plan = document(NOTE, name=f"unagreed {name}", triggers=[DAILY])
        answer = await self.api.program.post(f"{ROOT}/automations", json=plan)
        assert answer.status_code == 201, answer.text
        made = str(answer.json()["id"])
        await self._meet(made)
        return made

    async def _meet(self, automation_id: str) -> None:
        if self.meets is not None:
            await self.meets(automation_id)

    async def _kept(self, automation_id: str) -> dict[str, Any]:
        return await CapabilityClient(self.bench).stored(automation_id)

    async def create(self) -> Outcome:
        code, made = await self.call("save_automation_draft", draft(name="made here"))
        assert code is None, made
        stored = await self._kept(made["automation_id"])
        if "consent" in made:
            assert stored["agreed"] is None
            return "waits"
        assert stored["agreed"]["via"] == "page"
        return "agrees"

    async def edit_wider(self) -> Outcome:
        return await self._edit("wider", 0.9)

    async def edit_narrower(self) -> Outcome:
        return await self._edit("narrower", 0.2)

    async def _edit(self, name: str, cap: float) -> Outcome:
        one = await CapabilityClient(self.bench).save(name=f"to be {name}", cost_cap_daily_usd=0.5)
        await self._meet(one)
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
        if made.get("kind") != "suppressed":
            # Who calls may not have waited for its end.
            run = await self.bench.until(UUID(made["run_id"]))
            assert (run["status"], run["mode"]) == ("succeeded", "dry_run"), made
        return "works"

    async def trigger(self) -> Outcome:
        one, application = UUID(await self._unagreed("to fire")), self.bench.application
        async with application.database.acquire() as connection:
            (row,) = await list_triggers(connection, application.workspace_id, one)
        request = RunRequest(
            application.workspace_id, one, trigger_id=row["id"], trigger_type="schedule"
        )
        made = await application.dispatcher.dispatch(request)
        return "nothing" if made.reason == "paused" else "works"

    async def answer_approval(self) -> Outcome:
        given = {"approval_id": await self._question(), "decision": "approved"}
        return _other((await self.call("answer_approval", given))[0])

    async def _question(self) -> str:
        """A question that a run asks a person."""
        plan = document(step("ask", "approval", {"title": "May it?"}), name="asks")
        saved = await self.bench.save(plan)
        await self._meet(str(saved.automation_id))
        run = await self.bench.dispatch(plan)
        await self.bench.until(run.run_id, "waiting")
        question = await self.bench.application.database.fetchval(
            "SELECT id FROM approvals WHERE run_id = $1", run.run_id
        )
        return str(question)

    async def agree(self) -> Outcome:
        one = await self._unagreed("to agree to")
        answer = await self.api.program.get(f"{ROOT}/consents", params={"automation_id": one})
        (asked,) = answer.json()["consents"]
        given = {"consent_id": asked["consent_id"], "digest": asked["digest"], "agree": True}
        return _other((await self.call("answer_consent", given))[0])

    async def confirm_draft(self) -> Outcome:
        draft_id = await self._draft()
        code, _ = await self.call("confirm_action", {"draft_id": draft_id})
        return self._sent(_other(code))

    async def _draft(self) -> str:
        """A message to Slack that a run of an agreed automation has drafted."""
        (draft_id,) = await self.here.posts("Ada")
        await self._meet(str((await self.here.row(draft_id))["automation_id"]))
        assert self.here.slack.messages == []
        return draft_id

    def _sent(self, outcome: Outcome) -> Outcome:
        """The outcome, which is right about what has arrived."""
        assert len(self.here.slack.messages) == (1 if outcome == "works" else 0)
        return outcome


class Opening(Trial):
    """An MCP client that accepts every elicitation, and whose person may look at the page."""

    async def confirm_draft(self) -> Outcome:
        draft_id = await self._draft()
        code, result = await self.call("confirm_action", {"draft_id": draft_id})
        assert (code, result["status"]) == (None, "pending")
        self._sent("refused")
        place = f"{ROOT}/capabilities/confirm_action"
        answer = await self.api.client.post(place, json={"draft_id": draft_id})
        assert answer.status_code == 200, answer.text
        self._sent("works")
        return "on_page"


@dataclass(slots=True)
class Commands(Trial):
    """Commands of the local owner, each to its end: at a terminal, or without one."""

    run: Callable[..., Awaitable[tuple[int, str]]] = field(kw_only=True)
    folder: Path = field(kw_only=True)

    async def _done(self, *text: str) -> bool:
        code, output = await self.run(*text)
        assert code in (0, 1), output
        if code and not self.is_person:
            assert "person" in output, output
        return code == 0

    async def _save(self, name: str, cap: float) -> None:
        file = self.folder / "definition.json"
        caps = {"cost_cap_daily_usd": cap}
        file.write_text(json.dumps(document(NOTE, name=name, triggers=[DAILY], execution=caps)))
        assert await self._done("save", str(file))

    async def _agreed(self, name: str) -> Any:
        one = await self.bench.application.database.fetchval(
            "SELECT id FROM automations WHERE name = $1", name
        )
        return (await self._kept(one))["agreed"]

    async def create(self) -> Outcome:
        await self._save("made here", 0.5)
        agreed = await self._agreed("made here")
        if agreed is None:
            return "waits"
        assert agreed["via"] == "terminal"
        return "agrees"

    async def _edit(self, name: str, cap: float) -> Outcome:
        caps = {"cost_cap_daily_usd": 0.5}
        await self.bench.save(document(NOTE, name=name, triggers=[DAILY], execution=caps))
        await self._save(name, cap)
        if (await self._agreed(name))["version"] == 1:
            return "waits"
        return "agrees" if self.is_person else "free"

    async def activate(self) -> Outcome:
        one = await self._unagreed("to activate")
        return "shown" if await self._done("activate", one) else "refused"

    async def live_run(self) -> Outcome:
        one = await self._unagreed("to run")
        return "shown" if await self._done("fire", one) else "refused"

    async def dry_run(self) -> Outcome:
        one = await self._unagreed("to try")
        return "works" if await self._done("fire", one, "--dry-run") else "refused"

    async def answer_approval(self) -> Outcome:
        question = await self._question()
        return "works" if await self._done("approvals", "approve", question) else "refused"

    async def agree(self) -> Outcome:
        one = await self._unagreed("to agree to")
        name = (await self._kept(one))["name"]
        return "works" if await self._done("consents", "agree", name) else "refused"

    async def confirm_draft(self) -> Outcome:
        draft_id = await self._draft()
        done = await self._done("drafts", "confirm", draft_id)
        return self._sent("works" if done else "refused")


async def _logged_in(api: Api) -> str:
    """The session of `mainspring login`, which a person has confirmed in a browser."""
    place = f"{ROOT}/session/terminal"
    begun = (await api.anonymous.post(place, json={"label": "a terminal"})).json()
    async with browser(api, FIRST_MEMBER) as page:
        given = {"code": begun["code"], "confirm": True}
        answer = await page.ask("POST", "/session/terminal/answer", json=given)
        assert answer.status_code == 200, answer.text
    collected = {"device_code": begun["device_code"]}
    session: str = (await api.anonymous.post(f"{place}/collect", json=collected)).json()["session"]
    return session


@asynccontextmanager
async def _after_login(name: str, api: Api, here: Office, folder: Path) -> AsyncIterator[Trial]:
    """A session of `mainspring login`: by commands that ask, or by itself."""
    session = await _logged_in(api)
    header = {"Authorization": f"Bearer {session}"}
    async with httpx2.AsyncClient(base_url=api.address, headers=header, timeout=30) as client:
        if name == "`mainspring login` without a prompt":
            yield Trial(api, here, over_rest(client))
            return
        address = read_address(api.address)
        keep_login(SavedLogin(address, session))
        asked = _commands(here, ["y"])
        yield Commands(
            api,
            here,
            over_rest(client),
            is_person=True,
            run=partial(asked, "--server", address),
            folder=folder,
        )


def _other(code: str | None) -> Outcome:
    return "works" if code is None else "refused"


def _commands(
    here: Office, answers: Sequence[str] | None
) -> Callable[..., Awaitable[tuple[int, str]]]:
    """The command line over the application of the test; None: it has no terminal."""

    @asynccontextmanager
    async def opened(found: Settings) -> AsyncIterator[ApplicationServices]:
        async with open_application(
            replace(here.bench.application.settings, token=found.token)
        ) as application:
            yield application_services(application)

    app = build_app(ApplicationFactory(opened, build_registry))

    async def run(*text: str) -> tuple[int, str]:
        work = partial(run_cli, app, list(text))
        if answers is not None:
            return await asyncio.to_thread(answered, work, answers)
        return await asyncio.to_thread(_captured, work)

    return run


def _captured(work: Callable[[], int]) -> tuple[int, str]:
    output = io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
        code = work()
    return code, output.getvalue()


@asynccontextmanager
async def _approving(api: Api, here: Office) -> AsyncIterator[Trial]:
    """A token with approve, which a person makes for each automation that it is tried on."""
    async with httpx2.AsyncClient(
        base_url=api.address, headers={"Authorization": f"Bearer {api.token}"}, timeout=30
    ) as client:

        async def name(automation_id: str) -> None:
            expected = {
                "name": f"for {automation_id}",
                "role": "editor",
                "approves": [automation_id],
                "expires_at": (datetime.now(UTC) + timedelta(hours=1)).isoformat(),
            }
            made = await api.client.post(f"{ROOT}/tokens", json=expected)
            assert made.status_code == 201, made.text
            client.headers["Authorization"] = f"Bearer {made.json()['text']}"

        yield Trial(api, here, over_rest(client), meets=name)


async def _accept(context: Any, params: Any) -> ElicitResult:
    del context, params
    return ElicitResult(action="accept", content={"confirm": True})


@asynccontextmanager
async def _holder(name: str, api: Api, here: Office, folder: Path) -> AsyncIterator[Trial]:
    match name:
        case "page session":
            yield Trial(api, here, over_rest(api.client), is_person=True)
        case "terminal" | "command without a terminal":
            person = name == "terminal"
            run = _commands(here, ["y"] if person else None)
            yield Commands(
                api, here, over_rest(api.program), is_person=person, run=run, folder=folder
            )
        case "terminal after `mainspring login`" | "`mainspring login` without a prompt":
            async with _after_login(name, api, here, folder) as trial:
                yield trial
        case "token":
            yield Trial(api, here, over_rest(api.program))
        case "token with approve":
            async with _approving(api, here) as trial:
                yield trial
        case "MCP client":
            async with connected(api.address, api.token, query="toolset=all") as client:
                yield Trial(api, here, over_mcp(client))
        case "MCP client that opens pages":
            async with connected(
                api.address, api.token, opens=_accept, query="toolset=all"
            ) as client:
                yield Opening(api, here, over_mcp(client))
        case "run":
            yield Trial(api, here, in_a_run(here.bench))
        case _:
            assert name == "agent in a run"
            models = here.bench.application.gate.models
            assert isinstance(models, ScriptedModels)
            yield Trial(api, here, by_an_agent(here.bench, models))


@pytest_asyncio.fixture
async def here(bench: Bench) -> AsyncIterator[Office]:
    """An application with a Slack on loopback, and with models that answer what a test says."""
    async with office(bench) as made, agents_bench(made.bench, ScriptedModels()) as thinks:
        yield replace(made, bench=thinks)


@pytest.mark.parametrize("name", [one for one in ROWS if one not in ("recipe", "import")])
async def test_a_credential_can_do_what_its_row_says(
    name: str, here: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A client that opens a page and has no answer is not waited for.
    monkeypatch.setattr(server, "CLIENT_SECONDS", 0.5)
    monkeypatch.setenv("MAINSPRING_HOME", str(here.bench.application.settings.home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with (
        served(here.bench.application) as api,
        here.bench.worker(),
        _holder(name, api, here, tmp_path) as trial,
    ):
        came_to = {one: await trial.came_to(one) for one in ROWS[name]}
    assert came_to == ROWS[name]


async def test_a_recipe_waits_for_a_person_and_so_does_what_an_upgrade_adds(bench: Bench) -> None:
    application, codex = bench.application, Codex(bench.application)

    def version(number: str, cap: float) -> dict[str, Any]:
        caps = {"execution": {"cost_cap_daily_usd": cap}}
        return automation("checker", [says(number)], version=number, definition=caps)

    async def waits() -> bool:
        return bool(await agree_to_all(application.database, application.workspace_id))

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


async def test_an_import_waits_for_a_person_also_when_a_person_brings_it(bench: Bench) -> None:
    application = bench.application
    came_to: dict[Operation, Outcome] = {}
    caps: list[tuple[Operation, float]] = [
        ("create", 0.5),
        ("edit_wider", 0.9),
        ("edit_narrower", 0.2),
    ]
    async with served(application) as api:
        for operation, cap in caps:
            file = document(NOTE, name="Imported", execution={"cost_cap_daily_usd": cap})
            answer = await api.client.post(
                f"{ROOT}/import", json=file, params={"on_clash": "new_version"}
            )
            (made,) = answer.json()["imported"]
            came_to[operation] = "free" if made["consent"] is None else "waits"
            await agree_to_all(application.database, application.workspace_id)
    assert came_to == ROWS["import"]


def test_the_page_about_consent_has_the_table() -> None:
    there = PAGE.read_text(encoding="utf-8")
    assert written(there) == there, "run python -m scripts.consent_matrix"
