"""Links that commands print lead to the server that is running, whatever port it was given."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mainspring.settings import Settings
from mainspring.surfaces.cli.running_server import hold_data_folder
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.bench import Bench, document, step

REMIND = "every Monday at 9 Berlin time remind me to send the invoices"
USUAL = "http://127.0.0.1:8420"


@pytest.fixture
def running(bench: Bench) -> Settings:
    """A server that was started with --port on the data folder of the commands."""
    return replace(bench.application.settings, port=8_499)


async def test_saved_and_similar_automations_are_linked_at_the_running_server(
    running: Settings, command: Command
) -> None:
    with hold_data_folder(running):
        code, made = await command("new", REMIND, "--by", "rules", "--json")
        assert code == 0, made
        name = json.loads(made)["proposal_id"]
        code, saved = await command("proposals", "save", name, "--yes", answers=["y"])
        assert code == 0, saved
        code, similar = await command("new", REMIND, "--by", "rules")
        assert code == 0, similar

    assert f"{running.listening}/automations/" in saved
    assert "Already there" in similar
    assert f"{running.listening}/automations/" in similar
    assert USUAL not in saved + similar


async def test_links_follow_the_settings_where_no_server_is_running(command: Command) -> None:
    code, saved = await command("new", REMIND, "--by", "rules", "--save", answers=["y"])

    assert code == 0, saved
    assert f"{USUAL}/automations/" in saved


async def test_a_public_address_outranks_the_recorded_one(
    running: Settings, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAINSPRING_PUBLIC_URL", "https://mainspring.example")
    with hold_data_folder(running):
        code, saved = await command("new", REMIND, "--by", "rules", "--save", answers=["y"])

    assert code == 0, saved
    assert "https://mainspring.example/automations/" in saved
    assert running.listening not in saved


PLAN = document(step("get", "http_fetch", {"url": "https://a.example/"}), name="Asked about")


async def test_a_command_without_a_terminal_names_the_page_and_the_command_of_a_person(
    bench: Bench, running: Settings, command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(PLAN))
    with hold_data_folder(running):
        saved = await command("save", str(file))
        (asked,) = await bench.application.database.fetch("SELECT id, automation_id FROM consents")
        page = f"{running.listening}/automations/{asked['automation_id']}"
        typed = f"mainspring consents agree {asked['id']}"
        started = [await command(act, "Asked about") for act in ("activate", "fire")]
        code, result = await command("save", str(file), "--json")
        assert (code, json.loads(result)["consent"]["url"]) == (0, page)
        for act in ("activate", "fire"):
            code, result = await command(act, "Asked about", "--json")
            problem = json.loads(result)
            assert (code, problem["code"], problem["consent"]["url"]) == (1, "consent_needed", page)
            assert typed in problem["suggestion"]
        # What is printed is what works.
        code, agreed = await command(*typed.split()[1:], answers=["y"])
        assert code == 0, agreed

    assert saved[0] == 0
    assert [code for code, _ in started] == [1, 1]
    for _, output in (saved, *started):
        assert page in output
        assert typed in output


async def test_a_person_activates_what_was_never_asked_about(
    bench: Bench, command: Command
) -> None:
    saved = await bench.save(PLAN)
    await bench.application.database.execute(
        "UPDATE automations SET agreed_version = NULL, agreed_by = NULL, agreed_via = NULL"
    )
    code, result = await command("activate", "Asked about", "--json")
    problem = json.loads(result)
    typed = f"mainspring consents agree {problem['consent']['consent_id']}"
    assert (code, typed in problem["suggestion"]) == (1, True), result
    code, output = await command("activate", str(saved.automation_id), answers=["y"])
    assert code == 0, output
    assert "a.example" in output
    assert "is active" in output
