"""Halts and workers by command, and a worker that is drained: it finishes, and leaves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from mainspring.contracts.errors import Invalid, NotFound
from mainspring.runs.fleet import read_signals
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.automation_view import show_automation
from mainspring.surfaces.cli.context import CommandContext
from mainspring.surfaces.cli.fire import fire
from mainspring.surfaces.cli.listings import show_runs
from mainspring.surfaces.cli.operating import (
    HaltSelection,
    drain_workers,
    halt,
    release,
    show_halts,
    show_workers,
)
from mainspring.surfaces.cli.runs import show_logs
from mainspring.surfaces.cli.screen import Screen
from tests.kit.bench import Bench, document, step
from tests.kit.processes import ROOT


def _answer(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


async def test_halting_by_command(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    people = Screen()
    await bench.save(document(step("a", "test.echo"), name="Digest"))
    for wish, reason in (
        (HaltSelection(), "why"),
        (HaltSelection(automation="Digest", whole=True), "why"),
        (HaltSelection(automation="Digest", everywhere=True), "why"),
        (HaltSelection(automation="Digest"), None),
    ):
        with pytest.raises(Invalid):
            await halt(command_context, people, wish, reason, cancel=False)
    with pytest.raises(NotFound):
        await halt(command_context, people, HaltSelection(automation="nobody"), "why", cancel=False)
    with pytest.raises(NotFound):
        await release(command_context, people, HaltSelection(whole=True))
    with pytest.raises(NotFound, match="'Digest' is not halted by itself"):
        await release(command_context, people, HaltSelection(automation="Digest"))
    await show_halts(command_context, people)
    assert "Nothing is halted." in capsys.readouterr().out

    assert (
        await halt(
            command_context, people, HaltSelection(automation="Digest"), "Wrong list.", cancel=False
        )
        == 0
    )
    assert "It is halted." in capsys.readouterr().out
    # It is shown at the automation and at its runs.
    await fire(command_context, people, "Digest", (), None, wait=False, seconds=None)
    assert "Held by a halt (Wrong list.)." in capsys.readouterr().out
    await show_automation(command_context, people, "Digest")
    assert "halted (Wrong list.)." in capsys.readouterr().out
    await show_runs(command_context, people, status=None, automation=None, limit=5)
    assert "(held)" in capsys.readouterr().out
    await show_logs(command_context, people, "last", calls=False)
    assert "held by a halt: Wrong list." in capsys.readouterr().out
    await halt(command_context, screen, HaltSelection(whole=True), "Everything.", cancel=True)
    assert _answer(capsys)["halt"]["scope"] == "workspace"
    await show_halts(command_context, people)
    shown = capsys.readouterr().out
    assert "Digest" in shown
    assert "the workspace" in shown
    await release(command_context, people, HaltSelection(whole=True))
    await release(command_context, screen, HaltSelection(automation="Digest"))
    await show_halts(command_context, people)
    assert "Nothing is halted." in capsys.readouterr().out


async def test_a_drained_worker_finishes_what_it_has_and_takes_nothing_new(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    capsys: pytest.CaptureFixture[str],
) -> None:
    people = Screen()
    await show_workers(command_context, people)
    assert "No worker is alive." in capsys.readouterr().out
    with pytest.raises(Invalid, match="Name one worker"):
        await drain_workers(command_context, people, None, None)
    plan = document(
        step("a", "test.hang"),
        step("b", "test.echo"),
        execution={"concurrency": "allow_parallel"},
    )
    async with bench.worker(stop_seconds=60.0, slots=2) as worker:
        first = await bench.dispatch(plan)
        await bench.outside.started.wait()
        async with asyncio.timeout(60):
            while True:
                await show_workers(command_context, screen)
                shown = _answer(capsys)
                if shown["workers"] and shown["workers"][0]["in_flight"] == 1:
                    break
        (one,) = shown["workers"]
        assert (one["process"], one["slots"], one["drain_at"]) == (os.getpid(), 2, None)
        queue = next(entry for entry in shown["queues"] if entry["in_flight"])
        assert (queue["slots"], queue["workers"], queue["due_runs"]) == (2, 1, 0)
        await drain_workers(command_context, screen, str(one["worker_id"]), None)
        assert _answer(capsys)["workers"][0]["drain_at"] is not None
        # Asked twice it is the same, and people are shown that there is no way back.
        await drain_workers(command_context, people, str(one["worker_id"]), None)
        assert "This cannot be undone" in capsys.readouterr().out
        second = await bench.dispatch(plan)
        async with asyncio.timeout(60):
            while not worker.drained:
                await asyncio.sleep(0.01)
        await show_workers(command_context, people)
        assert "draining" in capsys.readouterr().out
        bench.outside.release.set()
        # The step under way is finished; what comes after it is for others.
        await bench.until(first.run_id, "pending")
    assert [row["step"] for row in (await bench.read(first.run_id))["steps"]] == ["a"]
    assert (await bench.read(second.run_id))["started_at"] is None
    async with bench.application.database.acquire() as connection:
        signals = await read_signals(connection)
    assert sum(one.due_runs for one in signals) == 2
    assert {one.workers for one in signals} == {0}


async def test_a_worker_of_its_own_process_is_drained_by_its_machine_and_ends_well(
    bench: Bench,
    command_context: CommandContext,
    screen: Screen,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = {
        "MAINSPRING_DATABASE_URL": str(bench.application.settings.database_url),
        "MAINSPRING_HOME": str(tmp_path),
        "MAINSPRING_HEARTBEAT_SECONDS": "0.2",
        "PYTHONPATH": str(ROOT / "src"),
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "mainspring",
        "worker",
        "--queues",
        "long",
        "--slots",
        "3",
        env={**os.environ, **settings},
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(60):
            while True:
                await show_workers(command_context, screen)
                workers = _answer(capsys)["workers"]
                if workers:
                    break
                await asyncio.sleep(0.25)
            (one,) = workers
            assert (one["process"], one["queues"], one["slots"]) == (process.pid, ["long"], 3)
            await drain_workers(command_context, screen, None, one["host"])
            assert await process.wait() == exits.DONE
        capsys.readouterr()
        await show_workers(command_context, screen)
        assert _answer(capsys)["workers"] == []
    finally:
        if process.returncode is None:
            process.kill()
