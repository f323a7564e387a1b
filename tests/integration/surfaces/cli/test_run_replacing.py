"""``run`` next to an automation of the same name: what it keeps, what it refuses, what it says."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mainspring.app import build_registry
from mainspring.contracts.errors import Conflict, ConsentRequired, Invalid
from mainspring.settings import Settings
from mainspring.surfaces.cli import ApplicationFactory, exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.fire import replay_run
from mainspring.surfaces.cli.lookup import find_automation
from mainspring.surfaces.cli.run import retry, run_file
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.services import ApplicationServices
from mainspring.workspace.automation_list import read_automation
from mainspring.workspace.automations import set_state
from tests.kit.bench import Bench, document, step
from tests.kit.terminals import yes

CRON = {"id": "daily", "type": "schedule", "config": {"cron": "0 7 * * *", "timezone": "UTC"}}
PLAN = document(step("a", "transform_data", {"output": 1}), name="Log invoices", triggers=[CRON])
GRANTED = document(
    step("s", "script", {"source": "return 1;", "grants": [{"tool": "list_boards"}]}),
    name="Log invoices",
)
BARE = document(step("a", "transform_data", {"output": 1}), name="Log invoices")


def _script(folder: Path, source: str = "return 2;") -> str:
    file = folder / "Log invoices.ts"
    file.write_text(source)
    return str(file)


def _json(folder: Path, plan: dict[str, Any]) -> str:
    file = folder / "plan.json"
    file.write_text(json.dumps(plan))
    return str(file)


async def _state(bench: Bench, automation_id: Any) -> dict[str, Any]:
    application = bench.application
    async with application.database.acquire() as connection:
        return await read_automation(connection, application.workspace_id, automation_id)


async def _runs(bench: Bench) -> int:
    return int(await bench.application.database.fetchval("SELECT count(*) FROM runs"))


@pytest.mark.parametrize(
    ("there", "active", "why"),
    [
        (BARE, True, "It is active"),
        (PLAN, True, "It is active"),
        (PLAN, False, "triggers that this file does not have: daily"),
        (GRANTED, False, "written grants that this file does not have: list_boards"),
    ],
)
async def test_a_file_that_runs_never_replaces_what_others_count_on(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    there: dict[str, Any],
    active: bool,
    why: str,
) -> None:
    saved = await bench.save(there)
    if active:
        async with bench.application.database.transaction() as tx:
            await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    before = await _state(bench, saved.automation_id)
    other = document(step("b", "transform_data", {"output": 3}), name="Log invoices")

    for file in (_script(tmp_path), _json(tmp_path, other)):
        with pytest.raises(Conflict) as refused:
            await run_file(
                command_context, Screen(for_programs=False), file, (), None, 30, "dry_run"
            )
        assert why in refused.value.detail
        assert refused.value.suggestion is not None
        assert " save " in refused.value.suggestion
        assert " --name OTHER " in refused.value.suggestion

    odd = tmp_path / "odd.ts"
    odd.write_text("return 4;")
    with pytest.raises(Conflict) as refused:
        await run_file(
            command_context,
            Screen(for_programs=True),
            str(odd),
            (),
            None,
            30,
            "live",
            "Log invoices",
        )
    assert "--to 'Log invoices' replaces it" in str(refused.value.suggestion)
    assert await _state(bench, saved.automation_id) == before
    assert await _runs(bench) == 0


async def test_the_same_file_under_another_name_runs_while_the_first_is_active(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved = await bench.save(PLAN)
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, saved.automation_id, "active")
    before = await _state(bench, saved.automation_id)

    await run_file(command_context, screen, _json(tmp_path, PLAN), (), None, 30, "dry_run")
    same = json.loads(capsys.readouterr().out)
    assert (same["automation"], same["version"], same["saved_version"]) == ("Log invoices", 1, None)

    await run_file(command_context, screen, _script(tmp_path), (), None, 30, "dry_run", "Another")
    other = json.loads(capsys.readouterr().out)
    assert (other["automation"], other["saved_version"]) == ("Another", 1)
    after = await _state(bench, saved.automation_id)
    assert {**after, "last_run": None} == {**before, "last_run": None}


async def test_a_new_version_is_said_before_the_run_and_by_the_end_of_a_dry_run(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    await bench.save(BARE)
    changed = document(step("b", "transform_data", {"output": 3}), name="Log invoices")
    plain, file = Screen(for_programs=False), _json(tmp_path, changed)

    await run_file(command_context, plain, file, (), None, 30, "dry_run")
    first, _, closing = capsys.readouterr().out.partition("Dry run: nothing was changed")
    assert "  saved as version 2 of Log invoices\n" in first
    assert "the file was saved as version 2 of Log invoices; that stays." in closing

    await run_file(command_context, plain, file, (), None, 30, "dry_run")
    assert "saved as version" not in capsys.readouterr().out

    bare = _json(tmp_path, BARE)
    await run_file(command_context, Screen(for_programs=True), bare, (), None, 30, "dry_run")
    assert json.loads(capsys.readouterr().out)["saved_version"] == 3


async def test_run_shows_the_warnings_that_save_shows(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del bench
    url = {"url": "https://api.example.com/", "headers": {"Authorization": "{{ secrets.prices }}"}}
    file = _json(tmp_path, document(step("a", "http_fetch", url), name="Prices"))

    await run_file(command_context, Screen(for_programs=False), file, (), None, 30, "dry_run")
    assert (
        ": The automation's owner has no secret called prices."
        in (capsys.readouterr().out.partition("→ a")[0])
    )

    await run_file(command_context, Screen(for_programs=True), file, (), None, 30, "dry_run")
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert "no secret called prices" in warning["detail"]


async def test_a_script_that_returns_nothing_has_run(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    del bench
    file = _script(tmp_path, 'console.log("here");')

    code = await run_file(command_context, Screen(for_programs=False), file, (), None, 30)

    text = capsys.readouterr().out
    assert code == exits.DONE
    assert "Succeeded" in text
    assert "It finished without a result and changed nothing." in text
    assert "skipped" not in text


@pytest.mark.parametrize("name", ["", "x" * 201, "\udcff"])
async def test_a_name_that_is_none_is_refused(
    command_context: CommandContext, tmp_path: Path, name: str
) -> None:
    with pytest.raises(Invalid, match="The name must be text") as refused:
        await run_file(
            command_context,
            Screen(for_programs=False),
            _script(tmp_path),
            (),
            None,
            30,
            "live",
            name,
        )
    assert refused.value.findings[0].pointer == "/name"


async def test_without_a_terminal_a_file_runs_and_what_is_active_stays_so(
    bench: Bench,
    services: ApplicationServices,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield replace(services, by_program=True)

    alone, file = CommandContext(ApplicationFactory(enter, build_registry)), _json(tmp_path, PLAN)
    assert await run_file(alone, screen, file, (), None, 30, "live") == exits.DONE
    made = json.loads(capsys.readouterr().out)
    assert (made["status"], made["mode"], made["saved_version"]) == ("succeeded", "live", 1)
    # That it ran once is no agreement to what it may do from now on.
    automation_id = (await find_automation(services, "Log invoices"))["id"]
    assert (await _state(bench, automation_id))["agreed"] is None
    with pytest.raises(Conflict) as refused:
        await change_state(alone, screen, "activate", "Log invoices")
    assert refused.value.code == "consent_needed"

    assert (
        await change_state(command_context, Screen(), "activate", "Log invoices", ask=yes)
        == exits.DONE
    )
    before = await _state(bench, automation_id)
    assert before["state"] == "active"
    capsys.readouterr()
    assert await run_file(alone, screen, file, (), None, 30, "live") == exits.DONE
    assert json.loads(capsys.readouterr().out)["saved_version"] is None
    after = await _state(bench, automation_id)
    assert {**after, "last_run": None} == {**before, "last_run": None}


@pytest.fixture
def alone(services: ApplicationServices) -> CommandContext:
    """A command without a terminal."""

    @asynccontextmanager
    async def enter(settings: Settings) -> AsyncIterator[ApplicationServices]:
        del settings
        yield replace(services, by_program=True)

    return CommandContext(ApplicationFactory(enter, build_registry))


FAILS = step("get", "http_fetch", {"url": "http://127.0.0.1:9/"})


async def test_a_file_that_a_program_runs_again_and_again_leaves_one_question(
    bench: Bench, alone: CommandContext, screen: Screen, tmp_path: Path
) -> None:
    ids, digests, versions = set(), set(), []
    for goal in ("One", "One", "Two", "Three"):
        plan = document(FAILS, name="Mine", goal=goal)
        await run_file(alone, screen, _json(tmp_path, plan), (), None, 30, "live")
        rows = await bench.application.database.fetch(
            "SELECT id, status, version, digest FROM consents"
        )
        assert [one["status"] for one in rows] == ["waiting"], goal
        ids.add(rows[0]["id"])
        digests.add(rows[0]["digest"])
        versions.append(rows[0]["version"])
    # The digest names the version, so that nobody agrees to another one than they read.
    assert (len(ids), len(digests), versions) == (1, 3, [1, 1, 2, 3])
    # The owner wanted to run it, and is not asked in the inbox for that.
    assert await bench.application.database.fetchval("SELECT count(*) FROM notifications") == 0

    wider = document(FAILS, step("n", "list_boards", {}), name="Mine")
    await run_file(alone, screen, _json(tmp_path, wider), (), None, 30, "live")
    rows = await bench.application.database.fetch("SELECT id, status FROM consents ORDER BY id")
    assert [one["status"] for one in rows] == ["overtaken", "waiting"]


async def test_a_run_of_a_file_is_retried_without_a_terminal_as_it_was_started(
    bench: Bench,
    alone: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = _json(tmp_path, document(FAILS, name="Mine"))
    assert await run_file(alone, screen, file, (), None, 30, "live") == exits.BLOCKED
    run_id = json.loads(capsys.readouterr().out)["id"]
    assert await retry(alone, screen, run_id, wait=True, seconds=30) == exits.BLOCKED
    again = json.loads(capsys.readouterr().out)
    assert (again["id"], again["status"]) == (run_id, "failed")
    assert again["error"]["code"] == "address_not_public"

    # A replay is a new run: it waits for the answer to the question that is open.
    with pytest.raises(ConsentRequired) as refused:
        await replay_run(alone, screen, run_id, None, version="same", wait=False, seconds=1)
    (consent,) = await bench.application.database.fetch("SELECT id, digest FROM consents")
    assert refused.value.consent["consent_id"] == str(consent["id"])
    assert refused.value.consent["digest"] == consent["digest"].hex()

    # The version in force is what a file may run; an older one may do more than that.
    other = document(step("a", "transform_data", {"output": 1}), name="Mine")
    await run_file(alone, screen, _json(tmp_path, other), (), None, 30, "live")
    with pytest.raises(ConsentRequired) as refused:
        await retry(alone, screen, run_id, wait=False, seconds=1)
    assert "127.0.0.1:9" in str(refused.value.findings)
    assert refused.value.consent["url"] == f"/runs/{run_id}"
