"""A master key that another program keeps: a key service, a hardware token, a password store.

The program is started without a shell and without our environment, and prints the key in
base64. What it prints, also when it fails, is shown to nobody.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
from typing import Final

from mainspring.settings import bare_environment
from mainspring.workspace.master_key import MasterKey, decode_key, master_key_error

SECONDS: Final = 10.0
_LOOK: Final = "Run the program of MAINSPRING_MASTER_KEY_COMMAND by hand and look at its answer."


def ask_command(command: str, *, seconds: float = SECONDS) -> MasterKey:
    """The key that the program prints."""
    started = _start_command(_split_command(command))
    try:
        output, _ = started.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise master_key_error(
            f"The master key command gave no answer within {seconds:g} seconds.", _LOOK
        ) from None
    finally:
        _end(started)
    if started.returncode != 0:
        raise master_key_error(
            f"The master key command failed with code {started.returncode}.", _LOOK
        )
    return decode_key(
        output, "The master key command did not print 32 bytes in base64, and nothing else.", _LOOK
    )


def _split_command(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not words:
        raise master_key_error(
            "MAINSPRING_MASTER_KEY_COMMAND is not a program and its arguments.",
            "Write it as in a shell; an opening quote needs a closing one.",
        )
    return words


def _start_command(words: list[str]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(  # noqa: S603
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=bare_environment(),
            start_new_session=True,
        )
    except (OSError, ValueError):
        # The cause would show the whole command line.
        raise master_key_error("The master key command cannot be started.", _LOOK) from None


def _end(started: subprocess.Popen[bytes]) -> None:
    """Nothing that it started outlives it, or could hold its answer open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(started.pid, signal.SIGKILL)
    if started.stdout is not None:
        started.stdout.close()
    started.wait()
