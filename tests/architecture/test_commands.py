"""``./check`` leaves nothing out, and the two commands can be run as they are."""

from __future__ import annotations

import os
import tomllib

import pytest

from tests.architecture.tree import CODE_FOLDERS, ROOT

CHECK = (ROOT / "check").read_text(encoding="utf-8")


def test_every_folder_of_tests_is_run_by_check() -> None:
    folders = {path.parent.relative_to(ROOT / "tests") for path in ROOT.glob("tests/**/test_*.py")}
    suites = [line.split('"') for line in CHECK.splitlines() if line.startswith("suite ")]
    named = {folder for pieces in suites for folder in pieces[3].split()}

    assert {folder.parts[0] for folder in folders if folder.parts} - named == set()


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
