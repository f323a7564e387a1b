"""The settings file of a data folder: private, plain, and second to the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from mainspring.settings import BadSetting, read_settings, settings_file, unknown_settings


def write(home: Path, text: str, mode: int = 0o600) -> None:
    settings_file(home).write_text(text, encoding="utf-8")
    settings_file(home).chmod(mode)


def test_the_file_is_read_and_the_environment_wins(tmp_path: Path) -> None:
    write(
        tmp_path,
        "# a note\n\nMAINSPRING_PORT=8999\nMAINSPRING_LIMIT_STEPS=7\nMAINSPRING_SLOTS=3\n"
        "MAINSPRING_DATABASE_URL=postgresql://u:p=w@h/d?a=b\nMAINSPRING_SLOT=1\n",
    )
    output = {"MAINSPRING_HOME": str(tmp_path), "MAINSPRING_SLOTS": "5"}

    found = read_settings(output)

    assert (found.port, found.slots, found.home) == (8999, 5, tmp_path)
    assert found.database_url == "postgresql://u:p=w@h/d?a=b"
    assert found.limits == {"steps": 7}
    assert read_settings({}, tmp_path).slots == 3
    assert unknown_settings(output) == ["MAINSPRING_SLOT"]
    assert read_settings({}, tmp_path / "nothing").port == 8420


@pytest.mark.parametrize(
    ("text", "mode", "why"),
    [
        ("MAINSPRING_PORT=1\n", 0o640, "mode to 0600"),
        ("port=1\n", 0o600, "Line 1"),
        ("\nMAINSPRING_PORT\n", 0o600, "Line 2"),
        ("MAINSPRING_HOME=/x\n", 0o600, "MAINSPRING_HOME"),
        ("MAINSPRING_PORT=x\n", 0o600, "MAINSPRING_PORT"),
        ("MAINSPRING_PORT=65536\n", 0o600, "from 1 to 65535"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, text: str, mode: int, why: str
) -> None:
    write(tmp_path, text, mode)
    with pytest.raises(BadSetting, match=why):
        read_settings({"MAINSPRING_HOME": str(tmp_path)})


def as_ordinary_user(question: Callable[[], str]) -> str:
    """The answer of a child process that has no privileges over other users' files."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            os.write(writer, question().encode())
        finally:
            os._exit(0)
    os.close(writer)
    os.waitpid(child, 0)
    with os.fdopen(reader, encoding="utf-8") as answer:
        return answer.read()


def test_a_data_folder_of_somebody_else_is_named_and_not_its_settings_file(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(0o000)

    def refusal(home: Path) -> str:
        try:
            read_settings({"MAINSPRING_HOME": str(home)})
        except BadSetting as problem:
            return str(problem)
        return "nothing was refused"

    for home in (locked, locked / "deeper"):
        message = as_ordinary_user(lambda home=home: refusal(home))  # type: ignore[misc]
        assert message == (
            f"The data folder {home} cannot be opened by this user: permission denied. Name a"
            " folder of your own with --home or MAINSPRING_HOME."
        )
    locked.chmod(0o700)
