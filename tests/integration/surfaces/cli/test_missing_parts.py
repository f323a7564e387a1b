"""Missing parts on the command line: validate and doctor name them, activation is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from mainspring.app import application_services
from mainspring.contracts.errors import Conflict
from mainspring.surfaces.cli import run_cli
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.doctor import automation_parts
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.bench import Bench, document, step

KEY = "xoxb-1234567890-" + "a" * 24
POST = step("post", "slack_post", {"channel": "#a", "text": "hello"})


async def test_activate_refuses_what_cannot_run(
    bench: Bench, command_context: CommandContext, screen: Screen
) -> None:
    await bench.save(document(POST, name="Digest"))
    with pytest.raises(Conflict) as refused:
        await change_state(command_context, screen, "activate", "Digest")
    assert refused.value.code == "parts_missing"
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", "xoxb-1")
    await change_state(command_context, screen, "activate", "Digest")


async def test_doctor_names_an_active_automation_whose_part_went_missing(
    bench: Bench, command_context: CommandContext, screen: Screen
) -> None:
    await bench.save(document(POST, name="Digest"))
    services = application_services(bench.application)
    await bench.application.vault.set(bench.secret_scope, "slack_bot_token", "xoxb-1")
    await change_state(command_context, screen, "activate", "Digest")
    assert (await automation_parts(services)).verdict == "ok"
    await bench.application.database.execute("DELETE FROM secrets WHERE name = 'slack_bot_token'")
    check = await automation_parts(services)
    assert check.verdict == "doubtful"
    assert "Digest (Slack is not connected" in check.detail
    assert check.suggestion is not None
    assert "integrations connect slack" in check.suggestion


async def test_validate_reports_what_saving_would(command: Command, tmp_path: Path) -> None:
    expected = {
        "not_connected",
        "mail_not_set_up",
        "address_not_public",
        "credential_literal",
        "no_model",
    }
    file = tmp_path / "digest.json"
    file.write_text(
        json.dumps(
            document(
                POST,
                step("mail", "email.notify_owner", {"subject": "Digest", "text": "hello"}),
                step("get", "http_fetch", {"url": "http://10.0.0.8/x"}),
                step("think", "agent_task", {"prompt": "Say hello.", "tools": []}),
                step("key", "notification", {"title": "Key", "message_template": KEY}),
            )
        )
    )
    code, said = await command("validate", str(file), "--json")
    assert code == 0, said
    answer = json.loads(said)
    assert answer["checked"] == "workspace"
    assert expected <= {one["code"] for one in answer["files"][0]["warnings"]}
    code, said = await command("validate", str(file))
    assert code == 0
    assert "Slack is not connected" in " ".join(said.split())
    assert "Only the definition was checked" not in said


async def test_validate_refuses_a_tool_that_the_workspace_does_not_have(
    command: Command, tmp_path: Path
) -> None:
    file = tmp_path / "tool.json"
    file.write_text(json.dumps(document(step("look", "nowhere.lookup", {}))))
    code, said = await command("validate", str(file))
    assert code == 2
    assert "nowhere.lookup" in said


def test_validate_says_when_only_the_definition_was_checked(
    app: typer.Typer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home, file = tmp_path / "nowhere", tmp_path / "digest.json"
    monkeypatch.setenv("MAINSPRING_HOME", str(home))
    file.write_text(json.dumps(document(POST)))
    assert run_cli(app, ["validate", str(file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert f"Only the definition was checked. There is no data folder at {home} yet" in said
    assert run_cli(app, ["validate", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["checked"], answer["files"][0]["warnings"]) == ("definition", [])
    assert not home.exists()


def test_validate_gives_the_reason_why_a_database_could_not_be_asked(
    app: typer.Typer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "digest.json"
    file.write_text(json.dumps(document(POST)))
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MAINSPRING_DATABASE_URL", "postgresql://nobody@127.0.0.1:1/none")
    assert run_cli(app, ["validate", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["checked"] == "definition"
    assert "127.0.0.1" in answer["reason"]
