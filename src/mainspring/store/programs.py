"""Starts the programs of Postgres: always on the leash, always with a bare environment.

Nothing of our own environment is handed on, so no secret in it can end up in a log of the
server, and the server's messages are in English whatever the machine speaks.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from mainspring.contracts.errors import InternalError
from mainspring.store import parent_watch
from mainspring.store.postgres_programs import SystemUser

_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC"}
_POLL_SECONDS = 0.005


@dataclass(frozen=True, slots=True)
class ProgramExit:
    """How a program ended and everything it said."""

    code: int
    text: str


def spawn_program(
    command: Sequence[str | Path], account: SystemUser, *, cwd: Path, output: IO[bytes], feed: bytes
) -> subprocess.Popen[bytes]:
    """Starts a program as the account; it gets a session of its own.

    A session of its own keeps the Ctrl-C of a terminal away from the database, which is
    stopped by us, after everything that uses it.
    """
    if threading.current_thread() is not threading.main_thread():
        # The parent-death signal follows the thread that started the program.
        raise InternalError("The embedded database must be started from the main thread.")
    uid, gid = (account.uid, account.gid) if account.switched else (-1, -1)
    with tempfile.TemporaryFile() as stdin:
        stdin.write(feed)
        stdin.seek(0)
        return subprocess.Popen(  # noqa: S603  (our own interpreter and a program we found)
            [
                sys.executable,
                "-I",
                "-S",
                parent_watch.__file__,
                str(os.getpid()),
                str(uid),
                str(gid),
            ]
            + [str(word) for word in command],
            cwd=cwd,
            env=_ENVIRONMENT,
            stdin=stdin,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


async def run(
    command: Sequence[str | Path], account: SystemUser, *, cwd: Path, feed: bytes = b""
) -> ProgramExit:
    """Runs a program to its end; it is killed when the wait is given up."""
    with tempfile.TemporaryFile() as output:
        process = spawn_program(command, account, cwd=cwd, output=output, feed=feed)
        try:
            code = await wait_for_exit(process)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        output.seek(0)
        return ProgramExit(code, output.read().decode("utf-8", "replace"))


async def wait_for_exit(process: subprocess.Popen[bytes], seconds: float | None = None) -> int:
    """Waits for the end without a thread: a wait in a thread could not be given up."""
    async with asyncio.timeout(seconds):
        while (code := process.poll()) is None:
            await asyncio.sleep(_POLL_SECONDS)
    return code
