"""What commands change is in the audit log, with the owner of this machine as who did it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.audit import read_query, show_audit
from mainspring.surfaces.cli.automations import go_back, save_file
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.events import tell, tell_once_more
from mainspring.surfaces.cli.export_import import bring_in
from mainspring.surfaces.cli.fire import fire, replay_run
from mainspring.surfaces.cli.inbox import read_messages
from mainspring.surfaces.cli.runs import cancel
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.states import change_state
from mainspring.surfaces.cli.webhooks import end_token, make_token
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.bench import document, step

ANSWER = step("answer", "transform_data", {"output": {"n": 42}})
HOOK = {"id": "hook", "type": "webhook"}


def _write(path: Path, name: str, goal: str = "Show it.") -> str:
    path.write_text(json.dumps({**document(ANSWER, name=name, triggers=[HOOK]), "goal": goal}))
    return str(path)


async def _entries(
    context: CommandContext, capsys: pytest.CaptureFixture[str], **sought: Any
) -> list[dict[str, Any]]:
    capsys.readouterr()
    screen = Screen(for_programs=True)
    assert await show_audit(context, screen, limit=100, **sought) == exits.DONE
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["entries"]
    return found


@pytest.mark.parametrize(
    "words",
    [
        {"since": "yesterday"},
        {"before": "2026-01-01"},
        {"since": "0001-01-01T00:00:00+14:00"},
        {"action": ""},
    ],
)
def test_a_bad_question_is_refused_before_anything_is_opened(words: dict[str, str]) -> None:
    asked = {"action": None, "since": None, "before": None, **words}

    with pytest.raises(Invalid):
        read_query(**asked)


async def test_every_command_that_changes_something_leaves_an_entry(
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    file = _write(tmp_path / "one.json", "One")
    waiting: dict[str, Any] = {"wait": False, "seconds": None}
    for _ in range(2):
        # The second time there is nothing to save, and so nothing to tell.
        await save_file(command_context, screen, file, None)
    await save_file(
        command_context, screen, _write(tmp_path / "two.json", "One", "Show more."), None
    )
    await go_back(command_context, screen, "One", 1)
    for act in ("activate", "pause", "acknowledge"):
        await change_state(command_context, screen, act, "One")
    await make_token(command_context, screen, "One", None)
    await end_token(command_context, screen, "One", None)
    await fire(command_context, screen, "One", (), None, **waiting)
    await replay_run(command_context, screen, "last", None, version="same", **waiting)
    await cancel(command_context, screen, "last")
    await bring_in(command_context, screen, _write(tmp_path / "three.json", "Three"), "refuse")
    capsys.readouterr()
    await tell(command_context, screen, "things.made", None, "here")
    event = json.loads(capsys.readouterr().out)["id"]
    await tell_once_more(command_context, screen, event)
    await read_messages(command_context, screen, None, everything=True)
    for act in ("archive", "restore"):
        await change_state(command_context, screen, act, "One")

    entries = await _entries(command_context, capsys)

    assert [entry["action"] for entry in reversed(entries)] == [
        "create_automation",
        "update_automation",
        "roll_back",
        "activate_automation",
        "pause_automation",
        "acknowledge_automation",
        "make_webhook_token",
        "end_webhook_token",
        "run_automation",
        "replay_run",
        "cancel_run",
        "import_automations",
        "post_event",
        "replay_event",
        "read_all_messages",
        "archive_automation",
        "restore_automation",
    ]
    assert {(entry["actor_kind"], entry["actor_id"]) for entry in entries} == {
        ("member", str(FIRST_MEMBER))
    }
    assert "mwh_" not in json.dumps(entries)
    assert [
        entry["subject"] for entry in await _entries(command_context, capsys, action="replay_event")
    ] == [event]


async def test_a_command_that_fails_leaves_none(
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    await save_file(command_context, screen, _write(tmp_path / "one.json", "One"), None)
    with pytest.raises(Exception, match="version"):
        await go_back(command_context, screen, "One", 7)

    assert [e["action"] for e in await _entries(command_context, capsys)] == ["create_automation"]


async def test_a_person_sees_when_who_and_what(
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    await save_file(command_context, screen, _write(tmp_path / "one.json", "One"), None)
    capsys.readouterr()

    assert await show_audit(command_context, Screen(no_color=True), limit=5) == exits.DONE
    shown = capsys.readouterr().out
    assert await show_audit(command_context, Screen(), action="nothing", limit=5) == exits.DONE

    assert shown.splitlines()[0].split()[:4] == ["When", "Who", "Action", "Subject"]
    assert "create_automation" in shown
    assert capsys.readouterr().out.strip() == "There are no such entries."
