"""Drafts answered by commands: confirmed, failed, discarded, and found by their first letters."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.context import Actor
from mainspring.contracts.errors import Clash, Missing
from mainspring.contracts.roles import Role
from mainspring.gate.direct import Visitor
from mainspring.settings import Settings
from mainspring.surfaces.cli import Doors, exits
from mainspring.surfaces.cli.desk import Desk
from mainspring.surfaces.cli.drafts import confirm_draft, discard_draft, show_draft
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.rooms import Rooms
from mainspring.wiring import build_registry, rooms_of
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.house import Bench
from tests.kit.sending import outside_bench

MAIL = {"to": ["ada@example.com"], "subject": "Hello", "text": "Hi."}


async def _held(bench: Bench, capability: str, arguments: dict[str, Any]) -> str:
    owner = Visitor(Actor(bench.house.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER))
    return str((await bench.house.gate.direct(owner, capability, arguments))["draft_id"])


async def test_a_person_confirms_and_discards_by_command(
    bench: Bench, desk: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    sent, dropped = [await _held(bench, "test.mail", {"mark": mark}) for mark in ("yes", "no")]
    waiting = await _held(bench, "send_email", MAIL)
    plain = Screen(for_programs=False)

    with pytest.raises(Missing):
        await confirm_draft(desk, plain, "ffffffff")
    assert await confirm_draft(desk, plain, sent.replace("-", "")) == exits.DONE
    assert "Send yes." in (said := capsys.readouterr().out)
    assert "It was sent." in said
    assert bench.outside.keys == {f"draft/{sent}": 1}
    # There is no mail server here, which it says, and how one is set; the draft waits on.
    for _ in range(2):
        with pytest.raises(Clash) as refused:
            await confirm_draft(desk, plain, waiting)
        assert "MAINSPRING_SMTP_URL" in str(refused.value.suggestion)
    await show_draft(desk, plain, waiting)
    assert "pending" in capsys.readouterr().out
    assert await discard_draft(desk, plain, dropped, "Not this one.") == exits.DONE
    with pytest.raises(Clash):
        await confirm_draft(desk, plain, dropped)
    await show_draft(desk, plain, dropped)
    assert "discarded" in capsys.readouterr().out
    assert bench.outside.order == ["yes"]


async def test_what_could_not_be_sent_is_told_and_not_tried_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("MAINSPRING_HOME", str(tmp_path))
    async with outside_bench(bench, free=False, smtp_url="smtp://127.0.0.1:1") as nowhere:

        @asynccontextmanager
        async def enter(settings: Settings) -> AsyncIterator[Rooms]:
            del settings
            yield rooms_of(nowhere.house)

        desk = Desk(Doors(enter, build_registry))
        # No mail can have a subject of two lines.
        failing = await _held(nowhere, "send_email", {**MAIL, "subject": "a\nb"})
        for programs in (False, True):
            screen = Screen(for_programs=programs)
            assert await confirm_draft(desk, screen, failing) == exits.FAILED
    said, _, shown = capsys.readouterr().out.partition("{")
    assert "Nothing was sent." in said
    assert json.loads("{" + shown)["error"]["code"] == "mail_invalid"
