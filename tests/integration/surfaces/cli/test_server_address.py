"""Links that commands print lead to the server that is running, whatever port it was given."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from mainspring.settings import Settings
from mainspring.surfaces.cli.standing import take_place
from tests.integration.surfaces.cli.conftest import Command
from tests.kit.house import Bench

REMIND = "every Monday at 9 Berlin time remind me to send the invoices"
USUAL = "http://127.0.0.1:8420"


@pytest.fixture
def running(bench: Bench) -> Settings:
    """A server that was started with --port on the data folder of the commands."""
    return replace(bench.house.settings, port=8_499)


async def test_saved_and_similar_automations_are_linked_at_the_running_server(
    running: Settings, command: Command
) -> None:
    with take_place(running):
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
    with take_place(running):
        code, saved = await command("new", REMIND, "--by", "rules", "--save", answers=["y"])

    assert code == 0, saved
    assert "https://mainspring.example/automations/" in saved
    assert running.listening not in saved
