"""The parent of a program of tools, a process of its own that needs nothing but Python.

A program may leave others behind, in a session of their own and without a parent. The kernel
hands those to this process, so that all of them can be ended: when the program ends, when this
process is asked to end, and when whoever started it is lost.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Iterator
from typing import Final

PR_SET_PDEATHSIG: Final = 1
PR_SET_CHILD_SUBREAPER: Final = 36
_HEARD: Final = frozenset({signal.SIGTERM, signal.SIGCHLD})
_NOT_STARTED: Final = 127


def main(starter: int, command: list[str]) -> None:
    """Runs a program until its end, and leaves nothing of it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    if sys.platform == "linux":
        kernel = ctypes.CDLL(None)
        kernel.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        kernel.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != starter:
        return
    program = os.fork()
    if program == 0:
        _become(command)
    # The pipes are the program's alone: whoever reads them sees its end.
    nothing = os.open(os.devnull, os.O_RDWR)
    for pipe in range(3):
        os.dup2(nothing, pipe)
    while signal.sigwait(_HEARD) == signal.SIGCHLD and not _has_ended(program):
        pass
    _end_all(program)


def _become(command: list[str]) -> None:
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        os.setsid()
        os.execvp(command[0], command)  # noqa: S606
    finally:
        os._exit(_NOT_STARTED)


def _has_ended(program: int) -> bool:
    """Takes in whatever has ended; True when the program is among it."""
    with contextlib.suppress(ChildProcessError):
        while ended := os.waitpid(-1, os.WNOHANG)[0]:
            if ended == program:
                return True
        return False
    return True


def _end_all(program: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            # Whatever a child leaves behind is ours in the next round.
            for child in _children():
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(child, signal.SIGKILL)
            os.waitpid(-1, 0)


def _children() -> Iterator[int]:
    ours = str(os.getpid())
    with contextlib.suppress(FileNotFoundError):
        for name in filter(str.isdecimal, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[1].decode() == ours:
                    yield int(name)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
