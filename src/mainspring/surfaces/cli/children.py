"""A part of the server as a process of its own, split off from the one that watches it.

Everything is imported before the split, so the parts share that memory. A child starts
with nothing of its parent's but the standard streams and a line: on it the child says that
it is ready, and by its end it learns that the parent is gone. A child never outlives its
parent, however that one ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import logging
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from mainspring.contracts.process_priority import compute_niceness, lower_priority
from mainspring.store.parent_watch import PR_SET_PDEATHSIG
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.log_format import keep_logbook

# The exit code of a part that an operator sent away: it is not started again.
SENT_AWAY = 12
_READY = b"ready\n"
_FIRST_OF_OURS = 3
# One part after the other is let say how far it steps back.
_PLACE_TRIES, _PLACE_PAUSE = 20, 0.11
_MOST_FILES = 65_536
# Ctrl-C reaches every process of the terminal; when and in which order a part ends is
# for the parent to say.
_FOR_THE_PARENT = (signal.SIGINT, signal.SIGHUP)
_SPOKEN = (signal.SIGTERM, signal.SIGCHLD, *_FOR_THE_PARENT)

log = logging.getLogger(__name__)


class ParentPipe:
    """The child's end of the line to its parent."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end

    def fileno(self) -> int:
        return self._end.fileno()

    def ready(self) -> None:
        """Said once the part does its work."""
        with contextlib.suppress(OSError):
            self._end.send(_READY)


@dataclass(frozen=True, slots=True)
class ServerPart:
    """One part of the server. Parts of one kind are stopped together."""

    name: str
    kind: str
    # Works until SIGTERM; its answer is the exit code.
    live: Callable[[ParentPipe], int]
    # How it reports: text or json.
    log: str = "text"
    # How far it steps back behind parts that somebody waits for.
    behind: int = 0


@dataclass(slots=True)
class ChildProcess:
    """A part that lives, as its parent sees it."""

    pid: int
    line: socket.socket
    began: float = field(default_factory=time.monotonic)
    ready: bool = False

    def heard(self) -> bool:
        """Whether it has said, by now, that it is ready."""
        with contextlib.suppress(OSError):
            self.ready = self.line.recv(len(_READY)) == _READY or self.ready
        return self.ready

    def ended(self) -> int | None:
        """Its exit code, below zero for a signal; None while it lives."""
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, 0
        if not pid:
            return None
        self.line.close()
        return os.waitstatus_to_exitcode(status)

    def signal(self, sign: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, sign)


def split_off(part: ServerPart) -> ChildProcess:
    """Starts a part. To be called with one thread and without an event loop."""
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    parent = os.getpid()
    # A signal in between would be handled by the child with the parent's means.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SPOKEN)
    pid = os.fork()
    if pid == 0:
        _become(part, ParentPipe(theirs), parent)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    ours.setblocking(False)
    return ChildProcess(pid, ours)


def _become(part: ServerPart, line: ParentPipe, parent: int) -> None:
    """Never returns: what stands above on the stack is the parent's to finish."""
    code = exits.FAILED
    try:
        _take_place(part.behind)
        _take_signals()
        _tie_to(parent)
        _close_all_but(line.fileno())
        keep_logbook(part.name, part.log)
        code = part.live(line)
    except KeyboardInterrupt:
        code = exits.INTERRUPTED
    except BaseException:
        log.exception("This part ends by a mistake of ours.")
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _take_place(behind: int) -> None:
    """Where the kernel shares processors between sessions, each part has a share of its own."""
    os.setsid()
    nice = compute_niceness(behind)
    for _ in range(_PLACE_TRIES if nice else 0):
        if lower_priority(os.getpid(), nice):
            return
        time.sleep(_PLACE_PAUSE)


def _take_signals() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for sign in _FOR_THE_PARENT:
        signal.signal(sign, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SPOKEN)


def _tie_to(parent: int) -> None:
    """The end of the parent is the end of the child; leases give its runs back."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # It died before the tie was made, so no signal will ever come.
        os._exit(exits.FAILED)


def _close_all_but(kept: int) -> None:
    """Above all the locks on the data folder: they are the parent's alone."""
    os.closerange(_FIRST_OF_OURS, kept)
    os.closerange(kept + 1, _MOST_FILES)
