"""What the scaffold writes is whole: it passes the linter and its own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.scaffold import ROOT, main, write_action


def _ruff(*text: str, cwd: Path) -> str:
    command = [sys.executable, "-m", "ruff", *text]
    return subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True).stdout


@pytest.mark.parametrize("name", ["trim_text", "zip_texts"])
def test_an_action_is_one_module_that_passes_the_linter(name: str, tmp_path: Path) -> None:
    config = str(ROOT / "pyproject.toml")
    written = write_action(name, tmp_path)
    # The linter tells modules of the project from others by their files.
    (written[0].parent / "vocabulary.py").write_text('"""The actions."""\n')

    assert [path.name for path in written] == [f"{name}.py", f"test_{name}.py"]
    assert _ruff("check", "-q", "--config", config, ".", cwd=tmp_path) == ""
    assert _ruff("format", "-q", "--diff", "--config", config, ".", cwd=tmp_path) == ""


def test_an_action_passes_its_own_test_once_its_module_is_there(tmp_path: Path) -> None:
    """A second folder of the package represents the module in the checkout."""
    write_action("trim_text", tmp_path)
    check = (
        "import sys, pytest, mainspring.actions as package;"
        "package.__path__.append(sys.argv[1]);"
        "sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', '-c', sys.argv[3], "
        "'--rootdir', sys.argv[2], sys.argv[2]]))"
    )
    folders = (tmp_path / "src/mainspring/actions", tmp_path / "tests", ROOT / "pyproject.toml")
    command = [sys.executable, "-c", check, *map(str, folders)]
    done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stdout + done.stderr


def test_an_integration_passes_the_linter(tmp_path: Path) -> None:
    assert main(["integration", "acme", "--into", str(tmp_path)]) == 0
    root = tmp_path / "mainspring-acme"

    assert _ruff("check", "-q", ".", cwd=root) == ""
    assert _ruff("format", "-q", "--diff", ".", cwd=root) == ""


def test_nothing_that_exists_is_written_over(tmp_path: Path) -> None:
    assert main(["action", "trim_text", "--into", str(tmp_path)]) == 0
    assert main(["action", "trim_text", "--into", str(tmp_path)]) == 2
    assert main(["action", "Not a name", "--into", str(tmp_path)]) == 2
