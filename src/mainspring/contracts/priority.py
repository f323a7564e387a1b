"""Who goes first where processors are short.

Somebody who calls, or waits for a short script, should not notice that something else has been
working for a minute; where a processor is free, whoever stepped back loses nothing. Two things
decide, and both are told: how nice the threads of a process are, and, where the kernel shares
processors between sessions, how nice the session is.
"""

from __future__ import annotations

import contextlib
import os

_NICEST = 19


def step_back(pid: int, by: int, processes: int | None = None) -> None:
    """Lets others go before the session that this process leads; best effort, it works on anyway.

    An open ``/proc`` is given by whoever has no path to it.
    """
    with contextlib.suppress(OSError):
        # From where its starter put it.
        nice = os.getpriority(os.PRIO_PROCESS, pid) + by
        os.setpriority(os.PRIO_PGRP, pid, min(nice, _NICEST))
    with contextlib.suppress(OSError):
        path = f"/proc/{pid}/autogroup" if processes is None else f"{pid}/autogroup"
        session = os.open(path, os.O_WRONLY, dir_fd=processes)
        try:
            os.write(session, str(by).encode())
        finally:
            os.close(session)
