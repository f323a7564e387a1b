"""A worker that is killed in the middle leaves no process and no file."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from mainspring.actions.script.sandbox.deno_paths import make_private_folder
from mainspring.actions.script.sandbox.isolation import IsolationMode
from tests.kit.processes import first_line, is_running, module_process, wait_until

WORKER = "tests.integration.actions.script.sandbox.busy_worker"


@pytest.mark.parametrize("mode", [IsolationMode.LANDLOCK, IsolationMode.NAMESPACES])
def test_a_killed_worker_leaves_nothing(mode: IsolationMode) -> None:
    with module_process(WORKER, [mode.value]) as worker:
        left = json.loads(first_line(worker))
        assert len(left["pids"]) == 3
        assert all(map(is_running, left["pids"]))

        worker.kill()

        wait_until(lambda: not any(map(is_running, left["pids"])), 20, "every process ended")
        wait_until(lambda: not Path(left["folder"]).exists(), 20, "the folder is gone")


def test_a_folder_that_nobody_holds_is_cleared_away_later(tmp_path: Path) -> None:
    kept = make_private_folder(beside=tmp_path)
    left = tmp_path / "mainspring-sandbox-left"
    young = tmp_path / "mainspring-sandbox-young"
    for folder in (left, young):
        (folder / "cache").mkdir(parents=True)
    for old in (str(left), kept.folder):
        os.utime(old, (1, 1))

    other = make_private_folder(beside=tmp_path)

    assert not left.exists()
    assert young.exists()
    assert Path(kept.bootstrap).exists()
    kept.remove()
    other.remove()
    assert list(tmp_path.iterdir()) == [young]
