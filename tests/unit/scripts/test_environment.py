"""Preparing the Python environment: what a person sees while it takes long."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
from pathlib import Path

_SCRIPT = Path(__file__).resolve().parents[3] / "scripts" / "environment.sh"


def shell(folder: Path, command: str) -> subprocess.Popen[str]:
    """A shell that has read the script, with a checkout that holds nothing."""
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    names = f"root={folder} place={folder} venv={folder}/.venv log={folder}/.venv.log"
    return subprocess.Popen(
        ["sh", "-euc", f". {_SCRIPT}; {names}; {command}"],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    return line


def test_a_command_that_waits_for_another_says_for_what(tmp_path: Path) -> None:
    with (tmp_path / ".venv.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        text = first_line(shell(tmp_path, "prepare_packages run"))
    assert text == (
        f"Waiting for another command that prepares {tmp_path}/.venv"
        f" (it locks {tmp_path}/.venv.lock) ...\n"
    )


def test_a_long_installation_says_what_it_is_at(tmp_path: Path) -> None:
    (tmp_path / ".venv.log").write_text("Collecting anyio\n  Downloading fastapi-1.whl (9 kB)\n")
    assert first_line(shell(tmp_path, "show_progress 1")) == (
        "  1 s:   Downloading fastapi-1.whl (9 kB)\n"
    )
