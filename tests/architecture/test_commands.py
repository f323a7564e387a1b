"""``./check`` leaves nothing out, and the two commands can be run as they are."""

from __future__ import annotations

import os
import tomllib

import pytest

from scripts.check import PARTS
from tests.architecture.tree import CODE_FOLDERS, ROOT


def test_every_folder_of_tests_is_run_by_check() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/**/test_*.py")}
    named = {word for part in PARTS for word in part.command if word.startswith("tests/")}

    assert {f"tests/{folder.parts[0]}" for folder in folders if folder.parts} - named == set()


def test_no_test_is_left_out_by_a_setting() -> None:
    ignored = ("collect_ignore", "--ignore", "--deselect", "pytest.mark.skip", "importorskip")
    files = [*ROOT.glob("tests/**/conftest.py"), ROOT / "pyproject.toml", ROOT / "scripts/check.py"]

    assert [
        f for f in files if any(word in f.read_text(encoding="utf-8") for word in ignored)
    ] == []


def test_every_folder_of_python_is_type_checked() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    there = {folder for folder in CODE_FOLDERS if any((ROOT / folder).rglob("*.py"))}

    assert there <= set(settings["tool"]["mypy"]["files"])
    assert settings["tool"]["mypy"]["strict"] is True


@pytest.mark.parametrize("name", ["start", "check", ".ci/run", "scripts/system_packages.sh"])
def test_a_command_is_executable(name: str) -> None:
    assert os.access(ROOT / name, os.X_OK)


def test_ci_runs_what_everybody_runs() -> None:
    lines = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()

    assert lines[-1] == "exec ./check"
