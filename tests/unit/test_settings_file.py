"""The settings file of a data folder: private, plain, and second to the environment."""

from __future__ import annotations

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
    said = {"MAINSPRING_HOME": str(tmp_path), "MAINSPRING_SLOTS": "5"}

    found = read_settings(said)

    assert (found.port, found.slots, found.home) == (8999, 5, tmp_path)
    assert found.database_url == "postgresql://u:p=w@h/d?a=b"
    assert found.limits == {"steps": 7}
    assert read_settings({}, tmp_path).slots == 3
    assert unknown_settings(said) == ["MAINSPRING_SLOT"]
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
