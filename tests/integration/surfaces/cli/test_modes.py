"""``fire`` and ``run`` in a dry run and in verify mode, as a person reads it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.drafts import show_draft, show_drafts
from mainspring.surfaces.cli.fire import fire
from mainspring.surfaces.cli.inbox import show_inbox
from mainspring.surfaces.cli.listings import show_runs
from mainspring.surfaces.cli.run import run_file
from mainspring.surfaces.cli.screen import Screen
from tests.kit.bench import Bench, document, step

PLAN = document(
    step("keep", "automation_kv.set", {"key": "k", "value": 1}),
    step("mail", "send_email", {"to": ["ada@example.com"], "subject": "Hello", "text": "Hi."}),
)


async def _kept(bench: Bench) -> int:
    return int(await bench.application.database.fetchval("SELECT count(*) FROM automation_kv"))


async def test_a_dry_run_of_a_file_says_what_it_did_not_do(
    bench: Bench,
    command_context: CommandContext,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(PLAN))
    await run_file(command_context, Screen(for_programs=False), str(file), (), None, 30, "dry_run")
    text = capsys.readouterr().out
    assert "Dry run: nothing was changed" in text
    assert "2 calls were simulated." in text
    assert "keep: automation_kv.set" in text
    assert "Their results are sample data" in text
    assert await _kept(bench) == 0
    await run_file(command_context, Screen(for_programs=False), str(file), (), None, 30)
    text = capsys.readouterr().out
    assert "dry run" not in text
    assert await _kept(bench) == 1
    assert "drafts   1: " in text
    assert "Outside writes are waiting for approval as drafts" in text
    await _shows_the_draft(command_context, capsys)


async def _shows_the_draft(context: CommandContext, capsys: pytest.CaptureFixture[str]) -> None:
    await show_drafts(context, Screen(for_programs=True), "pending", most=20)
    (draft,) = json.loads(capsys.readouterr().out)["drafts"]
    plain = Screen(for_programs=False)
    await show_drafts(context, plain, None, most=20)
    await show_draft(context, plain, draft["id"])
    await show_inbox(context, plain, unread=False, most=20)
    text = capsys.readouterr().out
    assert text.count(draft["preview"]) == 2
    assert f"step mail of run {draft['run_id']}" in text
    assert f"drafts confirm {draft['id']}" in text
    assert "1 draft waits for approval." in text


async def test_fire_starts_a_trial_and_lists_show_it(
    bench: Bench, command_context: CommandContext, capsys: pytest.CaptureFixture[str]
) -> None:
    saved = await bench.save(PLAN)
    screen = Screen(for_programs=True)
    async with bench.worker():
        await fire(
            command_context,
            screen,
            str(saved.automation_id),
            (),
            None,
            mode="verify",
            wait=True,
            seconds=30,
        )
    answer = json.loads(capsys.readouterr().out)
    assert answer["mode"] == "verify"
    assert [one["step"] for one in answer["story"]["suppressed"]] == ["mail"]
    await show_runs(
        command_context, Screen(for_programs=False), status=None, automation=None, limit=20
    )
    assert "verify mode" in capsys.readouterr().out
