"""Following one run to its end, whoever executes it.

The worker in this process tells what it does as it does it. When another worker has the
run, or it sleeps, the record is read instead; the record is the truth in any case.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import Conflict
from mainspring.runs.history import read_run
from mainspring.runs.output import OutputPosition, read_output
from mainspring.runs.rows import FINAL
from mainspring.runs.watch import Kind, RunEvent
from mainspring.surfaces.cli.local import AuditedAction, local
from mainspring.surfaces.cli.saying import OutputLines
from mainspring.surfaces.cli.show import RunDisplay
from mainspring.surfaces.cli.timeline import RunTimeline, TimelineEntry

if TYPE_CHECKING:
    from mainspring.surfaces.rooms import ApplicationServices

_FRAME_SECONDS = 0.1
# How long nothing may be heard before the record is asked.
_SILENCE_SECONDS = 0.5
_OVER = ("step_finished", "step_retrying", "run_ended")


class RunFollower:
    """Sees a run through: hears what happens, shows it, and obeys Ctrl-C."""

    def __init__(self, rooms: ApplicationServices, run_id: UUID, show: RunDisplay) -> None:
        self._rooms = rooms
        self._run_id = run_id
        self._show = show
        self._heard: deque[RunEvent] = deque()
        self._news = asyncio.Event()
        self._cancelling: asyncio.Task[None] | None = None
        self._queued = False
        self._saying = OutputLines(show.screen)
        self._place: OutputPosition | None = None
        self.timeline = RunTimeline()
        self.left = False

    @property
    def cancelling(self) -> bool:
        """Whether somebody has asked for the run's end."""
        return self._cancelling is not None

    def hear(self, moment: RunEvent) -> None:
        """Called by the worker for every run it has; only one is of interest here."""
        if moment.run_id == self._run_id:
            self._heard.append(moment)
            self._news.set()

    async def until_end(self, seconds: float | None) -> dict[str, Any] | None:
        """The run when it has ended; None when it was left before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._show, self._signals():
            asked = 0.0
            while not self.left:
                ended = await self._catch_up()
                now = time.monotonic()
                if ended or (not self._heard and now - asked > _SILENCE_SECONDS):
                    asked = now
                    run = await self._look()
                    if run["status"] in FINAL:
                        return run
                self._show.frame(self.timeline, self._rooms.clock.now())
                if deadline is not None and now > deadline:
                    return None
                await self._wait()
        return None

    async def _catch_up(self) -> bool:
        """Shows what was heard; True when that was the end."""
        heard, self._heard = self._heard, deque()
        self._news.clear()
        if any(moment.kind in _OVER for moment in heard):
            # What a step said was recorded before it was over, and is shown before that.
            await self._listen()
        ended = False
        for moment in heard:
            self._tell(self.timeline.see(moment, time.monotonic()))
            ended = moment.kind == "run_ended"
        return ended

    async def pass_over(self) -> None:
        """What was said before now is not shown."""
        await self._listen(quietly=True)

    async def _listen(self, *, quietly: bool = False) -> None:
        """Shows what steps have said since the last time."""
        async with local(self._rooms).acquire() as connection:
            while rows := await read_output(
                connection, self._rooms.workspace_id, self._run_id, after=self._place
            ):
                self._place = OutputPosition.of(rows[-1])
                for row in () if quietly else rows:
                    self._show.said(self._saying.hear(row))

    async def _look(self) -> dict[str, Any]:
        """Reads the record, and shows what was not heard of it."""
        await self._listen()
        async with local(self._rooms).acquire() as connection:
            run = await read_run(connection, self._rooms.workspace_id, self._run_id)
        for row in run["steps"]:
            self._tell(self.timeline.see(_moment(self._run_id, row), time.monotonic()))
        if run["status"] == "waiting":
            self._tell(self.timeline.sleep(run["due_at"]))
        elif run["status"] == "pending" and not self._queued and not self.timeline.going:
            self._queued = True
            if run["started_at"] is None and _stands_behind(run):
                self._tell(
                    TimelineEntry("waiting", "", words="Another run of this automation goes first.")
                )
        return run

    def _tell(self, line: TimelineEntry | None) -> None:
        if line is not None:
            self._show.line(line)

    async def _wait(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_FRAME_SECONDS):
                await self._news.wait()

    @contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupted)
        # A terminal that closes or a machine that stops is no wish to cancel the run.
        for sign in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(sign, self._leave)
        try:
            yield
        finally:
            for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.remove_signal_handler(sign)

    def _interrupted(self) -> None:
        if self._cancelling is not None:
            self._leave()
            return
        self._tell(TimelineEntry("told", "", words="Cancelling. Ctrl-C again leaves at once."))
        self._cancelling = asyncio.create_task(self._cancel(), name="cancel")

    async def _cancel(self) -> None:
        with suppress(Conflict):
            await self._rooms.control.cancel(self._rooms.workspace_id, self._run_id)
            await local(self._rooms, AuditedAction("cancel_run", self._run_id)).note()

    def _leave(self) -> None:
        self.left = True
        self._news.set()


def _stands_behind(run: Mapping[str, Any]) -> bool:
    """Whether the run waits in its lane: it is not due before somebody lets it go."""
    return run["due_at"] is None


def _moment(run_id: UUID, row: Mapping[str, Any]) -> RunEvent:
    kind: Kind = "step_retrying" if row["status"] == "retrying" else "step_finished"
    detail = row["output"] if row["error"] is None else row["error"]
    return RunEvent(
        kind, run_id, row["step"], row["item"], row["status"], row["attempt"], row["ms"], detail
    )
