"""Signals as something to wait for, beside sockets, in a process without an event loop."""

from __future__ import annotations

import contextlib
import signal
import socket
from collections.abc import Iterator
from types import FrameType

STOPPING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class SignalMonitor:
    """Notes every signal; while something slow is under way, a stop breaks it off."""

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        for end in (self._read, self._write):
            end.setblocking(False)
        self._breaks_off = False

    def fileno(self) -> int:
        return self._read.fileno()

    def taken(self) -> list[int]:
        """The signals since the last call, in order."""
        with contextlib.suppress(BlockingIOError):
            return list(self._read.recv(4_096))
        return []

    @contextlib.contextmanager
    def breaking_off(self) -> Iterator[None]:
        """A stop inside this block ends it by ``KeyboardInterrupt``, and is noted as well."""
        self._breaks_off = True
        try:
            yield
        finally:
            self._breaks_off = False

    def _come(self, sign: int, _: FrameType | None) -> None:
        if self._breaks_off and sign in STOPPING:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Takes the signals of this process over, until the block ends."""
        before = {sign: signal.getsignal(sign) for sign in (*STOPPING, signal.SIGCHLD)}
        for sign, handler in before.items():
            # Whoever started us with nohup wants hang-ups to pass us by.
            if sign is not signal.SIGHUP or handler is not signal.SIG_IGN:
                signal.signal(sign, self._come)
        fd = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(fd)
            for sign, handler in before.items():
                signal.signal(sign, handler)
            self._read.close()
            self._write.close()
