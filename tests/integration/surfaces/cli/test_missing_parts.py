"""Missing parts on the command line: activation is refused, and doctor names what is active."""

from __future__ import annotations

import pytest

from mainspring.app import application_services
from mainspring.contracts.errors import Conflict
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.doctor import automation_parts
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from tests.kit.bench import Bench, document, step

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
