"""What a workspace is connected to is a word of its own, everywhere, and of nobody else."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import pytest
import pytest_asyncio

from mainspring.actions.script.sdk.generator import generate_sdk
from mainspring.app import application_services
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.contracts.roles import Role
from mainspring.definition.script.sdk_names import SDK_PATH
from mainspring.registry import build_registry
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.store.embedded import EmbeddedServer
from mainspring.surfaces.cli import ApplicationFactory
from mainspring.surfaces.cli.automation_view import show_automation
from mainspring.surfaces.cli.automations import go_back, save_file
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.drafts import show_drafts
from mainspring.surfaces.cli.export_import import bring_in
from mainspring.surfaces.cli.run import run_file
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.cli.tokens import TokenOptions, create_token
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_WORKSPACE
from tests.kit.bench import PATIENCE, document, step
from tests.kit.mcp import RawMcpClient
from tests.kit.postgres import fresh_database
from tests.kit.scripts import script
from tests.kit.tool_isolation import LOOKUP, SEND, ToolIsolation, office

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(
    postgres_server: EmbeddedServer,
    migrated_template: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[ToolIsolation]:
    """One application for all tests of this module."""
    async with (
        fresh_database(postgres_server, migrated_template) as url,
        office(url, tmp_path_factory.mktemp("connected")) as made,
    ):
        yield made


@pytest.fixture
def here(shared: ToolIsolation) -> ToolIsolation:
    """The application with its tools as they were at first."""
    shared.connect()
    shared.acme.looked_up.clear()
    shared.acme.sent.clear()
    return shared


def asking(name: str, value: str = "Ada", tool: str = LOOKUP) -> dict[str, Any]:
    return document(step("ask", tool, {"name": value}), name=name)


async def saved(here: ToolIsolation, wanted: dict[str, Any]) -> str:
    made = await here.ask("POST", "/automations", wanted)
    return str(made["id"])


async def test_a_step_that_calls_a_tool_is_judged_saved_activated_and_run(
    here: ToolIsolation,
) -> None:
    expected = asking("direct")
    verdict = await here.ask("POST", "/validate", expected)
    automation = await saved(here, expected)
    active = await here.ask("POST", f"/automations/{automation}/activate")
    run = await here.run(automation)

    assert (verdict["ok"], verdict["grants"]) == (True, [{"capability": LOOKUP, "params": {}}])
    assert active["state"] == "active"
    assert (run["status"], here.acme.looked_up) == ("succeeded", ["Ada"])
    assert run["steps"][0]["output"] == {"found": f"Ada in {FIRST_WORKSPACE}"}


async def test_bad_arguments_for_a_tool_are_reported_at_their_place(here: ToolIsolation) -> None:
    expected = document(step("ask", LOOKUP, {"nam": "Ada"}), name="bad")
    refusal = await here.refused("POST", "/automations", expected)
    called = await here.refused("POST", f"/capabilities/{LOOKUP}", {"name": ""})

    pointers = {one["pointer"] for one in refusal["errors"]}
    assert pointers & {"/plan/0/config", "/plan/0/config/nam"}
    assert [one["pointer"] for one in called["errors"]] == ["/name"]
    assert here.acme.looked_up == []


async def test_another_tenant_gets_not_found(here: ToolIsolation) -> None:
    expected = asking("next door")
    verdict = (await here.as_other_tenant("POST", "/validate", expected)).json()
    refused = await here.as_other_tenant("POST", "/automations", expected)
    imported = await here.as_other_tenant("POST", "/import", expected)
    token = await here.as_other_tenant("POST", "/tokens", {"name": "t", "capabilities": [LOOKUP]})
    read = await here.as_other_tenant("GET", f"/capabilities/{LOOKUP}")
    called = await here.as_other_tenant("POST", f"/capabilities/{LOOKUP}", {"name": "Ada"})
    listed = (await here.as_other_tenant("GET", "/capabilities?all=true")).json()["capabilities"]
    words = (await here.as_other_tenant("GET", "/vocabulary")).json()["capabilities"]

    assert [(one["pointer"], one["code"]) for one in verdict["errors"]] == [
        ("/plan/0/action", "unknown_action")
    ]
    assert {refused.status_code, imported.status_code, token.status_code} == {422}
    assert token.json()["errors"][0]["code"] == "unknown_capability"
    assert (read.status_code, called.status_code) == (404, 404)
    assert not {LOOKUP, SEND} & {one["id"] for one in (*listed, *words)}
    assert called.json()["detail"] == f"There is no capability named {LOOKUP!r}."
    assert here.acme.looked_up == []


async def test_it_is_listed_read_and_called_over_rest(here: ToolIsolation) -> None:
    listed = {one["id"]: one for one in (await here.ask("GET", "/capabilities"))["capabilities"]}
    words = (await here.ask("GET", "/vocabulary"))["capabilities"]
    read = await here.ask("GET", f"/capabilities/{SEND}")
    answer = await here.ask("POST", f"/capabilities/{LOOKUP}", {"name": "Ada"})

    assert listed[LOOKUP]["effect"] == "read"
    assert {**read, **listed[SEND]} == read
    assert (read["effect"], read["confirmation"]) == ("send", True)
    assert {LOOKUP, SEND} <= {one["id"] for one in words}
    assert answer == {"found": f"Ada in {FIRST_WORKSPACE}"}


async def test_it_is_listed_and_called_over_mcp_by_its_own_workspace_alone(
    here: ToolIsolation,
) -> None:
    async with httpx2.AsyncClient(timeout=30, verify=False) as http:
        ours = RawMcpClient(http, here.api.address, here.api.token)
        theirs = RawMcpClient(http, here.api.address, here.other_tenant.token)
        tools = await _all_tools(ours)
        result = await ours.call(LOOKUP, {"name": "Ada"})
        there = await _all_tools(theirs)
        refused = await theirs.error("tools/call", {"name": LOOKUP, "arguments": {"name": "Ada"}})

    assert tools["acme_lookup"]["inputSchema"]["required"] == ["name"]
    assert result["structuredContent"] == {"found": f"Ada in {FIRST_WORKSPACE}"}
    assert {"acme_lookup", "acme_send"} <= tools.keys()
    assert not [name for name in there if name.startswith("acme")]
    assert refused["data"]["code"] == "unknown_tool"
    assert here.acme.looked_up == ["Ada"]


async def _all_tools(wire: RawMcpClient) -> dict[str, Any]:
    found: dict[str, Any] = {}
    cursor: dict[str, str] = {}
    while True:
        page = await wire.result("tools/list", cursor)
        found |= {tool["name"]: tool for tool in page["tools"]}
        if "nextCursor" not in page:
            return found
        cursor = {"cursor": page["nextCursor"]}


async def test_a_token_can_be_bound_to_a_tool_and_calls_that_alone(here: ToolIsolation) -> None:
    bound = {"name": "only looks", "capabilities": [LOOKUP]}
    token = (await here.ask("POST", "/tokens", bound))["text"]
    known = {"headers": {"Authorization": f"Bearer {token}"}}
    listed = (await here.ask("GET", "/capabilities", **known))["capabilities"]
    answer = await here.ask("POST", f"/capabilities/{LOOKUP}", {"name": "Ada"}, **known)
    other = await here.client.post(
        f"/api/v1/capabilities/{SEND}",
        json={"name": "Ada"},
        **known,  # type: ignore[arg-type]
    )

    assert [one["id"] for one in listed] == [LOOKUP]
    assert answer["found"].startswith("Ada")
    assert other.status_code == 404


async def _draft(here: ToolIsolation, name: str) -> str:
    automation = await saved(here, asking(name, value=name, tool=SEND))
    run = await here.run(automation)
    assert run["status"] == "succeeded", run
    return str(run["steps"][0]["output"]["draft_id"])


async def test_a_run_s_call_of_a_tool_that_sends_waits_for_a_person(here: ToolIsolation) -> None:
    draft = await _draft(here, "held")
    listed = (await here.ask("GET", "/drafts", params={"status": "pending"}))["items"]
    shown = await here.ask("GET", f"/drafts/{draft}")
    before = list(here.acme.sent)
    confirmed = await here.ask("POST", f"/drafts/{draft}/confirm")
    again = await here.ask("POST", f"/drafts/{draft}/confirm")

    assert draft in {one["id"] for one in listed}
    assert (shown["capability"], shown["preview"]) == (SEND, "Send held to Acme.")
    assert (shown["arguments"], before) == ({"name": "held"}, [])
    assert (confirmed["status"], confirmed["outcome"]) == ("confirmed", "sent")
    assert again == confirmed
    assert here.acme.sent == [{"name": "held"}]


async def test_a_draft_is_not_sent_when_its_tool_is_gone_or_another_one(
    here: ToolIsolation,
) -> None:
    draft = await _draft(here, "late")
    here.disconnect()
    gone = await here.refused("POST", f"/drafts/{draft}/confirm")
    listed = (await here.ask("GET", "/drafts", params={"status": "pending"}))["items"]
    here.connect(pin="2")
    changed = await here.refused("POST", f"/drafts/{draft}/confirm")
    here.connect()
    await here.ask("POST", f"/drafts/{draft}/confirm")

    assert (gone["status"], gone["code"]) == (409, "capability_gone")
    assert gone["detail"].startswith(f"{SEND} no longer exists")
    assert draft in {one["id"] for one in listed}
    assert (changed["status"], changed["code"]) == (409, "draft_changed")
    assert "the tool" in changed["detail"]
    assert here.acme.sent == [{"name": "late"}]


async def test_a_version_is_compiled_anew_when_its_tool_is_another_one(here: ToolIsolation) -> None:
    automation = await saved(here, asking("changing"))
    versions = here.bench.application.versions
    key = (FIRST_WORKSPACE, UUID(automation), 1)
    first = await here.run(automation)
    with_first = await versions.get(*key)
    second = await here.run(automation)
    the_same = await versions.get(*key)
    now = here.connect(pin="2")
    third = await here.run(automation)
    with_second = await versions.get(*key)
    here.connect(field="who")
    unfit = await here.run(automation)

    assert [one["status"] for one in (first, second, third)] == ["succeeded"] * 3
    assert with_first is the_same
    assert with_second is not with_first
    assert with_second.program.steps[0].capability is now[LOOKUP]
    assert (unfit["status"], unfit["error"]["code"]) == ("failed", "invalid_definition")
    assert here.acme.looked_up == ["Ada"] * 3


async def test_an_automation_whose_tool_is_gone_is_shown_and_exported_and_fails_clearly(
    here: ToolIsolation,
) -> None:
    expected = asking("orphan")
    automation = await saved(here, expected)
    await here.run(automation)
    here.disconnect()
    run = await here.run(automation)
    here.bench.application.versions.forget()
    refused = await here.refused("POST", f"/automations/{automation}/run", {})
    unusable = await here.refused("POST", f"/automations/{automation}/activate")
    shown = await here.ask("GET", f"/automations/{automation}")
    listed = (await here.ask("GET", "/automations"))["items"]
    exported = await here.ask("GET", f"/automations/{automation}/export")
    here.connect()
    back = await here.run(automation)

    assert (run["status"], run["error"]["code"]) == ("failed", "tool_gone")
    assert LOOKUP in run["error"]["detail"]
    assert (refused["status"], refused["code"]) == (409, "tool_gone")
    assert unusable["code"] == "definition_unusable"
    assert [one["pointer"] for one in unusable["errors"]] == ["/plan/0/action"]
    assert shown["definition"]["plan"][0]["action"] == LOOKUP
    assert automation in {one["id"] for one in listed}
    assert exported["plan"][0]["action"] == LOOKUP
    assert back["status"] == "succeeded"
    assert here.acme.looked_up == ["Ada", "Ada"]


async def test_a_pattern_needs_one_of_its_tools_and_not_each(here: ToolIsolation) -> None:
    expected = step("find", "agent_task", {"prompt": "Find Ada.", "tools": ["acme.*"]})
    automation = await saved(here, document(expected, name="pattern"))
    key = (FIRST_WORKSPACE, UUID(automation), 1)
    versions = here.bench.application.versions
    whole = await versions.get(*key)
    here.connect().pop(SEND)
    versions.forget()
    part = await versions.get(*key)
    here.disconnect()
    versions.forget()
    with pytest.raises(Conflict) as gone:
        await versions.get(*key)

    assert {grant.capability for grant in whole.grants} >= {LOOKUP, SEND}
    assert part.tools[SEND] is None
    assert part.tools[LOOKUP] is not None
    assert gone.value.code == "tool_gone"
    assert LOOKUP in gone.value.detail


async def test_a_trigger_s_run_of_an_automation_without_its_tool_is_on_record(
    here: ToolIsolation,
) -> None:
    automation = await saved(here, asking("triggered"))
    await here.ask("POST", f"/automations/{automation}/activate")
    here.disconnect()
    here.bench.application.versions.forget()
    made = await here.bench.application.dispatcher.dispatch(
        RunRequest(FIRST_WORKSPACE, UUID(automation), trigger_type="schedule")
    )
    run = await here.bench.read(made.run_id)

    assert (run["status"], run["error"]["code"]) == ("failed", "tool_gone")


async def test_natives_alone_are_loaded_without_a_question_or_a_pause(here: ToolIsolation) -> None:
    config = {"title": "Done", "message_template": "It is done."}
    automation = await saved(here, document(step("tell", "notification", config), name="native"))
    key = (FIRST_WORKSPACE, UUID(automation), 1)
    versions = here.bench.application.versions
    asked = here.registry.asked
    await versions.get(*key)

    class Run:
        workspace_id, automation_id, version = key
        rehearsal_id = None

    assert _at_once(versions.load(Run())) is _at_once(versions.get(*key))  # type: ignore[arg-type]
    assert here.registry.asked == asked


def _at_once(work: Coroutine[Any, Any, Any]) -> Any:
    """What a coroutine answers without ever giving way to another."""
    with contextlib.closing(work):
        try:
            work.send(None)
        except StopIteration as ended:
            return ended.value
    raise AssertionError("it has waited for something")


async def test_a_script_calls_a_tool_by_its_whole_name_or_by_its_parts(here: ToolIsolation) -> None:
    source = f"""export default async () => {{
      const one = await brains["{LOOKUP}"]({{ name: "Ada" }});
      const two = await brains.{LOOKUP}({{ name: "Bob" }});
      return [one.found.slice(0, 3), two.found.slice(0, 3)];
    }};"""
    granted = {**script(source, LOOKUP), "name": "granted"}
    derived = {**script(source), "name": "derived"}
    del derived["plan"][0]["config"]["grants"]
    for expected in (granted, derived):
        run = await here.run(await saved(here, expected))
        assert (run["status"], run["steps"][0]["output"]) == ("succeeded", ["Ada", "Bob"]), run
    refused = (await here.as_other_tenant("POST", "/validate", derived)).json()

    assert here.acme.looked_up == ["Ada", "Bob"] * 2
    assert [one["code"] for one in refused["errors"]][:1] == ["unknown_capability"]


async def test_a_draft_of_a_script_may_be_granted_what_its_own_workspace_has(
    here: ToolIsolation,
) -> None:
    given = {
        "name": "authored",
        "description": "Looks somebody up.",
        "intent": "Look somebody up.",
        "source": f'export default async () => (await brains["{LOOKUP}"]({{ name: "Ada" }}));',
        "tool_grants": [{"tool": LOOKUP}],
        "triggers": [{"kind": "webhook"}],
    }
    made = await here.ask("POST", "/capabilities/save_automation_draft", given)
    refused = await here.as_other_tenant("POST", "/capabilities/save_automation_draft", given)
    back = await here.ask(
        "POST",
        "/capabilities/update_automation",
        {"automation_id": made["automation_id"], "active_version_id": made["version_id"]},
    )

    assert back["automation_id"] == made["automation_id"]
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/tool_grants/0/tool"


async def test_a_file_with_a_tool_is_imported_and_a_version_with_one_is_brought_back(
    here: ToolIsolation,
) -> None:
    made = await here.ask("POST", "/import", asking("file"))
    automation = made["imported"][0]["id"]
    await here.ask("PUT", f"/automations/{automation}", asking("file", "Bob"))
    renamed = await here.ask("POST", "/import?on_clash=rename", asking("file"))
    back = await here.ask("POST", f"/automations/{automation}/rollback", {"version": 1})

    assert renamed["imported"][0]["renamed_from"] == "file"
    assert back["version"] == 3


@pytest.fixture
def command_context(
    here: ToolIsolation, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> CommandContext:
    """The command line's way into this application."""
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))

    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield application_services(here.bench.application)

    return CommandContext(ApplicationFactory(enter, build_registry))


def _file(folder: Path, wanted: dict[str, Any]) -> str:
    path = folder / "definition.json"
    path.write_text(json.dumps(wanted))
    return str(path)


async def test_commands_know_the_tools_of_the_workspace_that_they_work_in(
    here: ToolIsolation,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen, file = Screen(for_programs=True), _file(tmp_path, asking("typed"))

    assert await save_file(command_context, screen, file, None) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["grants"], result["warnings"]) == ([{"capability": LOOKUP, "params": {}}], [])
    assert await run_file(command_context, screen, file, (), None, PATIENCE) == 0
    assert json.loads(capsys.readouterr().out)["steps"][0]["output"]["found"].startswith("Ada")
    assert await bring_in(command_context, screen, file, "rename") == 0
    assert (
        await save_file(command_context, screen, _file(tmp_path, asking("typed", "Bob")), None) == 0
    )
    assert await go_back(command_context, screen, "typed", 1) == 0
    assert (
        await create_token(command_context, screen, TokenOptions("looks", Role.VIEWER, (LOOKUP,)))
        == 0
    )
    assert await change_state(command_context, screen, "activate", "typed") == 0
    draft = await _draft(here, "typed away")
    capsys.readouterr()
    assert await show_drafts(command_context, screen, "pending", most=5) == 0
    assert draft in {one["id"] for one in json.loads(capsys.readouterr().out)["drafts"]}
    assert await show_automation(command_context, Screen(), "typed") == 0
    assert f"may call {LOOKUP}: Look somebody up" in capsys.readouterr().out


async def test_commands_store_nothing_that_calls_a_tool_which_is_not_there(
    here: ToolIsolation, command_context: CommandContext, tmp_path: Path
) -> None:
    here.disconnect()
    screen, file = Screen(for_programs=True), _file(tmp_path, asking("stored nowhere"))
    for command in (
        save_file(command_context, screen, file, None),
        run_file(command_context, screen, file, (), None, PATIENCE),
        bring_in(command_context, screen, file, "refuse"),
    ):
        with pytest.raises(Invalid) as refused:
            await command
        assert [one.pointer for one in refused.value.findings] == ["/plan/0/action"]
    listed = (await here.ask("GET", "/automations", params={"search": "nowhere"}))["items"]
    assert listed == []


async def test_the_sdk_that_everybody_may_read_says_nothing_of_a_workspace(
    here: ToolIsolation,
) -> None:
    text = (await here.api.anonymous.get(SDK_PATH)).text

    assert text == generate_sdk(here.registry)
    assert "acme" not in text
