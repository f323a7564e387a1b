"""The generated reference is current, and the generator notices when it is not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.architecture.tree import ROOT


def _check(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "scripts.reference", "--check", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_generated_reference_is_current() -> None:
    ended = _check()

    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_page_that_is_stale_missing_or_unknown_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "reference"
    shutil.copytree(ROOT / "docs" / "reference", folder)
    limits = folder / "limits.md"
    limits.write_text(limits.read_text(encoding="utf-8") + "\nstale\n", encoding="utf-8")
    (folder / "settings.md").unlink()
    (folder / "invented.md").write_text("no such page\n", encoding="utf-8")

    ended = _check("--folder", str(folder))

    assert ended.returncode == 1
    assert "-stale" in ended.stdout
    assert "+# Settings" in ended.stdout
    assert "-no such page" in ended.stdout
