"""Saving with tools and models that may not be available now reports what is missing."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from mainspring.app import application_services, build_registry
from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Problem
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.surfaces.cli import ApplicationFactory
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.run import run_file
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.agents import thinking
from tests.kit.bench import document, step
from tests.kit.tool_servers import LOOK, SEND, ToolServers

pytestmark = pytest.mark.asyncio(loop_scope="module")

SEARCH = document(step("look", "notes.search_notes", {"text": "tax"}), name="Looks")


@pytest_asyncio.fixture(loop_scope="module")
async def shop(shared: ToolServers) -> ToolServers:
    await shared.reset()
    for one in (await shared.ask("POST", "/capabilities/list_models", {}))["connections"]:
        await shared.call("disconnect_model", name=one["name"])
    return shared


def places(result: Any) -> dict[str, str]:
    return {one["pointer"]: one["code"] for one in result["warnings"]}


async def test_what_uses_a_held_back_tool_is_saved_and_activated_with_a_doubt(
    shop: ToolServers,
) -> None:
    one = await shop.connect("notes")
    shop.notes.script.tools[0] = {**LOOK, "description": "Finds notes, and more."}
    await shop.harvest(one)
    validated = await shop.ask("POST", "/validate", SEARCH)
    saved = await shop.ask("POST", "/automations", SEARCH)
    active = await shop.ask("POST", f"/automations/{saved['id']}/activate")
    pattern = thinking("notes.search_notes", "notes.*", name="Both")
    both = await shop.ask("POST", "/validate", pattern)
    await shop.agree(one, "search_notes")
    after = await shop.ask("POST", "/validate", SEARCH)

    for result in (validated, saved, active):
        (doubt,) = (one for one in result["warnings"] if one["code"] == "tool_held_back")
        assert doubt["pointer"] == "/plan/0/action"
        assert doubt["detail"].startswith("notes.search_notes is blocked")
        assert "connections agree notes" in doubt["suggestion"]
    assert [grant["capability"] for grant in validated["grants"]] == ["notes.search_notes"]
    assert places(both)["/plan/0/config/tools/0"] == "tool_held_back"
    assert not after["warnings"]


async def test_a_model_that_cannot_be_asked_is_doubted_where_it_is_named(shop: ToolServers) -> None:
    asking = thinking(name="Asks", model="anthropic/claude-sonnet-4-6")
    alone = await shop.ask("POST", "/validate", asking)
    await shop.call("connect_model", name="anthropic", key="sk-ant-0123456789")
    saved = await shop.ask("POST", "/automations", asking)
    result = {
        name: places(await shop.ask("POST", "/validate", thinking(name="Asks", model=name)))
        for name in ("nowhere/x", "frob nicate!", "anthropic/claude-no-such-1", "{{ inputs.m }}")
    }
    odd = step("odd", "transform_data", {"output": {"action": {}, "config": {"model": "x"}}})
    usual = {**thinking(name="Asks"), "execution": {"model": "gpt-5"}}
    usual["plan"] = [*usual["plan"], odd]
    of_all = await shop.ask("POST", "/validate", usual)
    await shop.ask("POST", f"/automations/{saved['id']}/activate")
    gone = await shop.call("disconnect_model", name="anthropic")
    again = await shop.ask("PUT", f"/automations/{saved['id']}", asking)

    assert places(alone) == {"/plan/0/config/model": "no_model"}
    assert not saved["warnings"]
    assert result == {
        "nowhere/x": {"/plan/0/config/model": "unknown_model"},
        "frob nicate!": {"/plan/0/config/model": "unknown_model"},
        "anthropic/claude-no-such-1": {"/plan/0/config/model": "unknown_price"},
        "{{ inputs.m }}": {},
    }
    assert places(of_all) == {"/execution/model": "unknown_model"}
    assert gone == {"disconnected": True, "needed_by": ["Asks"]}
    assert places(again) == {"/plan/0/config/model": "no_model"}


async def test_running_a_file_shows_the_grants_that_a_pattern_over_tools_gives(
    shop: ToolServers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await shop.connect("notes")
    await shop.call("connect_model", name="anthropic", key="sk-ant-0123456789")
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    file = tmp_path / "agent.json"
    file.write_text(json.dumps(thinking("notes.*", name="Reads notes", model="nowhere/x")))

    @asynccontextmanager
    async def enter(settings: Any) -> AsyncIterator[ApplicationServices]:
        del settings
        yield application_services(shop.application)

    context = CommandContext(ApplicationFactory(enter, build_registry))
    code = await run_file(context, Screen(), str(file), (), None, 30.0, mode="dry_run")
    output = "".join(capsys.readouterr())
    before = output.partition("saved as version")[0]

    # A dry run goes on without the model, and says so.
    assert code == 0, output
    assert "may call notes.search_notes" in before
    assert "/plan/0/config/model" in output
    assert "model is unavailable" in " ".join(output.split())


async def test_what_is_missing_gets_a_remedy_and_no_pattern_matches_what_changes_automations(
    shop: ToolServers,
) -> None:
    await shop.connect("notes")
    names = ("jira.*", "jira.zzz", "notes.nothing_at_all_like_it", "*_automation")
    wrong = (await shop.ask("POST", "/validate", thinking(*names)))["errors"]
    ways = {one["pointer"]: one["suggestion"] for one in wrong}
    everything = await shop.ask("POST", "/validate", thinking("*"))
    granted = {one["capability"] for one in everything["grants"]}
    named = await shop.ask("POST", "/validate", thinking("delete_automation"))

    at = "/plan/0/config/tools"
    assert "connections add URL --alias jira" in ways[f"{at}/0"]
    assert "connections add URL --alias jira" in ways[f"{at}/1"]
    assert "notes.search_notes" in ways[f"{at}/2"]
    assert "delete_automation" in ways[f"{at}/3"]
    assert {"notes.search_notes", "search"} <= granted
    assert not granted & {
        "confirm_action",
        "delete_automation",
        "run_automation_once",
        "save_automation_draft",
        "update_automation",
    }
    assert "delete_automation" in {one["capability"] for one in named["grants"]}


async def test_a_new_token_restores_a_connection_and_keeps_what_was_agreed_to(
    shop: ToolServers,
) -> None:
    one = await shop.connect("notes")
    await shop.ask("PUT", f"/connections/{one}/tools/weather/effect", {"effect": "read"})
    shop.notes.script.tokens = ["tok-new-0123456789"]
    shut = await shop.refused("POST", f"/connections/{one}/harvest")
    empty = await shop.refused("PUT", f"/connections/{one}/token", {"token": ""})
    changed = await shop.ask("PUT", f"/connections/{one}/token", {"token": "tok-new-0123456789"})
    tools = await shop.harvest(one)
    stored = await shop.application.database.fetch("SELECT detail::text AS said FROM audit_log")

    assert "connections token notes" in shut["suggestion"]
    assert empty["errors"][0]["pointer"] == "/token"
    assert changed["connection"]["auth"] == "bearer"
    assert {name: (row["state"], row["effect"]) for name, row in tools.items()} == {
        "search_notes": ("agreed", "read"),
        "send_note": ("agreed", "send"),
        "weather": ("agreed", "read"),
    }
    assert not [row for row in stored if "tok-new" in row["said"]]


async def test_that_a_tool_only_reads_is_asked_for_anew_when_it_is_another(
    shop: ToolServers,
) -> None:
    one = await shop.connect("notes")
    await shop.ask("PUT", f"/connections/{one}/tools/send_note/effect", {"effect": "read"})
    shop.notes.script.tools[1] = {**SEND, "description": "Sends it to everybody."}
    waiting = (await shop.harvest(one))["send_note"]
    await shop.agree(one, "send_note")
    after = (await shop.look(one))["send_note"]

    assert (waiting["state"], waiting["effect"]) == ("changed", "send")
    assert "set it again" in waiting["effect_because"]
    assert (after["state"], after["effect"]) == ("agreed", "send")
    assert "said again" not in after["effect_because"]


async def test_changed_tools_are_asked_about_like_every_other_consent(shop: ToolServers) -> None:
    one = await shop.connect("notes")
    await shop.save(document(step("look", "notes.search_notes", {"text": "a"}), name="Reader"))
    assert (await shop.ask("GET", "/consents"))["consents"] == []
    shop.notes.script.tools[0] = {**LOOK, "description": "Finds notes, and tells me."}
    shop.notes.script.tools[1] = {**SEND, "description": "Sends it to everybody."}
    await shop.harvest(one)
    (asked,) = (await shop.ask("GET", "/consents"))["consents"]
    answer = {"consent_id": one, "digest": asked["digest"], "agree": True}
    by_program = await shop.refused("POST", "/capabilities/answer_consent", answer, program=True)
    gate = shop.application.gate

    async def said(role: Role, **value: Any) -> Any:
        who = CapabilityCaller(Actor(FIRST_WORKSPACE, "member", FIRST_MEMBER, role=role))
        return await gate.direct(who, "answer_consent", {**answer, **value})

    # What may edit may not decide about tools; and what changed again is not what was read.
    with pytest.raises(Problem) as small:
        await said(Role.EDITOR)
    shop.notes.script.tools[1] = {**SEND, "description": "Sends it to me too."}
    await shop.harvest(one)
    with pytest.raises(Problem) as stale:
        await said(Role.OWNER)
    now = await shop.ask("GET", f"/consents/{one}")
    held = await shop.refused("POST", "/capabilities/notes.search_notes", {"text": "b"})
    done = await said(Role.OWNER, digest=now["digest"])
    await shop.call("notes.search_notes", text="c")

    assert (asked["origin"], asked["connection_id"], asked["name"]) == ("tools", one, "notes")
    assert [entry["says"] for entry in asked["additions"]] == [
        "The tool notes.search_notes is not what was agreed to any more. It is used by Reader.",
        "The tool notes.send_note is not what was agreed to any more. No automation uses it.",
    ]
    assert by_program["code"] == "person_needed"
    assert (small.value.status, stale.value.code) == (403, "consent_changed")
    assert now["digest"] in str(stale.value.findings[0].suggestion)
    assert held["code"] == "tool_held_back"
    assert (done["consent"]["status"], done["state"]) == ("agreed", None)
    assert {row["state"] for row in (await shop.look(one)).values()} == {"agreed"}
    assert (await shop.ask("GET", "/consents"))["consents"] == []

    shop.notes.script.tools[0] = {**LOOK, "description": "Again another."}
    await shop.harvest(one)
    (again,) = (await shop.ask("GET", "/consents"))["consents"]
    no = await said(Role.OWNER, digest=again["digest"], agree=False)
    assert no["consent"]["status"] == "refused"
    assert (await shop.look(one))["search_notes"]["state"] == "refused"
