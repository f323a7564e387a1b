"""Runs in a line as a state machine, and a real worker that brings every example to its end.

Next to ``test_run_states``, which knows one run at a time, this one has a lane: runs arrive by
hand, by a firing and as replays, wait for each other, are claimed, recorded, lost, cancelled,
sent to sleep and sent round again, while the automation is paused and edited. A naive model
says who owns a run and who is in front. At the end a real worker does what is left, and no
step that was on record may be done again.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from mainspring.app import (
    Application,
    build_application,
    build_registry,
    build_worker,
    prepare_database,
)
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Conflict
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.runs import queue
from mainspring.runs.control import RunControl
from mainspring.runs.dispatch import DispatchResult
from mainspring.runs.record import RunRecorder
from mainspring.runs.replay import replay
from mainspring.runs.rows import FINAL, ClaimedRun, RunCommit, RunEnd, RunStatus, StepRow
from mainspring.runs.run_requests import RunRequest
from mainspring.runs.worker import rescue
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer
from mainspring.workspace.automations import FIRST_MEMBER, save
from tests.kit.bench import document, step
from tests.kit.postgres import fresh_database

Found = TypeVar("Found")
# scripts/fuzz_states.py goes further.
EXAMPLES: Final = int(os.environ.get("STATE_EXAMPLES", "12"))
STEPS: Final = int(os.environ.get("STATE_STEPS", "50"))
LIMITS: Final = Limits()
QUEUES: Final = ("fast", "medium", "long")
PLAN: Final = ("a", "b", "c")
WORKERS = st.sampled_from([0, 1])
PATIENCE: Final = 60.0
_RUNS: Final = """
    SELECT r.id, r.status, r.fence, r.takeovers, r.attempt, r.version, r.worker, r.arrival,
        r.due_at = 'infinity' AS held, r.finished_at IS NULL AS open,
        (SELECT array_agg(s.step ORDER BY s.step) FROM steps s
         WHERE s.workspace_id = r.workspace_id AND s.run_id = r.id) AS steps
    FROM runs r ORDER BY r.arrival
"""
_WORKER: Final = """
    INSERT INTO workers (name, lease_until, host, launcher)
    VALUES (gen_random_uuid()::text, now() + interval '1 hour', 'here', 'up')
    RETURNING id
"""
_ENDED: Final = "UPDATE workers SET lease_until = now() - interval '1 s' WHERE id = $1"


@dataclass(slots=True)
class Expected:
    """What the model believes about one run."""

    version: int
    status: str = "pending"
    held: bool = False
    fence: int = 0
    attempt: int = 1
    takeovers: int = 0
    losses: int = 0
    progress: bool = False
    cancel_asked: bool = False
    steps: list[str] = field(default_factory=list)

    @property
    def open(self) -> bool:
        return self.status not in FINAL


@dataclass(slots=True)
class World:
    """An application with one automation whose runs wait for each other, kept for all examples."""

    runner: asyncio.Runner
    application: Application
    automation_id: UUID
    # Which step of which run was really done, and how often.
    done: Counter[tuple[str, str]]
    recorder: RunRecorder = field(default_factory=lambda: RunRecorder(LIMITS))

    def do(self, work: Callable[[Any], Awaitable[Found]]) -> Found:
        async def inside() -> Found:
            async with self.application.database.transaction() as tx:
                return await work(tx)

        return self.runner.run(inside())


def planned(goal: str) -> dict[str, Any]:
    marks = [step(name, "test.mark", {"run": "{{ run.id }}", "step": name}) for name in PLAN]
    more = {"execution": {"concurrency": "queue"}, "name": "in line"}
    return {**document(*marks, **more), "goal": goal}


class Line(RuleBasedStateMachine):
    """Everything that may happen to the runs of one lane, in any order."""

    # Set by the test: one application serves all examples.
    world: World

    def __init__(self) -> None:
        super().__init__()
        # In the order in which they wait in the queue.
        self.runs: dict[UUID, Expected] = {}
        self.claims: list[tuple[ClaimedRun, int]] = []
        self.workers: list[int] = []
        self.version = 1
        self.paused = False

    @initialize()
    def start(self) -> None:
        self.world.do(
            lambda tx: tx.execute(
                "TRUNCATE runs, steps, calls, large_results, run_output, agent_turns, events, "
                "workers"
            )
        )
        self.world.done.clear()
        self._state("active")
        row = self.world.do(lambda tx: tx.fetchrow("SELECT version FROM automations"))
        self.version = row["version"]
        self.workers = [self._registered(), self._registered()]

    def _registered(self) -> int:
        return int(self.world.do(lambda tx: tx.fetchrow(_WORKER))["id"])

    def _state(self, state: str) -> None:
        self.world.do(lambda tx: tx.execute("UPDATE automations SET state = $1", state))
        self.paused = state == "paused"

    # --- arriving

    @precondition(lambda self: len(self.runs) < 5)
    @rule(kind=st.sampled_from(["manual", "event"]))
    def arrive(self, kind: str) -> None:
        space = self.world.application.workspace_id
        request = RunRequest(space, self.world.automation_id, trigger_type=kind)
        made = self.world.runner.run(self.world.application.dispatcher.dispatch(request))
        if self.paused and kind != "manual":
            assert made.status == "skipped"
            self.world.do(lambda tx: tx.execute("DELETE FROM runs WHERE id = $1", made.run_id))
            return
        self._is_queued(made, self.version)

    @precondition(lambda self: self.runs and len(self.runs) < 5)
    @rule(data=st.data(), which=st.sampled_from(["same", "active"]))
    def replay(self, data: st.DataObject, which: Any) -> None:
        run_id = data.draw(st.sampled_from(list(self.runs)))
        application = self.world.application
        made = self.world.runner.run(
            replay(
                application.database,
                application.dispatcher,
                LIMITS,
                application.workspace_id,
                run_id,
                version=which,
            )
        )
        same = self.runs[run_id].version
        self._is_queued(made, same if which == "same" else self.version)

    def _is_queued(self, made: DispatchResult, version: int) -> None:
        behind = any(one.open for one in self.runs.values())
        self.runs[made.run_id] = Expected(version, held=behind)

    @rule(state=st.sampled_from(["paused", "active"]))
    def switch(self, state: str) -> None:
        self._state(state)

    @rule()
    def edit(self) -> None:
        """Another version: what waits in the queue keeps the one that it arrived with."""
        self.version = self.world.runner.run(
            _saved(self.world.application, f"Goal {self.version}")
        )[1]

    # --- working

    @rule(worker=WORKERS)
    def claim(self, worker: int) -> None:
        number = self.workers[worker]
        ready = {
            run_id
            for run_id, one in self.runs.items()
            if one.status in ("pending", "waiting") and not one.held
        }
        accepted = self.world.do(lambda tx: queue.claim(tx, QUEUES, 9, number))
        assert all(not self.runs[run.id].takeovers for run in accepted)
        accepted += self.world.do(lambda tx: queue.claim_suspects(tx, QUEUES, 9, number, 9))
        assert {run.id for run in accepted} == ready
        for run in accepted:
            one = self.runs[run.id]
            one.status, one.progress, one.fence = "running", False, one.fence + 1
            assert (run.fence, run.attempt, run.version) == (one.fence, one.attempt, one.version)
            assert run.cancelled is one.cancel_asked
            self.claims.append((run, worker))

    def _owner(self, run: ClaimedRun) -> bool:
        one = self.runs[run.id]
        return one.status == "running" and one.fence == run.fence

    def _flushed(self, unit: RunCommit) -> bool:
        async def flush() -> bool:
            async with self.world.application.database.acquire() as connection:
                (accepted,) = await self.world.recorder.flush(connection, [unit])
                return accepted

        return self.world.runner.run(flush())

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        """The next step of a run, by a worker that believes to own it."""
        run, _ = data.draw(st.sampled_from(self.claims))
        one = self.runs[run.id]
        left = [name for name in PLAN if name not in one.steps]
        if not left:
            return
        owner = self._owner(run)
        row = StepRow(left[0], "", 1, "succeeded", 0, datetime.now(UTC), {"noted": True})
        assert self._flushed(RunCommit(run, [row])) is owner
        if owner:
            one.steps.append(left[0])
            one.progress = True

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), status=st.sampled_from(["succeeded", "failed", "waiting", "pending"]))
    def end(self, data: st.DataObject, status: RunStatus) -> None:
        run, _ = data.draw(st.sampled_from(self.claims))
        one = self.runs[run.id]
        owner = self._owner(run)
        same = one.status == status and one.fence == run.fence
        assert self._flushed(RunCommit(run, end=RunEnd(status))) is (owner or same)
        if owner:
            one.status = status
            self._let_go()

    def _let_go(self) -> None:
        """The first run in the queue, once the run before it is over."""
        front = next((one for one in self.runs.values() if one.open), None)
        if front is not None:
            front.held = False

    @rule(worker=WORKERS)
    def lose(self, worker: int) -> None:
        number = self.workers[worker]
        self.world.do(lambda tx: tx.execute(_ENDED, number))
        assert self.world.do(lambda tx: queue.claim(tx, QUEUES, 9, number)) == []
        self.world.runner.run(rescue(self.world.application.database, LIMITS))
        for run, holder in self.claims:
            if holder == worker and self._owner(run):
                self._lost(self.runs[run.id])
        self._let_go()
        self.workers[worker] = self._registered()

    def _lost(self, one: Expected) -> None:
        # No trial is ever written here: only the first loss without progress is blamed.
        one.takeovers = 1 if one.progress or not one.takeovers else one.takeovers
        one.losses = 1 if one.progress else one.losses + 1
        one.fence += 1
        one.status = "dead" if one.losses >= LIMITS.losses else "pending"

    # --- wishing

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(list(self.runs)))
        one = self.runs[run_id]
        control = RunControl(self.world.application.database, self.world.application.wakeup_sender)
        asking = control.cancel(self.world.application.workspace_id, run_id)
        if not one.open:
            with pytest.raises(Conflict):
                self.world.runner.run(asking)
            return
        self.world.runner.run(asking)
        one.cancel_asked = True
        if one.status != "running":
            one.status, one.held, one.fence = "cancelled", one.held, one.fence + 1
            self._let_go()

    @precondition(lambda self: self.runs)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(list(self.runs)))
        one = self.runs[run_id]
        control = RunControl(self.world.application.database, self.world.application.wakeup_sender)
        asking = control.retry(self.world.application.workspace_id, run_id)
        if one.status not in {"failed", "cancelled", "dead"}:
            with pytest.raises(Conflict):
                self.world.runner.run(asking)
            return
        behind = any(other.open for other in self.runs.values())
        self.world.runner.run(asking)
        one.status, one.held, one.fence = "pending", behind, one.fence + 1
        one.attempt, one.takeovers, one.losses, one.cancel_asked = one.attempt + 1, 0, 0, False
        # It waits in the queue once more, behind everybody else.
        self.runs[run_id] = self.runs.pop(run_id)

    # --- what always holds

    @invariant()
    def the_database_agrees(self) -> None:
        rows = self.world.do(lambda tx: tx.fetch(_RUNS))
        assert [row["id"] for row in rows] == list(self.runs)
        for row in rows:
            one = self.runs[row["id"]]
            assert (row["status"], row["fence"], row["attempt"], row["version"]) == (
                one.status,
                one.fence,
                one.attempt,
                one.version,
            )
            assert row["takeovers"] == one.takeovers
            assert (row["steps"] or []) == one.steps
            assert (row["worker"] is not None) is (one.status == "running")
            assert row["open"] is one.open
            assert not one.open or row["held"] is one.held

    @invariant()
    def one_at_a_time_and_in_order(self) -> None:
        line = [one for one in self.runs.values() if one.open]
        assert sum(one.status == "running" for one in line) <= 1
        assert [one.held for one in line] == [n > 0 for n in range(len(line))]

    def teardown(self) -> None:
        """A real worker does the rest: every step that nobody had recorded, and no other."""
        if not self.workers:
            return
        for worker in (0, 1):
            self.lose(worker)
        before = {run_id: list(one.steps) for run_id, one in self.runs.items()}
        required = {run_id for run_id, one in self.runs.items() if one.open}
        self.world.runner.run(_worked(self.world, required))
        expected = Counter(
            (str(run_id), name)
            for run_id in required
            if not self.runs[run_id].cancel_asked
            for name in PLAN
            if name not in before[run_id]
        )
        assert self.world.done == expected


async def _worked(world: World, wanted: set[UUID]) -> None:
    worker = build_worker(world.application)
    working = asyncio.create_task(worker.run())
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                rows = await world.application.database.fetch("SELECT id, status FROM runs")
                ends = {row["id"]: row["status"] for row in rows}
                if all(ends[run_id] in FINAL for run_id in wanted):
                    break
                await asyncio.sleep(0.02)
    finally:
        worker.stop()
        await working
    assert {ends[run_id] for run_id in wanted} <= {"succeeded", "cancelled"}


def test_any_order_of_events_keeps_the_line_in_order_and_repeats_no_step(
    postgres_server: EmbeddedServer, migrated_template: str, tmp_path: Path
) -> None:
    with asyncio.Runner() as runner:
        stack = AsyncExitStack()
        try:
            making = fresh_database(postgres_server, migrated_template)
            url = runner.run(stack.enter_async_context(making))
            Line.world = runner.run(_world(runner, stack, url, tmp_path))
            run_state_machine_as_test(
                Line,
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    deadline=None,
                    # The same examples in each check; a longer search chooses others each time.
                    derandomize="STATE_EXAMPLES" not in os.environ,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(stack.aclose())


async def _world(runner: asyncio.Runner, stack: AsyncExitStack, url: str, home: Path) -> World:
    given = Settings(
        home=home, database_url=url, poll_seconds=0.1, stop_seconds=1.0, lease_seconds=60.0
    )
    database = await Database.open(given)
    stack.push_async_callback(database.close)
    done: Counter[tuple[str, str]] = Counter()

    async def mark(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
        done[(str(arguments["run"]), str(arguments["step"]))] += 1
        return {"noted": True}

    anything = {"type": "object"}
    marks = Capability(
        "test.mark",
        "Note a step",
        anything,
        anything,
        mark,
        annotations=Annotations(effect=Effect.SEND),
    )
    registry = build_registry(LIMITS, settings=given, capabilities=(marks,))
    application = build_application(given, LIMITS, registry, database)
    await prepare_database(application)
    stack.push_async_callback(application.egress.aclose)
    stack.push_async_callback(application.wakeup_sender.aclose)
    stack.push_async_callback(application.gate.aclose)
    automation_id, _ = await _saved(application, "Keep the line.")
    return World(runner, application, automation_id, done)


async def _saved(application: Application, goal: str) -> tuple[UUID, int]:
    report = validate(planned(goal), application.registry, application.limits)
    async with application.database.transaction() as tx:
        made = await save(
            tx, application.workspace_id, report.accepted(), report.grants, FIRST_MEMBER, via="page"
        )
    return made.automation_id, made.version
