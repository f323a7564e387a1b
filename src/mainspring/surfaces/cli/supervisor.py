"""The supervisor: starts the parts of the server, keeps them going, stops them in order.

It has one thread and no event loop, because it splits off children for as long as it
lives. It sleeps until a signal, a child's word or the time of a restart; all that it
decides is made of those three.
"""

from __future__ import annotations

import itertools
import logging
import select
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from mainspring.contracts.errors import InternalError, Problem
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.children import SENT_AWAY, ChildProcess, ServerPart, split_off
from mainspring.surfaces.cli.signals import STOPPING, SignalMonitor

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
# A part that has lived this long is well: its next fall is a first one again.
_WELL_SECONDS = 10.0
# Before the server was ready once, a part that keeps falling will not stand.
_MOST_FALSE_STARTS = 5
# The next kind of part is told to stop when this one has ended, or has had this long.
_HEADSTART = 0.5
# Some programs send a signal to a process and to its whole group: those are one.
TOGETHER_SECONDS = 0.3
# What a worker may take for handing back, once its steps have had their time.
_HAND_BACK_SECONDS = 5.0

POSTGRES = "postgres"

log = logging.getLogger(__name__)


class WatchedDatabaseServer(Protocol):
    """The embedded database, as far as it is watched here."""

    @property
    def pid(self) -> int | None: ...

    def alive(self) -> bool: ...

    def start(self) -> None: ...


@dataclass(frozen=True, slots=True)
class ServerStateChange:
    """Something a watcher may want to know: ready, restarted, stopping."""

    state: str
    # Every living part by name, or the one that it is about.
    parts: tuple[tuple[str, int], ...] = ()


@dataclass(slots=True)
class _SupervisedPart:
    """A part and what became of it so far."""

    part: ServerPart
    child: ChildProcess | None = None
    pause: float = _FIRST_PAUSE
    due: float | None = None
    falls: int = 0
    # An operator sent it away: it stays down until the server is started anew.
    sent_away: bool = False


class Supervisor:
    """Watches over the parts from the first start to the last end."""

    def __init__(
        self,
        parts: Sequence[ServerPart],
        *,
        server: WatchedDatabaseServer | None,
        stop_seconds: float,
        tell: Callable[[ServerStateChange], None],
    ) -> None:
        self._kept = [_SupervisedPart(part) for part in parts]
        self._server = server
        self._server_due: float | None = None
        self._server_pause = _FIRST_PAUSE
        self._stop_seconds = stop_seconds
        self._tell = tell
        self._signals = SignalMonitor()
        self._asked = 0
        self._first_asked = 0.0
        self._ready = False

    def run(self) -> bool:
        """Until a stop is asked for; whether everything ended by itself and in order."""
        with self._signals.caught():
            try:
                for kept in self._kept:
                    self._start(kept)
                while not self._asked:
                    self._wait()
                    self._raise_fallen()
                return self._stop()
            finally:
                self._end_at_once()

    # --- keeping up

    def _start(self, kept: _SupervisedPart) -> None:
        kept.due = None
        kept.child = split_off(kept.part)

    def _living(self) -> list[tuple[_SupervisedPart, ChildProcess]]:
        return [(kept, kept.child) for kept in self._kept if kept.child is not None]

    def _wait(self, until: float | None = None) -> None:
        """Sleeps until something happens, and takes note of all that did."""
        lines = [child.line.fileno() for _, child in self._living() if not child.ready]
        select.select([self._signals.fileno(), *lines], [], [], self._patience(until))
        self._note_stops()
        for kept, child in self._living():
            if not child.ready and child.heard():
                self._risen(kept, child)
            code = child.ended()
            if code is not None:
                self._fallen(kept, child, code)
        self._mend_server()

    def _note_stops(self) -> None:
        if not any(sign in STOPPING for sign in self._signals.taken()):
            return
        now = time.monotonic()
        if self._asked and now - self._first_asked < TOGETHER_SECONDS:
            return
        self._first_asked = self._first_asked if self._asked else now
        self._asked += 1

    def _patience(self, until: float | None) -> float | None:
        moments = [kept.due for kept in self._kept] + [self._server_due, until]
        known = [moment for moment in moments if moment is not None]
        return max(min(known) - time.monotonic(), 0.0) if known else None

    def _risen(self, kept: _SupervisedPart, child: ChildProcess) -> None:
        if self._asked:
            return
        if self._ready:
            log.info("The %s works again (process %d).", kept.part.name, child.pid)
            self._tell(ServerStateChange("restarted", ((kept.part.name, child.pid),)))
        elif all(child.ready for _, child in self._living()) and self._all_live():
            self._ready = True
            self._tell(ServerStateChange("ready", self._parts()))

    def _all_live(self) -> bool:
        return all(kept.child is not None or kept.sent_away for kept in self._kept)

    def _parts(self) -> tuple[tuple[str, int], ...]:
        found = [(kept.part.name, child.pid) for kept, child in self._living()]
        if self._server is not None and self._server.pid is not None:
            found.append((POSTGRES, self._server.pid))
        return tuple(found)

    def _fallen(self, kept: _SupervisedPart, child: ChildProcess, code: int) -> None:
        kept.child = None
        if self._asked:
            return
        if code == SENT_AWAY:
            kept.sent_away = True
            log.info(
                "The %s (process %d) was drained and stays down until the server restarts.",
                kept.part.name,
                child.pid,
            )
            return
        now = time.monotonic()
        if now - child.began > _WELL_SECONDS:
            kept.pause = _FIRST_PAUSE
        kept.due, kept.falls = now + kept.pause, kept.falls + 1
        # Somebody told it to stop, such as Celery's remote control, and it did so in order.
        in_order = code == exits.DONE
        log.log(
            logging.INFO if in_order else logging.WARNING,
            "The %s (process %d) %s and is started again in %.1f s.",
            kept.part.name,
            child.pid,
            describe_exit(code),
            kept.pause,
        )
        kept.pause = min(kept.pause * 2, _LONGEST_PAUSE)

    def _raise_fallen(self) -> None:
        """Starts again whatever is due; what never stood is given up."""
        now = time.monotonic()
        for kept in self._kept:
            if not self._ready and kept.falls >= _MOST_FALSE_STARTS:
                raise _does_not_stand(kept.part.name)
            if kept.due is not None and kept.due <= now and not self._asked:
                self._start(kept)

    def _mend_server(self) -> None:
        """A database found dead is started again; the parts reconnect by themselves."""
        now = time.monotonic()
        if self._server is None or self._server.alive():
            return
        if self._server_due is not None and now < self._server_due:
            return
        log.warning("The embedded database ended unexpectedly and is started again.")
        try:
            with self._signals.breaking_off():
                self._server.start()
        except KeyboardInterrupt:
            # The stop that broke it off is noted; without a database there is nothing to mend.
            self._server = None
        except Problem as problem:
            log.warning("The embedded database could not be started: %s", problem.detail)
            self._server_due = time.monotonic() + self._server_pause
            self._server_pause = min(self._server_pause * 2, _LONGEST_PAUSE)
        else:
            self._server_due, self._server_pause = None, _FIRST_PAUSE
            if not self._asked and self._server.pid is not None:
                self._tell(ServerStateChange("restarted", ((POSTGRES, self._server.pid),)))

    # --- stopping

    def _stop(self) -> bool:
        """One kind of part after the other: nobody is served by what has gone already.

        A second signal ends whatever is left; runs of a worker that is ended so are given
        back by its lease.
        """
        self._tell(ServerStateChange("stopping"))
        deadline = time.monotonic() + self._stop_seconds + _HAND_BACK_SECONDS
        for _, group in itertools.groupby(self._kept, lambda kept: kept.part.kind):
            told = [kept for kept in group if kept.child is not None]
            for kept in told:
                if kept.child is not None:
                    kept.child.signal(signal.SIGTERM)
            self._until_ended(told, min(time.monotonic() + _HEADSTART, deadline))
        self._until_ended(self._kept, deadline)
        return not self._living()

    def _until_ended(self, group: Iterable[_SupervisedPart], deadline: float) -> None:
        watched = list(group)
        while any(kept.child is not None for kept in watched):
            if self._asked > 1 or time.monotonic() >= deadline:
                return
            self._wait(deadline)

    def _end_at_once(self) -> None:
        for kept, child in self._living():
            log.warning("The %s (process %d) is ended immediately.", kept.part.name, child.pid)
            child.signal(signal.SIGKILL)
        for kept, child in self._living():
            while child.ended() is None:
                time.sleep(0.005)
            kept.child = None


def describe_exit(code: int) -> str:
    """Its end in words: one in order is nothing to be alarmed about."""
    if code == exits.DONE:
        return "was stopped by a signal and shut down gracefully,"
    cause = f"signal {-code}" if code < 0 else f"exit code {code}"
    return f"ended unexpectedly ({cause})"


def _does_not_stand(name: str) -> InternalError:
    return InternalError(
        f"The {name} ended {_MOST_FALSE_STARTS} times before it was ready.",
        code="part_does_not_start",
        suggestion="The lines above say why; mainspring doctor checks the machine.",
    )
