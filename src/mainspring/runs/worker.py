"""The worker: claims due runs, executes many at a time, renews its lease, cleans up.

Four loops share one event loop: claiming, the heartbeat, the rescue of runs whose worker was lost,
and the check for cancelled or halted runs. Any number of workers do the same concurrently and need
no leader.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import platform
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from mainspring.contracts.errors import InternalError, Problem, describe_for_log
from mainspring.contracts.limits import Limits
from mainspring.contracts.log_context import enter_run
from mainspring.runs import queue
from mainspring.runs.claim_fairness import ClaimFairness
from mainspring.runs.engine import Engine, LoadedVersion
from mainspring.runs.execute import Interrupt, RunExecution
from mainspring.runs.halts import finish_releases
from mainspring.runs.rows import ClaimedRun, RunCommit, RunEnd, RunJournal, read_journal, run_event
from mainspring.runs.run_requests import STUCK, lock_lanes, release_lanes
from mainspring.runs.versions import VersionCache
from mainspring.settings import Settings
from mainspring.store.application_name import get_parent_process_id, get_process_id
from mainspring.store.database import Connection, Database, DatabaseClock, is_lost_connection
from mainspring.store.database_errors import is_storage_full, log_and_convert_error
from mainspring.store.events import append_events
from mainspring.store.partitions import ensure_partitions
from mainspring.store.wakeups import HintListener
from mainspring.workspace.redaction import RunSecretMasker
from mainspring.workspace.sealing import SecretScope

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Rescue: runs of lost workers go back to the queue; poison runs end as dead, with the evidence.

# Seconds between two heartbeats, for processes that run no worker.
_HEARTBEAT: Final = Settings().heartbeat_seconds


async def rescue(database: Database, limits: Limits, *, heartbeat: float = _HEARTBEAT) -> int:
    """One round: lost workers, then blocked lanes, then released halts."""
    async with database.acquire() as connection:
        await queue.end_sessions(connection)
    async with database.transaction() as tx:
        lost = await queue.lock_lost_workers(tx)
        gone = {number for number, _ in lost} | set(await queue.find_orphaned_workers(tx))
        names = [name for _, name in lost]
        moved = await _requeue_lost_runs(tx, sorted(gone), names, limits, heartbeat)
        await queue.forget_workers(tx, [number for number, _ in lost])
    # In a separate transaction: the holder of a lane's lock may need a run's row next, so a lane is
    # never locked while rows are locked.
    async with database.transaction() as tx:
        await _unstick(tx)
    await finish_releases(database)
    return moved


async def return_strays(
    database: Database, limits: Limits, worker: int, claims: Collection[tuple[UUID, int]]
) -> None:
    """Return runs that a worker claimed and could not start."""
    async with database.transaction() as tx:
        why = ["this one, which could not start it"]
        # The worker is alive, so its heartbeat does not matter.
        await _requeue_lost_runs(tx, [worker], why, limits, 0.0, claims)


async def _requeue_lost_runs(
    tx: Transaction,
    workers: Sequence[int],
    names: Sequence[str],
    limits: Limits,
    heartbeat: float,
    only: Collection[tuple[UUID, int]] | None = None,
) -> int:
    if not workers:
        return 0
    evidence = InternalError(
        f"The run's worker crashed {limits.takeovers} times during a step, the last "
        f"time with no other run in progress, or was lost {limits.losses} times in "
        "total without finishing a step; the last worker was "
        f"{(names[-1] if names else 'unknown')}.",
        code="poison",
        suggestion=(
            "Check the step after the last recorded one, fix the cause, then retry the run."
        ),
    ).as_dict()
    rows = await queue.requeue_runs(tx, workers, limits, evidence, only, heartbeat=heartbeat)
    dead = RunEnd("dead", "poison", "failed")
    events = [
        run_event(
            row["workspace_id"], row["id"], row["automation_id"], row["name"], dead, row["mode"]
        )
        for row in rows
        if row["status"] == "dead"
    ]
    await append_events(tx, [event for event in events if event is not None])
    return len(rows)


async def _unstick(tx: Transaction) -> None:
    """Release the first run of every lane whose earlier runs have ended."""
    rows = await tx.fetch(STUCK, ["fast", "medium", "long"])
    lanes = sorted({(row["workspace_id"], row["lane"]) for row in rows})
    await lock_lanes(tx, lanes)
    await release_lanes(tx, lanes)


def undecodable(run: ClaimedRun, problem: Problem) -> RunCommit:
    """The end of a run whose definition cannot be read or no longer fits."""
    end = RunEnd("failed", "definition_unusable", "failed", error=problem.as_dict())
    return RunCommit(run, end=end)


log = logging.getLogger(__name__)

Found = TypeVar("Found")
# A run's id and the fencing token of its claim.
Claim = tuple[UUID, int]

# Runs whose worker died are claimed a few at a time; those of a group whose worker died too run
# alone. So a run that kills its worker takes few others with it, and never the same ones twice.
SUSPECTS_TOGETHER = 16
# How long a worker claims nothing new so that a suspect can run alone, and how long it runs alone.
# A run that kills its worker does so early; others do not wait longer.
ALONE_SECONDS = 5.0
# Shortly after the due time, so that the claim finds the run due.
_WAKE_SLACK = 0.005
# How long a claim waits for more free slots.
_GATHER_SECONDS = 0.003
# Hints arrive in bursts: the minimum time between two claims.
_CLAIM_SECONDS = 0.01
# Runs of a lost worker are returned every few seconds at most, so suspects are not queried with
# each claim; nor is the next wake-up time: this worker's own waiting runs announce theirs.
_SUSPECTS_SECONDS, _SLEEPERS_SECONDS = 0.25, 0.05
# The time for returning runs after steps were stopped, and for deregistering.
_HAND_BACK_SECONDS, _GOODBYE_SECONDS = 4.0, 1.0
_AGREED = "SELECT agreed_version FROM automations WHERE workspace_id = $1 AND id = $2"


class Worker:
    """Executes the runs of one process."""

    def __init__(
        self,
        database: Database,
        engine: Engine,
        clock: DatabaseClock,
        versions: VersionCache,
        listener: HintListener,
        settings: Settings,
        *,
        alone_seconds: float = ALONE_SECONDS,
    ) -> None:
        self._database = database
        self._engine = engine
        self._clock = clock
        self._versions = versions
        self._listener = listener
        self._settings = settings
        self._alone_for = alone_seconds
        self._id = 0
        self._lease_end = 0.0
        self._place = queue.WorkerRegistration(
            f"{platform.node()}/{os.getpid()}",
            platform.node(),
            os.getpid(),
            settings.queues,
            settings.slots,
            get_parent_process_id(),
            get_process_id(),
        )
        # An operator asked it to leave.
        self.drained = False
        self._away = False
        # By claim, not by run: a worker that lost a run may claim the same run again.
        self._running: dict[Claim, tuple[RunExecution, asyncio.Task[None]]] = {}
        # Claimed, but not executing yet: its version or its journal is being loaded.
        self._starting: dict[Claim, int] = {}
        self._strays: set[Claim] = set()
        # The number of runs per workspace, and the claim order.
        self._holding: Counter[UUID] = Counter()
        self._fairness = ClaimFairness(settings.queues, settings.slots)
        self._tasks: set[asyncio.Task[None]] = set()
        self._claimed_at = 0.0
        # Whether the last claim got all it asked for, which may be less than the free slots.
        self._filled = False
        # Until when nothing else is claimed, so that a suspect runs alone; and whether slots were
        # kept free for one in vain.
        self._alone_until = 0.0
        self._made_room = False
        # When to query suspects again, and the next wake-up time.
        self._suspects_at = 0.0
        self._sleepers_at = 0.0
        self._wakes_at = math.inf
        # The timer of the next batch for a throttled workspace.
        self._nudge: asyncio.TimerHandle | None = None
        self._freed = asyncio.Event()
        self._stop = asyncio.Event()

    @property
    def in_flight(self) -> int:
        return len(self._running) + len(self._starting)

    def stop(self) -> None:
        """Ask the worker to stop: it claims nothing more from now on."""
        self._stop.set()
        self._freed.set()
        self._listener.stop_waiting()

    async def run(self) -> None:
        """Work until stopped, then return what could not be finished."""
        self._id = await self._retrying(self._register)
        loops = [
            asyncio.create_task(self._every(seconds, act), name=act.__name__)
            for seconds, act in self._duties()
        ]
        loops.append(asyncio.create_task(self._beats(), name="heartbeat"))
        try:
            await self._claim_loop()
        finally:
            await self._wind_down()
            for task in loops:
                task.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            await self._listener.aclose()
            # An unavailable database must not keep a worker from stopping; runs that could not be
            # returned are recovered when the lease expires.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_GOODBYE_SECONDS):
                    await self._engine.writer.aclose()
                    await self._retrying(self._leave)

    def _duties(self) -> list[tuple[float, Callable[[], Awaitable[None]]]]:
        lease = self._settings.lease_seconds
        return [
            (min(lease / 6, 5.0), self._rescue),
            (self._settings.poll_seconds, self._stop_unwanted),
            (3600.0, self._partitions),
        ]

    # --- claiming

    async def _claim_loop(self) -> None:
        while not self._stop.is_set():
            free = await self._free_slots()
            self._filled = False
            # The lease may be lost and replaced while the query is running.
            worker = self._id
            claimed = await self._claimed(free, worker) if free else []
            for run in claimed:
                self._begin(run, worker)
            if len(claimed) < free and not self._filled and not self._stop.is_set():
                pause = self._fairness.pause(self._holding, self._clock.monotonic())
                await self._listener.wait(pause or await self._until_next())

    async def _until_next(self) -> float:
        """The time until the next wake-up, if it is sooner than the next poll."""
        now = self._clock.monotonic()
        if now >= min(self._sleepers_at, self._wakes_at):
            try:
                async with self._database.acquire() as connection:
                    # A run may become due between the claim and this query.
                    since = self._clock.monotonic() - self._claimed_at
                    seconds = await queue.next_due(connection, self._settings.queues, since)
            except Problem:
                seconds = None
            self._sleepers_at = now + _SLEEPERS_SECONDS
            self._wakes_at = math.inf if seconds is None else now + max(seconds, 0.0)
        return min(self._wakes_at - now + _WAKE_SLACK, self._settings.poll_seconds)

    async def _free_slots(self) -> int:
        """Free slots for a claim. Runs end in bursts, and a claim is a commit: wait briefly for
        more slots, so that one half of the runs executes while the other half is being written.
        """
        while (
            self._settings.slots <= self.in_flight or self._alone_seconds > 0
        ) and not self._stop.is_set():
            self._freed.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._alone_seconds or None):
                    await self._freed.wait()
        pause = self._claimed_at + _CLAIM_SECONDS - self._clock.monotonic()
        if self._settings.slots - self.in_flight < self._settings.slots // 2:
            pause = max(pause, _GATHER_SECONDS)
        if pause > 0:
            await asyncio.sleep(pause)
        self._claimed_at = self._clock.monotonic()
        return max(self._settings.slots - self.in_flight, 0)

    @property
    def _alone_seconds(self) -> float:
        """For how long the current runs, if any, must run alone."""
        rest = self._alone_until - self._clock.monotonic()
        return max(rest, 0.0) if self.in_flight else 0.0

    async def _claimed(self, free: int, worker: int) -> list[ClaimedRun]:
        """Empty while the database is unavailable or refuses; the next round retries."""
        try:
            return await self._claim(free, worker)
        except Exception as error:
            # The storage check reports a full disk once.
            if not is_lost_connection(error) and not is_storage_full(error):
                log.exception("Cannot claim runs: %s", describe_for_log(error))
            return []

    async def _claim(self, free: int, worker: int) -> list[ClaimedRun]:
        self._engine.hook("claim.before")
        if self._clock.monotonic() >= self._suspects_at:
            async with self._database.transaction() as tx:
                claimed = await self._claim_suspects(tx, free, worker)
                if len(claimed) < free and not self._is_claiming_paused(claimed):
                    claimed += await self._claim_fairly(tx, free - len(claimed), worker)
        else:
            # One statement, and so one round trip.
            async with self._database.acquire() as connection:
                claimed = await self._claim_fairly(connection, free, worker)
        self._engine.hook("claim.after")
        return claimed

    async def _claim_fairly(self, tx: Connection, most: int, worker: int) -> list[ClaimedRun]:
        now, began = self._clock.now(), self._clock.monotonic()
        look = self._fairness.look(self._holding, most, began)
        taken = await queue.claim(tx, self._settings.queues, look.most, worker, look)
        ended = self._clock.monotonic()
        self._fairness.record_claim(look, taken, now, ended, ended - began)
        self._filled = len(taken) == look.most
        return taken

    async def _claim_suspects(self, tx: Connection, free: int, worker: int) -> list[ClaimedRun]:
        """Suspects come first, as they have waited longest, and take at most half of the slots."""
        room, worst = self._suspect_capacity()
        share = max(free // 2, 1)
        if not room:
            return []
        queues, most = self._settings.queues, min(room, share)
        if worst == 1 and not self._made_room and await queue.has_solitary_suspect(tx, queues):
            self._made_room = True
            self._alone_until = self._clock.monotonic() + self._alone_for
            return []
        found = await queue.claim_suspects(tx, queues, most, worker, worst)
        more = min(SUSPECTS_TOGETHER, share) - 1
        if worst > 1:
            self._made_room, self._alone_until = False, 0.0
        if worst > 1 and more and [run.takeovers for run in found] == [1]:
            # The worst of them has lost only one worker, so others may run with it.
            found += await queue.claim_suspects(tx, queues, more, worker, 1)
        self._suspects_at = 0.0 if found else self._clock.monotonic() + _SUSPECTS_SECONDS
        return found

    def _is_claiming_paused(self, claimed: list[ClaimedRun]) -> bool:
        """Whether nothing else may be claimed: a suspect is running alone, or is about to."""
        taken = not self.in_flight and any(run.takeovers > 1 for run in claimed)
        if taken:
            self._alone_until = self._clock.monotonic() + self._alone_for
        self._filled = taken or self._alone_seconds > 0
        return self._filled

    def _suspect_capacity(self) -> tuple[int, int]:
        """How many more suspects may be claimed, and the maximum number of their lost workers.

        The worst ones are claimed by an idle worker, or by one that has waited in vain to become
        idle.
        """
        going = [execution.run.takeovers for execution, _ in self._running.values()]
        suspects = [count for count in (*going, *self._starting.values()) if count]
        if not suspects and (not self.in_flight or self._made_room):
            return 1, 32_000
        if max(suspects, default=0) > 1:
            return 0, 0
        return max(SUSPECTS_TOGETHER - len(suspects), 0), 1

    def _begin(self, run: ClaimedRun, worker: int) -> None:
        claim = (run.id, run.fence)
        self._starting[claim] = run.takeovers
        self._holding[run.workspace_id] += 1
        self._fairness.begun(run.queue)
        task = asyncio.create_task(self._execute(run, worker), name=f"run-{run.id}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._finished(run))

    async def _execute(self, run: ClaimedRun, worker: int) -> None:
        task = asyncio.current_task()
        assert task is not None
        enter_run(run.workspace_id, run.automation_id, run.id)
        try:
            version = await self._retrying(partial(self._versions.load, run))
            journal = RunJournal()
            if run.resumed:
                journal = await self._retrying(partial(self._read_journal, run))
            known = await self._known(run, version)
            memory = None
            if run.rehearsal_id is not None:
                memory = await self._engine.gate.memory_of(run.workspace_id, run.id)
            if version.may_cost:
                # The run's time limit starts with its execution, and libraries load slowly.
                await self._engine.prepare_models(run.workspace_id)
            execution = RunExecution(self._engine, run, version, journal, known, memory)
            if run.mode == "dry_run" and memory is None:
                agreed = await self._retrying(partial(self._is_agreed, run))
                execution.policy = replace(execution.policy, agreed=agreed)
            execution.stopping = self._stop.is_set()
            execution.holds = partial(self._holds, worker)
        except Exception as error:
            await self._engine.writer.write(undecodable(run, log_and_convert_error(error)))
            return
        self._running[run.id, run.fence] = (execution, task)
        del self._starting[run.id, run.fence]
        await execution.go()

    async def _known(self, run: ClaimedRun, version: LoadedVersion) -> RunSecretMasker:
        """The secrets that an earlier owner of the run may have used."""
        if not run.resumed or not version.secrets:
            return RunSecretMasker()
        scope = SecretScope(run.workspace_id, version.created_by)
        return await self._engine.gate.known_to(scope, version.secrets)

    async def _read_journal(self, run: ClaimedRun) -> RunJournal:
        async with self._database.acquire() as connection:
            return await read_journal(connection, run)

    def _finished(self, run: ClaimedRun) -> None:
        claim = (run.id, run.fence)
        found = self._running.pop(claim, None)
        self._starting.pop(claim, None)
        self._fairness.ended(run.queue)
        self._holding[run.workspace_id] -= 1
        if not self._holding[run.workspace_id]:
            del self._holding[run.workspace_id]
        self._freed.set()
        if run.takeovers:
            self._suspects_at = 0.0
        asleep = found is not None and found[0].asleep
        if asleep:
            self._sleepers_at = 0.0
        if asleep or run.takeovers or run.lane is not None:
            # A waiting run may be the next to wake up, suspects come a few at a time, and the next
            # run in a lane was just released: the claim loop runs before its poll.
            self._listener.nudge()
            return
        pause = self._fairness.pause(self._holding, self._clock.monotonic())
        if pause is not None and self._nudge is None:
            # A throttled workspace can get its next batch.
            self._nudge = asyncio.get_running_loop().call_later(pause, self._deliver_nudge)

    def _deliver_nudge(self) -> None:
        self._nudge = None
        self._listener.nudge()

    # --- the lease

    async def _is_agreed(self, run: ClaimedRun) -> bool:
        """Whether a person has consented to the version of a run."""
        async with self._database.acquire() as connection:
            row = await connection.fetchrow(_AGREED, run.workspace_id, run.automation_id)
        return row is not None and row["agreed_version"] == run.version

    def _holds(self, worker: int) -> bool:
        """Whether the lease that a run was claimed under is still valid, counted from before it was
        requested. A worker that resumed too late has a new lease by now.
        """
        return worker == self._id and self._clock.monotonic() < self._lease_end

    async def _register(self) -> int:
        asked = self._clock.monotonic()
        async with self._database.transaction() as tx:
            number = await queue.register(
                tx, self._place, self._settings.lease_seconds, self._id or None
            )
            # The first claim already needs the database's time.
            self._clock.sync(await tx.fetchval("SELECT now()"), asked=asked)
        self._lease_end = asked + self._settings.lease_seconds
        return number

    async def _leave(self) -> None:
        async with self._database.transaction() as tx:
            await queue.leave(tx, self._id)

    async def _beats(self) -> None:
        """The first heartbeat comes after a pause, because the lease is fresh."""
        await asyncio.sleep(self._settings.heartbeat_seconds * random.uniform(0.8, 1.0))
        await self._every(self._settings.heartbeat_seconds, self._beat)

    async def _beat(self) -> None:
        asked = self._clock.monotonic()
        async with self._database.transaction() as tx:
            heard = await queue.beat(tx, self._id, self._settings.lease_seconds, self.in_flight)
            owned = await queue.find_owned_runs(tx, self._id)
        if heard is None:
            log.warning(
                "The lease expired because this worker or its database stalled. The "
                "worker starts with a new lease."
            )
            for claim in list(self._running):
                self._interrupt(claim, "lost")
            self._id = await self._register()
            return
        self._lease_end = asked + self._settings.lease_seconds
        self._clock.sync(heard.now, asked=asked)
        if heard.draining and not self._stop.is_set():
            log.info(
                "An operator is draining this worker: it claims no new runs and stops "
                "when its runs end."
            )
            self.drained = True
            self.stop()
        await self._return_strays(owned)

    async def _return_strays(self, owned: set[Claim]) -> None:
        """Return runs that the table assigns to this worker but that nothing here executes: failed
        starts.

        One round of grace distinguishes them from runs that were just claimed.
        """
        strays = owned - self._running.keys() - self._starting.keys()
        lost = strays & self._strays
        self._strays = strays - lost
        if lost:
            await return_strays(self._database, self._engine.limits, self._id, sorted(lost))

    async def _rescue(self) -> None:
        beat = self._settings.heartbeat_seconds
        await rescue(self._database, self._engine.limits, heartbeat=beat)

    async def _stop_unwanted(self) -> None:
        """Cancelled runs end; halted ones go back to the queue, where a claim parks them."""
        if not self._running:
            return
        async with self._database.acquire() as connection:
            for claim, cancelled in (await queue.find_revoked_runs(connection, self._id)).items():
                self._interrupt(claim, "cancel" if cancelled else "hand_back")

    async def _partitions(self) -> None:
        async with self._database.transaction() as tx:
            await ensure_partitions(tx, self._clock.now())

    def _interrupt(self, claim: Claim, why: Interrupt) -> None:
        found = self._running.get(claim)
        if found is not None and found[0].interrupt is None:
            found[0].interrupt = why
            found[1].cancel()

    # --- stopping

    async def _wind_down(self) -> None:
        """Let steps in progress finish within the time limit, then return the remaining runs."""
        for execution, _ in self._running.values():
            execution.stopping = True
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=self._settings.stop_seconds)
        for claim in list(self._running):
            self._interrupt(claim, "hand_back")
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=_HAND_BACK_SECONDS)
        for execution, task in self._running.values():
            # Not even that could be written: they are recovered when the lease expires.
            execution.interrupt = "lost"
            task.cancel()

    # --- retrying

    async def _every(self, seconds: float, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await act()
                self._hear_of(away=False)
            except Exception as error:
                if is_lost_connection(error):
                    self._hear_of(away=True)
                elif not is_storage_full(error):
                    log.exception(
                        "A background task of the worker failed: %s", describe_for_log(error)
                    )
                await asyncio.sleep(min(seconds, 0.5))
                continue
            # Jitter keeps many workers from doing the same thing at once.
            await asyncio.sleep(seconds * random.uniform(0.9, 1.0))

    def _hear_of(self, *, away: bool) -> None:
        """Log one line when the database becomes unavailable, and one when it is back."""
        if away and not self._away:
            log.warning("Database unavailable; running runs resume when it is back.")
        elif self._away and not away:
            log.info("Database available again.")
        self._away = away

    async def _retrying(self, act: Callable[[], Awaitable[Found]]) -> Found:
        pause = 0.05
        while True:
            try:
                found = await act()
                self._hear_of(away=False)
                return found
            except Exception as error:
                if not is_lost_connection(error) and not is_storage_full(error):
                    raise
                self._hear_of(away=is_lost_connection(error))
                await asyncio.sleep(pause)
                pause = min(pause * 2, 1.0)
