"""Runs a database program on a leash: it cannot outlive the process that asked for it.

This file is started as a script of its own, with the interpreter's bare minimum, and turns
into the program by ``exec``. Changing the user and asking for the parent-death signal
happen here, in a fresh process with one thread, because doing them between fork and exec
of a process with several threads may deadlock. The order matters as well: the kernel
forgets the parent-death signal when the user changes.

    leash.py PARENT_PID UID GID PROGRAM [ARGUMENT ...]      (UID -1: stay who we are)
"""

from __future__ import annotations

# Loaded before the user changes: the new one may not be able to read our interpreter.
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
CANNOT_RUN = 126


def switch_user(uid: int, gid: int) -> None:
    """Gives up the system account for good: groups first, while that is still allowed."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with_parent(parent: int) -> None:
    """SIGINT, a fast and clean shutdown for Postgres, when the parent is gone."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != parent:
        # The parent died before the tie was made, so no signal will ever come.
        raise ProcessLookupError("the parent is gone")


def main(arguments: list[str]) -> int:
    """Becomes the program; answers only when that was not possible."""
    parent, uid, gid = (int(text) for text in arguments[:3])
    command = arguments[3:]
    try:
        os.umask(0o077)
        if uid >= 0:
            switch_user(uid, gid)
        die_with_parent(parent)
        os.execv(command[0], command)  # noqa: S606  (the caller chose the program)
    except OSError as error:
        sys.stderr.write(f"leash: {error.strerror or error}\n")
    return CANNOT_RUN


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
