"""``webhook deliveries`` and ``webhook redeliver``."""

from __future__ import annotations

from uuid import UUID

import pytest

from mainspring.contracts.errors import NotFound
from mainspring.runs.run_requests import RunRequest
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.cli.webhook_deliveries import redeliver, show_deliveries
from mainspring.workspace.automations import read_triggers
from tests.kit.bench import Bench, document, step

PAYLOAD = {"method": "POST", "event": "push", "headers": {"x-trace": "t-1"}, "body": {}}


async def _delivered(bench: Bench, context: CommandContext) -> UUID:
    """A run that a request started."""
    config = {"auth": {"type": "bearer"}}
    triggers = [{"id": "hook", "type": "webhook", "config": config}]
    plan = step("echo", "transform_data", {"output": "{{ trigger }}"})
    saved = await bench.save(document(plan, name="One", triggers=triggers))
    await change_state(context, Screen(), "activate", "One")
    space = bench.application.workspace_id
    async with bench.application.database.acquire() as connection:
        (row,) = await read_triggers(connection, space, saved.automation_id)
    request = RunRequest(space, saved.automation_id, "webhook", row["id"], payload=PAYLOAD)
    return (await bench.application.dispatcher.dispatch(request)).run_id


async def test_requests_are_listed_and_delivered_again(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    run_id = await _delivered(bench, command_context)
    capsys.readouterr()

    code = await redeliver(command_context, Screen(), "One", None, str(run_id))
    assert code == exits.DONE
    assert "The request was delivered again." in capsys.readouterr().out

    await show_deliveries(command_context, Screen(), "One", None, limit=10)
    shown = capsys.readouterr().out
    assert f"POST  push  (redelivery of {run_id})" in shown
    assert shown.count("    x-trace: t-1") == 2


async def test_a_run_of_another_trigger_is_no_delivery(
    bench: Bench, command_context: CommandContext
) -> None:
    run_id = await _delivered(bench, command_context)
    await bench.application.database.execute("UPDATE runs SET trigger_id = NULL")
    with pytest.raises(NotFound, match="no such delivery"):
        await redeliver(command_context, Screen(), "One", None, str(run_id))
