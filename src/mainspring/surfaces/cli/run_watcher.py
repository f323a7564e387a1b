"""Watching a run that others execute, from the outside, until it has ended.

The record is looked at again and again, and each step is told once. Leaving does nothing to
the run: whoever wants its end asks for it with ``cancel``.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.runs.history import read_run
from mainspring.runs.progress import RunWatch
from mainspring.runs.rows import FINAL
from mainspring.surfaces.cli.local import local
from mainspring.surfaces.cli.run_display import RunDisplay
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.step_output import OutputLines
from mainspring.surfaces.cli.timeline import RunningStep, RunTimeline, step_line

if TYPE_CHECKING:
    from mainspring.surfaces.services import ApplicationServices

_LOOK_SECONDS = 0.25
_FRAME_SECONDS = 0.1
_LEAVING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GOING = {"pending": "waits for a worker", "running": "running"}


class RunWatcher:
    """One run, seen through to its end or left."""

    def __init__(self, rooms: ApplicationServices, run_id: UUID, screen: Screen) -> None:
        self._rooms = rooms
        self._run_id = run_id
        self._show = RunDisplay(screen)
        self._saying = OutputLines(screen)
        self._watch = RunWatch(rooms.workspace_id, run_id)
        self._told: set[tuple[Any, ...]] = set()
        # What is drawn while nothing new is recorded.
        self._now = RunTimeline()
        self._leave = asyncio.Event()

    async def until_end(self, seconds: float | None = None) -> dict[str, Any]:
        """The run as it is when it has ended, or when it was left before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._show, self._signals():
            looked = float("-inf")
            while not self._leave.is_set():
                now = time.monotonic()
                if now - looked >= _LOOK_SECONDS:
                    looked = now
                    if await self._look():
                        break
                self._show.frame(self._now, self._rooms.clock.now())
                if deadline is not None and now > deadline:
                    break
                await self._pause()
            async with local(self._rooms).acquire() as connection:
                run = await read_run(connection, self._rooms.workspace_id, self._run_id)
            self._show.said(self._saying.rest())
            if run["status"] in FINAL:
                # Steps of one moment may be committed in another order than they ended.
                for row in run["steps"]:
                    self._tell(row)
        return run

    async def _look(self) -> bool:
        """Tells what is new; True when that was the end."""
        changes = await local(self._rooms).run_retrying(self._watch.look)
        for kind, row in changes:
            if kind == "step":
                self._tell({**row, "output": None})
            elif kind == "output":
                self._show.said(self._saying.hear(row))
            else:
                self._note(row)
        return any(kind == "end" for kind, _ in changes)

    def _tell(self, row: Mapping[str, Any]) -> None:
        known = (row["step"], row["item"], row["attempt"], row["run_attempt"], row["status"])
        if known not in self._told:
            self._told.add(known)
            self._show.line(step_line(row))
            for going in self._now.going.values():
                going.since = time.monotonic()

    def _note(self, run: Mapping[str, Any]) -> None:
        self._now.going.clear()
        self._now.asleep_until = run["due_at"] if run["status"] == "waiting" else None
        words = _GOING.get(run["status"])
        if words is not None:
            self._now.going[words, ""] = RunningStep(1, time.monotonic())

    async def _pause(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FRAME_SECONDS):
                await self._leave.wait()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        for sign in _LEAVING:
            loop.add_signal_handler(sign, self._leave.set)
        try:
            yield
        finally:
            for sign in _LEAVING:
                loop.remove_signal_handler(sign)
