"""Starts Postgres programs through ``parent_watch``, with a minimal environment.

Our own environment is not inherited, so no secret in it can appear in the server's log, and the
server's messages are in English on every machine.
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
    """The exit status and output of a program."""

    code: int
    text: str


def spawn_program(
    command: Sequence[str | Path], account: SystemUser, *, cwd: Path, output: IO[bytes], feed: bytes
) -> subprocess.Popen[bytes]:
    """Start a program as the given user, in a new session.

    The new session keeps the Ctrl-C of a terminal away from the database, which is stopped last,
    after everything that uses it.
    """
    if threading.current_thread() is not threading.main_thread():
        # The parent-death signal is tied to the thread that started the program.
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
    """Run a program to its end; it is killed when the wait is cancelled."""
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
    """Wait for the end without a thread: a wait in a thread could not be cancelled."""
    async with asyncio.timeout(seconds):
        while (code := process.poll()) is None:
            await asyncio.sleep(_POLL_SECONDS)
    return code
