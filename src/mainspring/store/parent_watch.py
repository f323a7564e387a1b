"""Runs a Postgres program that cannot outlive the process that started it.

This file runs as a script, with a minimal interpreter, and replaces itself with the program by
``exec``. Changing the user and requesting the parent-death signal happen here, in a fresh
single-threaded process, because doing them between fork and exec of a multi-threaded process may
deadlock. The order matters: the kernel clears the parent-death signal when the user changes.

    parent_watch.py PARENT_PID UID GID PROGRAM [ARGUMENT ...]      (UID -1: keep the user)
"""

from __future__ import annotations

# Imported before the user changes: the new user may not be able to read our interpreter.
import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1
CANNOT_RUN = 126


def switch_user(uid: int, gid: int) -> None:
    """Drop the current user for good: groups first, while that is still allowed."""
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with_parent(parent: int) -> None:
    """Request SIGINT, a fast and clean shutdown for Postgres, when the parent dies."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != parent:
        # The parent died before the signal was requested, so none will be sent.
        raise ProcessLookupError("the parent is gone")


def main(arguments: list[str]) -> int:
    """Exec the program; returns only on failure."""
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
