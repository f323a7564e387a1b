"""What an automation costs is said where it is shown, and before it is set going."""

from __future__ import annotations

import json

import pytest

from mainspring.contracts.errors import Conflict
from mainspring.surfaces.cli.automation_view import show_automation
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from tests.kit.bench import Bench, document, step

# No model is connected here: a step that always asks one would block the activation.
SAY = step("say", "transform_data", {"output": {"a": "b"}})
ASK = {
    **step("ask", "automation_llm_complete", {"prompt": "Hello"}),
    "when": "{{ steps.say.a == 'c' }}",
}
DAILY = {"id": "daily", "type": "schedule", "config": {"cron": "0 9 * * *", "timezone": "UTC"}}
PRICE = "What it costs is not known before it runs; at most $6 by its caps in 30 days on its"


async def test_the_price_is_shown_and_is_said_before_anything_is_set_going(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caps = {"budget_cap_usd": "0.2", "cost_cap_daily_usd": 1}
    await bench.save(document(SAY, ASK, name="Priced", triggers=[DAILY], execution=caps))

    await show_automation(command_context, Screen(), "Priced")
    assert f"  {PRICE}" in capsys.readouterr().out
    await show_automation(command_context, screen, "Priced")
    shown = json.loads(capsys.readouterr().out)["forecast"]
    assert shown["sentence"].startswith(PRICE)

    # One that is refused was priced all the same: the price comes first.
    await change_state(command_context, screen, "archive", "Priced")
    capsys.readouterr()
    with pytest.raises(Conflict):
        await change_state(command_context, Screen(), "activate", "Priced")
    assert capsys.readouterr().out.startswith(PRICE)
    await change_state(command_context, screen, "restore", "Priced")
    capsys.readouterr()

    await change_state(command_context, Screen(), "activate", "Priced")
    first, second, *rest = capsys.readouterr().out.splitlines()
    assert first.startswith(PRICE)
    assert "Priced is active." in second
    assert not any("by its caps" in line for line in rest)
    await change_state(command_context, screen, "activate", "Priced")
    assert json.loads(capsys.readouterr().out)["forecast"] == shown
