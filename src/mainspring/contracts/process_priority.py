"""Who goes first where processors are short.

Somebody who calls, or waits for a short script, should not notice that something else has been
working for a minute; where a processor is free, whoever stepped back loses nothing. Two things
decide, and both are told: how nice the threads of a process are, and, where the kernel shares
processors between sessions, how nice the session is. A new session does not inherit that.
"""

from __future__ import annotations

import contextlib
import os

_NICEST = 19


def compute_niceness(by: int) -> int:
    """So much nicer than this process, which is where its starter put it."""
    return min(os.getpriority(os.PRIO_PROCESS, 0) + by, _NICEST)


def put_behind(pid: int, nice: int, processes: int | None = None) -> bool:
    """Puts the session that this process leads where it belongs, as far as the kernel lets us.

    False when it is worth another try a tenth of a second later: that often the kernel lets
    somebody without privileges say how nice a session is, whoever else has just done so. An open
    ``/proc`` is given by whoever has no path to it.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, pid, nice)
    path = f"/proc/{pid}/autogroup" if processes is None else f"{pid}/autogroup"
    # Beside that, a kernel may know of no sessions, and a process may be gone.
    with contextlib.suppress(OSError):
        session = os.open(path, os.O_WRONLY, dir_fd=processes)
        try:
            os.write(session, str(nice).encode())
        except BlockingIOError:
            return False
        finally:
            os.close(session)
    return True
