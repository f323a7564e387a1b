"""What a server that was killed may leave behind, and how the next start gets past it.

All of this happens under the folder's lock, so no other Mainspring can be at work here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

from mainspring.store.cluster import SOCKET_NAME
from mainspring.store.ownership import is_process_alive

_LEFTOVER_POLL_SECONDS = 0.02
_STOP_SECONDS = 20.0
_PROCESSES = Path("/proc")


async def clear_pid_files(data: Path, socket: Path) -> None:
    """Deals with the files in which an earlier server wrote its number.

    A server whose owner died is asked to stop, and waited for. A number that now belongs
    to a stranger (or to what is left of the dead in the process table) would make
    Postgres refuse to start for ever, so such a file is removed; shared memory still in
    use is found by Postgres without it.
    """
    for file in (data / "postmaster.pid", socket / (SOCKET_NAME + ".lock")):
        pid = _read_pid(file)
        if pid is None or not is_process_alive(pid):
            continue
        if _is_server_process(pid, data):
            await _stop(pid, data)
        else:
            file.unlink(missing_ok=True)


async def _stop(pid: int, data: Path) -> None:
    for how in (signal.SIGINT, signal.SIGQUIT):
        _send_signal(pid, how)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                while _is_server_process(pid, data):
                    await asyncio.sleep(_LEFTOVER_POLL_SECONDS)
                return


def end_orphans(data: Path) -> None:
    """Ends the children of a killed server that have not noticed that it is gone.

    One that is busy computing may take long to look up; its work cannot be committed any
    more, because the server it belongs to does not exist.
    """
    for pid in _iterate_processes():
        if pid != os.getpid() and _is_server_process(pid, data):
            _send_signal(pid, signal.SIGKILL)


def _read_pid(file: Path) -> int | None:
    try:
        return int(file.read_text().split("\n", 1)[0])
    except (FileNotFoundError, ValueError):
        return None


def _iterate_processes() -> Iterator[int]:
    if _PROCESSES.is_dir():
        yield from (int(entry.name) for entry in _PROCESSES.iterdir() if entry.name.isdecimal())


def _is_server_process(pid: int, data: Path) -> bool:
    """Every process of a server is called postgres and has its files as working folder."""
    if not (_PROCESSES / "self").exists():
        return _is_started_with(pid, data)
    about = _PROCESSES / str(pid)
    try:
        named = (about / "comm").read_bytes().strip() == b"postgres"
        return named and (about / "cwd").readlink() == data.resolve()
    except OSError:
        return False


def _is_started_with(pid: int, data: Path) -> bool:
    with contextlib.suppress(OSError):
        shown = subprocess.run(  # noqa: S603  (where there is no /proc)
            ["/bin/ps", "-o", "command=", "-p", str(pid)],
            capture_output=True,
            text=True,
            check=False,
        )
        return f"-D {data}" in shown.stdout
    return False


def _send_signal(pid: int, how: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, how)
