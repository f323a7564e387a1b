"""Waits for the results of runs, for callers who want an answer.

A waiting caller holds no worker and no database connection: it is one future of this process. One
task looks the awaited runs up together, as soon as a worker announces one of them and at an
interval. The answer itself is only read from the run's row and its steps, so a repeated request
gets the same answer, whichever process it reaches.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.runs.rows import FINAL
from mainspring.runs.versions import VersionCache
from mainspring.store.database import Database
from mainspring.store.wakeups import EVERYTHING, WakeupListener, WakeupSender

ANSWERS_CHANNEL: Final = "mainspring_answers"
# How often awaited runs are looked up without an announcement.
_LOOK_SECONDS: Final = 0.5
# How many callers of one process may wait; further ones get the address of their run at once.
MOST_WAITING: Final = 5_000

_RUNS: Final = """
    SELECT r.id, r.workspace_id, r.automation_id, r.version, r.status, r.reason, r.outcome,
        r.output, r.error, extract(epoch FROM
            nullif(coalesce(r.parked_due_at, r.due_at), 'infinity') - now())::float8 AS due_in
    FROM unnest($1::uuid[], $2::uuid[]) AS w(workspace_id, id) JOIN runs r USING (workspace_id, id)
"""
# The first answer of a run counts.
_ANSWERS: Final = """
    SELECT DISTINCT ON (s.run_id) s.run_id, s.output
    FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS w(workspace_id, run_id, step)
    JOIN steps s USING (workspace_id, run_id, step)
    WHERE s.status = 'succeeded' ORDER BY s.run_id, s.finished_at, s.item
"""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run has come to so far."""

    status: str
    reason: str | None = None
    outcome: str | None = None
    output: Any = None
    error: Mapping[str, Any] | None = None
    # The output of the step that answers the caller, if it has run.
    answer: Mapping[str, Any] | None = None

    @property
    def final(self) -> bool:
        return self.status in FINAL


@dataclass(slots=True, eq=False)
class Expectation:
    """One caller that waits for one run."""

    workspace_id: UUID
    run_id: UUID
    # Whether the answer of a step is enough, before the run has ended.
    by_step: bool
    until: float
    settled: asyncio.Future[RunResult] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def settle(self, result: RunResult, due_in: float | None) -> None:
        """End the wait when the result is final, or cannot become so in time."""
        if self.settled.done():
            return
        answered = self.by_step and result.answer is not None
        # A run that waits for a person, or for longer than the caller.
        sleeps = result.status == "waiting" and (
            due_in is None or due_in > self.until - time.monotonic()
        )
        if result.final or answered or sleeps:
            self.settled.set_result(result)


class AnswerAnnouncer:
    """Notifies the processes in which callers wait."""

    def __init__(self, wakeup_sender: WakeupSender) -> None:
        self._wakeup_sender = wakeup_sender

    def announce(self, run_id: UUID) -> None:
        """Call it after the commit."""
        self._wakeup_sender.wake(ANSWERS_CHANNEL, str(run_id))


class RunWaiter:
    """Waits for runs, for all callers of one process."""

    def __init__(self, database: Database, versions: VersionCache) -> None:
        self._database = database
        self._versions = versions
        self._listener = WakeupListener(database, ANSWERS_CHANNEL)
        self._waiting: dict[UUID, set[Expectation]] = defaultdict(set)
        # Runs that are looked up without waiting for an announcement.
        self._asked: set[UUID] = set()
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """Callers that wait."""
        return sum(len(group) for group in self._waiting.values())

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= MOST_WAITING

    @contextmanager
    def expect(
        self,
        workspace_id: UUID,
        run_id: UUID,
        seconds: float,
        *,
        by_step: bool = False,
        exists: bool = False,
    ) -> Iterator[Expectation]:
        """Wait for a run inside the block.

        ``exists``: the run may have ended already, so it is looked up at once.
        """
        expected = Expectation(workspace_id, run_id, by_step, time.monotonic() + seconds)
        if not self._waiting:
            # The task sleeps for long while nobody waits.
            self._listener.nudge()
        self._waiting[run_id].add(expected)
        if exists:
            self.look_at(run_id)
        self._start()
        try:
            yield expected
        finally:
            group = self._waiting[run_id]
            group.discard(expected)
            if not group:
                del self._waiting[run_id]
            if not expected.settled.done():
                expected.settled.cancel()

    def look_at(self, run_id: UUID) -> None:
        """Look a run up now."""
        self._asked.add(run_id)
        self._listener.nudge()

    async def read(self, workspace_id: UUID, run_id: UUID) -> RunResult | None:
        """The run as it is now."""
        found = await self._read([(workspace_id, run_id)])
        return found[run_id][0] if run_id in found else None

    async def aclose(self) -> None:
        """Stop listening; it starts again with the next caller."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        await self._listener.aclose()

    def _start(self) -> None:
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look_for_ever(), name="answers")

    async def _look_for_ever(self) -> None:
        looked = time.monotonic()
        while True:
            left = _LOOK_SECONDS - (time.monotonic() - looked)
            # Without callers it only keeps listening, so that the next one need not connect first.
            hints = await self._listener.wait(max(left, 0.001) if self._waiting else 3_600.0)
            asked, self._asked = self._asked, set()
            if EVERYTHING in hints or time.monotonic() - looked >= _LOOK_SECONDS:
                looked = time.monotonic()
                wanted = set(self._waiting)
            else:
                wanted = asked | {UUID(one) for one in hints}
            try:
                await self._settle(wanted & self._waiting.keys())
            except Problem as problem:
                # The rows are looked up again shortly.
                log.debug("Awaited runs could not be read: %s", problem.detail)

    async def _settle(self, run_ids: Iterable[UUID]) -> None:
        wanted = [(one.workspace_id, id_) for id_ in run_ids for one in [*self._waiting[id_]][:1]]
        if not wanted:
            return
        for run_id, (result, due_in) in (await self._read(wanted)).items():
            for one in [*self._waiting.get(run_id, ())]:
                one.settle(result, due_in)

    async def _read(
        self, wanted: Sequence[tuple[UUID, UUID]]
    ) -> dict[UUID, tuple[RunResult, float | None]]:
        rows = await self._database.fetch(
            _RUNS, [space for space, _ in wanted], [run_id for _, run_id in wanted]
        )
        answers = await self._read_answers(rows)
        return {
            row["id"]: (
                RunResult(
                    row["status"],
                    row["reason"],
                    row["outcome"],
                    row["output"],
                    row["error"],
                    answers.get(row["id"]),
                ),
                row["due_in"],
            )
            for row in rows
        }

    async def _read_answers(self, rows: Sequence[Any]) -> dict[UUID, Any]:
        steps: list[tuple[UUID, UUID, str]] = []
        for row in rows:
            try:
                version = await self._versions.get(
                    row["workspace_id"], row["automation_id"], row["version"]
                )
            except Problem:
                # A version that cannot be loaded answers nothing; its run fails.
                continue
            names = version.program.answer_steps
            steps += [(row["workspace_id"], row["id"], name) for name in names]
        if not steps:
            return {}
        found = await self._database.fetch(
            _ANSWERS, *(list(one) for one in zip(*steps, strict=True))
        )
        return {row["run_id"]: row["output"] for row in found}
