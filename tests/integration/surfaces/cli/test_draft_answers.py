"""Drafts answered by commands: confirmed, failed, discarded, and found by their first letters."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Clash, Missing
from mainspring.contracts.roles import Role
from mainspring.gate.direct import Visitor
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.desk import Desk
from mainspring.surfaces.cli.drafts import confirm_draft, discard_draft, show_draft
from mainspring.surfaces.cli.screen import Screen
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.house import Bench

MAIL = {"to": ["ada@example.com"], "subject": "Hello", "text": "Hi."}


async def _held(bench: Bench, capability: str, arguments: dict[str, Any]) -> str:
    owner = Visitor(Actor(bench.house.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER))
    return str((await bench.house.gate.direct(owner, capability, arguments))["draft_id"])


async def test_a_person_confirms_and_discards_by_command(
    bench: Bench, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, dropped = [await _held(bench, "test.mail", {"mark": mark}) for mark in ("yes", "no")]
    failing = await _held(bench, "send_email", MAIL)
    plain, for_programs = Screen(for_programs=False), Screen(for_programs=True)

    with pytest.raises(Missing):
        await confirm_draft(desk, plain, "ffffffff")
    assert await confirm_draft(desk, plain, sent.replace("-", "")) == exits.DONE
    assert "Send yes." in (said := capsys.readouterr().out)
    assert "It was sent." in said
    assert bench.outside.keys == {f"draft/{sent}": 1}
    # There is no mail server here, which it says; it is not tried again.
    for screen in (plain, for_programs):
        assert await confirm_draft(desk, screen, failing) == exits.FAILED
    said, _, shown = capsys.readouterr().out.partition("{")
    assert "Nothing was sent." in said
    assert json.loads("{" + shown)["error"]["code"] == "mail_not_set_up"
    assert await discard_draft(desk, plain, dropped, "Not this one.") == exits.DONE
    with pytest.raises(Clash):
        await confirm_draft(desk, plain, dropped)
    await show_draft(desk, plain, dropped)
    assert "discarded" in capsys.readouterr().out
    assert bench.outside.order == ["yes"]
