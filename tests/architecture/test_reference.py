"""The generated reference is current, and the generator notices when it is not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from scripts import reference
from tests.architecture.tree import ROOT


def test_the_generated_reference_is_current(capsys: pytest.CaptureFixture[str]) -> None:
    code = reference.main(["--check"])

    assert code == 0, capsys.readouterr().out


def test_a_page_that_is_stale_missing_or_unknown_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "reference"
    shutil.copytree(ROOT / "docs" / "reference", folder)
    limits = folder / "limits.md"
    limits.write_text(limits.read_text(encoding="utf-8") + "\nstale\n", encoding="utf-8")
    (folder / "settings.md").unlink()
    (folder / "invented.md").write_text("no such page\n", encoding="utf-8")

    code = reference.main(["--check", "--folder", str(folder)])

    message = capsys.readouterr().out
    assert code == 1
    assert "-stale" in message
    assert "+# Settings" in message
    assert "-no such page" in message
