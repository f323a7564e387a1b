"""``mainspring workflows``: made, switched, told of, and ended from a terminal."""

from __future__ import annotations

import json

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli.workflows import read_deadline, read_kpi, read_number
from tests.integration.surfaces.cli.conftest import Command


def test_words_become_numbers_and_days_or_are_refused() -> None:
    assert read_kpi("a=b=12.5") == {"name": "a=b", "target": 12.5}
    assert read_deadline("Beta=2026-12-31") == {"label": "Beta", "date": "2026-12-31"}
    assert repr(read_number("12", "x")) == "12"
    for text in ("Sales", "=1", "Sales=many", "Sales=nan", "Sales=inf", "Sales="):
        with pytest.raises(Invalid):
            read_kpi(text)
    with pytest.raises(Invalid):
        read_deadline("Beta")


async def test_a_workflow_from_a_terminal(command: Command) -> None:
    assert "workflows create TITLE" in (await command("workflows", "list"))[1]
    wrong = await command("workflows", "create", "Launch", "--kpi", "Sales=many")
    assert wrong[0] == 2
    assert "no number" in wrong[1]
    # A person makes it, and agrees with that to the automation that comes along.
    created = await command(
        "workflows",
        "create",
        "Launch",
        "--kpi",
        "Sales=100",
        "--deadline",
        "Beta=2030-12-31",
        "--template",
        "progress_scorer",
        answers=[],
    )
    assert created[0] == 0, created[1]
    (made,) = json.loads((await command("workflows", "list", "--json"))[1])["workflows"]
    late = await command("workflows", "create", "Late", "--deadline", "Beta=2026-02-30")
    assert late[0] != 0
    assert "--deadline Beta=2026-02-30" in late[1]
    assert made["status"] == "draft"
    assert "1 automation activated" in (await command("workflows", "status", "Launch", "active"))[1]
    assert "12.5 of 100" in (await command("workflows", "kpi", "set", "Launch", "Sales", "12.5"))[1]
    assert "no number" in (await command("workflows", "kpi", "set", "Launch", "Sales", "x"))[1]
    assert "Costs" in (await command("workflows", "kpi", "set", "Launch", "Costs", "1"))[1]
    shown = (await command("workflows", "show", made["id"]))[1]
    for words in ("Launch", "Sales: 12.5 of 100", "2030-12-31  Beta", "Launch: progress  active"):
        assert words in shown
    listed = (await command("workflows", "list", "--status", "active"))[1].splitlines()
    assert listed[0].split() == ["Id", "Title", "Status", "KPIs", "Automations"]
    assert "workflows list" in (await command("workflows", "show", "Nosuch"))[1]
    gone = await command("workflows", "delete", "Launch")
    assert "1 automation archived. Its board stays." in gone[1]
    assert json.loads((await command("workflows", "list", "--json"))[1]) == {"workflows": []}
