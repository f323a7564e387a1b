"""Watching a run that others execute, from the outside, until it has ended.

The record is polled, and each step is reported once. Leaving does nothing to the run: ``cancel``
ends it.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mainspring.surfaces.cli.pages_of_rows import FINAL, read_run_at
from mainspring.surfaces.cli.run_display import RunDisplay
from mainspring.surfaces.cli.screen import Screen
from mainspring.surfaces.cli.step_output import OutputLines
from mainspring.surfaces.cli.timeline import RunningStep, RunTimeline, step_line

if TYPE_CHECKING:
    from mainspring.surfaces.cli.http_client import ApiClient

_LOOK_SECONDS: Final = 0.25
_FRAME_SECONDS: Final = 0.1
_PAGE: Final = 200
_LEAVING: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_GOING: Final = {"pending": "waits for a worker", "running": "running"}


class OutputReader:
    """The output of a run, read on from where the last look ended."""

    def __init__(
        self, client: ApiClient, run_id: str, step: str | None = None, stream: str | None = None
    ) -> None:
        self._client = client
        self._path = f"/runs/{run_id}/output"
        self._query = {"step": step, "stream": stream, "limit": _PAGE}
        self._after: str | None = None

    async def read(self) -> list[dict[str, Any]]:
        """What was written since; each piece as the record has it."""
        found: list[dict[str, Any]] = []
        while True:
            query = {**self._query, "after": self._after}
            page = await self._client.request("GET", self._path, query=query)
            for piece in page["items"]:
                self._after = piece.pop("id")
                found.append(piece)
            if page["next"] is None:
                return found


@contextmanager
def until_left() -> Iterator[asyncio.Event]:
    """Ctrl-C only leaves: it does nothing to the run."""
    loop, left = asyncio.get_running_loop(), asyncio.Event()
    for sign in _LEAVING:
        loop.add_signal_handler(sign, left.set)
    try:
        yield left
    finally:
        for sign in _LEAVING:
            loop.remove_signal_handler(sign)


class RunWatcher:
    """One run, seen through to its end or left. It needs an event loop."""

    def __init__(self, client: ApiClient, run_id: str, screen: Screen) -> None:
        self._client = client
        self._run_id = run_id
        self._show = RunDisplay(screen)
        self._saying = OutputLines(screen)
        self._output = OutputReader(client, run_id)
        self._told: set[tuple[Any, ...]] = set()
        # What is drawn while nothing new is recorded.
        self._now = RunTimeline()

    async def until_end(self, seconds: float | None = None) -> dict[str, Any]:
        """The run as it is when it has ended, or when it was left before."""
        deadline = None if seconds is None else time.monotonic() + seconds
        with self._show, until_left() as left:
            looked = float("-inf")
            run: dict[str, Any] = {}
            while not left.is_set():
                now = time.monotonic()
                if now - looked >= _LOOK_SECONDS:
                    looked = now
                    run = await self._look()
                    if run["status"] in FINAL:
                        break
                self._show.frame(self._now, datetime.now(UTC))
                if deadline is not None and now > deadline:
                    break
                with suppress(TimeoutError):
                    async with asyncio.timeout(_FRAME_SECONDS):
                        await left.wait()
            self._show.said(self._saying.rest())
        return run or await read_run_at(self._client, self._run_id)

    async def _look(self) -> dict[str, Any]:
        """Reports what is new. The run is read first: one that has ended has all of its output."""
        run = await read_run_at(self._client, self._run_id)
        pieces = await self._output.read()
        for row in run["steps"]:
            if row["finished_at"] is None or _step_key(row) in self._told:
                continue
            # A step comes after all of its output.
            last = max(
                (place for place, piece in enumerate(pieces, 1) if _try(piece) == _try(row)),
                default=0,
            )
            self._say(pieces[:last])
            pieces = pieces[last:]
            self._tell(row)
        self._say(pieces)
        if run["status"] not in FINAL:
            self._note(run)
        return run

    def _say(self, pieces: list[dict[str, Any]]) -> None:
        for piece in pieces:
            self._show.said(self._saying.hear(piece))

    def _tell(self, row: Mapping[str, Any]) -> None:
        self._told.add(_step_key(row))
        self._show.line(step_line({**row, "output": None}))
        for going in self._now.going.values():
            going.since = time.monotonic()

    def _note(self, run: Mapping[str, Any]) -> None:
        words = _GOING.get(run["status"])
        key = (words, "")
        if words is not None and key in self._now.going:
            return
        self._now.going.clear()
        self._now.asleep_until = run.get("due_at") if run["status"] == "waiting" else None
        if words is not None:
            self._now.going[words, ""] = RunningStep(1, time.monotonic())


def _step_key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["step"], row["item"], row["attempt"], row["run_attempt"], row["status"]


def _try(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["step"], row["item"], row["attempt"]
