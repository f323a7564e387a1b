"""Process priorities (niceness) under CPU contention.

Interactive calls and short scripts should not be slowed by long-running work; with a free CPU,
lower priority costs nothing. Two values matter: the niceness of the threads of a process and, where
the kernel groups sessions for scheduling (autogroup), the niceness of the session. A new session
does not inherit the latter.
"""

from __future__ import annotations

import contextlib
import os

_NICEST = 19


def compute_niceness(by: int) -> int:
    """The niceness this much above that of the current process."""
    return min(os.getpriority(os.PRIO_PROCESS, 0) + by, _NICEST)


def lower_priority(pid: int, nice: int, processes: int | None = None) -> bool:
    """Set the niceness of the session that this process leads, as far as the kernel permits.

    False when a retry after a tenth of a second is worthwhile: the kernel limits how often an
    unprivileged process may set a session's niceness. Pass an open ``/proc`` when there is no path
    to it.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, nice)
    path = f"/proc/{pid}/autogroup" if processes is None else f"{pid}/autogroup"
    # The kernel may not support autogroup, and the process may have ended.
    with contextlib.suppress(OSError):
        session = os.open(path, os.O_WRONLY, dir_fd=processes)
        try:
            os.write(session, str(nice).encode())
        except BlockingIOError:
            return False
        finally:
            os.close(session)
    return True
