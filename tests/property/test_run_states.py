"""The run as a state machine: any order of claims, records, losses and wishes is safe.

Two workers, a few runs and everything that may happen to them, on a real database. The
model next to it says who owns a run; the database must agree about every status and every
fence, and accept a record from the owner and from no one else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar
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

from mainspring.contracts.errors import Conflict
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.runs import queue
from mainspring.runs.control import RunControl
from mainspring.runs.record import RunRecorder
from mainspring.runs.rows import FINAL, ClaimedRun, RunCommit, RunEnd, RunStatus, StepRow
from mainspring.runs.run_requests import NewRun, RunRequest, insert_runs
from mainspring.runs.worker import rescue
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer
from mainspring.store.wakeups import WakeupSender
from tests.kit.bench import document, step
from tests.kit.postgres import fresh_database

Found = TypeVar("Found")
LIMITS = Limits()
QUEUES = ["fast", "medium", "long"]
EXAMPLES = int(os.environ.get("STATE_EXAMPLES", "40"))
STEPS = int(os.environ.get("STATE_STEPS", "40"))
WORKERS = st.sampled_from([0, 1])
# What became of a worker whose lease ran out.
FATES = st.sampled_from(["died", "held up", "lost with its machine"])


@dataclass(slots=True)
class Expected:
    """What the model believes about one run."""

    status: str = "pending"
    fence: int = 0
    takeovers: int = 0
    losses: int = 0
    trial: bool = False
    # Records written since the last claim: they are progress.
    progress: bool = False
    records: int = 0
    cancel_asked: bool = False


@dataclass(slots=True)
class World:
    """The database the machine works on, kept for all examples."""

    runner: asyncio.Runner
    database: Database
    workspace_id: UUID
    automation_id: UUID
    wakeup_sender: WakeupSender
    recorder: RunRecorder = field(default_factory=lambda: RunRecorder(LIMITS))

    def do(self, work: Callable[[Any], Awaitable[Found]]) -> Found:
        async def inside() -> Found:
            async with self.database.transaction() as tx:
                return await work(tx)

        return self.runner.run(inside())


class Runs(RuleBasedStateMachine):
    """Everything that may happen to runs, in any order."""

    # Set by the test: one database serves all examples.
    world: World

    def __init__(self) -> None:
        super().__init__()
        self.expected: dict[UUID, Expected] = {}
        self.claims: list[tuple[ClaimedRun, int]] = []
        self.workers: list[int] = []
        self.processes = 0

    @initialize()
    def start(self) -> None:
        self.world.do(
            lambda tx: tx.execute(
                "TRUNCATE runs, steps, calls, large_results, run_output, agent_turns, events, "
                "workers"
            )
        )
        self.workers = [self._registered(), self._registered()]

    def _registered(self) -> int:
        self.processes += 1
        place = queue.WorkerRegistration(
            f"here/{self.processes}", "here", self.processes, ("fast",), 8, "up"
        )
        return self.world.do(lambda tx: queue.register(tx, place, 3600))

    @precondition(lambda self: len(self.expected) < 2)
    @rule()
    def dispatch(self) -> None:
        request = RunRequest(self.world.workspace_id, self.world.automation_id)
        run = NewRun(generate_id(), request, 1, "fast", {}, None, False, None, None, 0)
        self.world.do(lambda tx: insert_runs(tx, [run]))
        self.expected[run.id] = Expected()

    @rule(worker=WORKERS)
    def claim(self, worker: int) -> None:
        number = self.workers[worker]
        for run in self.world.do(lambda tx: queue.claim(tx, QUEUES, 2, number)):
            self._claimed(run, worker, suspect=False)
        for run in self.world.do(lambda tx: queue.claim_suspects(tx, QUEUES, 2, number, 9)):
            self._claimed(run, worker, suspect=True)

    def _claimed(self, run: ClaimedRun, worker: int, *, suspect: bool) -> None:
        expected = self.expected[run.id]
        assert expected.status in ("pending", "waiting")
        assert bool(expected.takeovers) is suspect
        expected.status, expected.progress, expected.trial = "running", False, False
        expected.fence += 1
        assert run.fence == expected.fence
        assert run.cancelled is expected.cancel_asked
        self.claims.append((run, worker))

    def _owner(self, run: ClaimedRun) -> bool:
        expected = self.expected[run.id]
        return expected.status == "running" and expected.fence == run.fence

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        run, _ = data.draw(st.sampled_from(self.claims))
        expected = self.expected[run.id]
        name = f"step_{expected.records}"
        unit = RunCommit(run, [StepRow(name, "", 1, "succeeded", 0, run.started_at, {"n": 1})])
        owner = self._owner(run)
        assert self._flushed(unit) is owner
        if owner:
            expected.records += 1
            expected.progress = True

    @precondition(lambda self: self.claims)
    @rule(data=st.data())
    def begin_a_step(self, data: st.DataObject) -> None:
        run, _ = data.draw(st.sampled_from(self.claims))
        owner = self._owner(run)
        assert self._flushed(RunCommit(run, trial=True)) is owner
        if owner:
            self.expected[run.id].trial = True

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), status=st.sampled_from(["succeeded", "failed", "waiting", "pending"]))
    def end(self, data: st.DataObject, status: RunStatus) -> None:
        run, _ = data.draw(st.sampled_from(self.claims))
        expected = self.expected[run.id]
        owner = self._owner(run)
        same = expected.status == status and expected.fence == run.fence
        assert self._flushed(RunCommit(run, end=RunEnd(status))) is (owner or same)
        if owner:
            expected.status = status

    def _flushed(self, unit: RunCommit) -> bool:
        async def flush() -> bool:
            async with self.world.database.acquire() as connection:
                (accepted,) = await self.world.recorder.flush(connection, [unit])
                return accepted

        return self.world.runner.run(flush())

    @rule(worker=WORKERS, fate=FATES)
    def lose(self, worker: int, fate: str) -> None:
        number = self.workers[worker]
        past = "UPDATE workers SET lease_until = now() - interval '1 s' WHERE id = $1"
        self.world.do(lambda tx: tx.execute(past, number))
        if fate == "held up":
            again = (
                "INSERT INTO workers (name, lease_until) "
                "SELECT name, now() + interval '1 h' FROM workers WHERE id = $1"
            )
            self.world.do(lambda tx: tx.execute(again, number))
        elif fate == "lost with its machine":
            other = "UPDATE workers SET launcher = 'another' WHERE id = $1"
            self.world.do(lambda tx: tx.execute(other, number))
        owned = [run for run, holder in self.claims if holder == worker and self._owner(run)]
        self.world.runner.run(rescue(self.world.database, LIMITS))
        for run in owned:
            self._lost(self.expected[run.id], fate, alone=len(owned) == 1)
        assert self.world.do(lambda tx: queue.claim(tx, QUEUES, 9, number)) == []
        self.workers[worker] = self._registered()

    def _lost(self, expected: Expected, fate: str, *, alone: bool) -> None:
        died = fate == "died"
        counts = fate != "lost with its machine"
        if expected.progress:
            expected.takeovers = expected.losses = int(died)
        else:
            blamed = not expected.takeovers or (
                expected.trial and (expected.takeovers == 1 or alone)
            )
            expected.takeovers += died and blamed
            expected.losses += counts
        expected.fence += 1
        dead = expected.takeovers >= LIMITS.takeovers or expected.losses >= LIMITS.losses
        expected.status = "dead" if dead else "pending"

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.expected)))
        expected = self.expected[run_id]
        control = RunControl(self.world.database, self.world.wakeup_sender)
        if expected.status in FINAL:
            with pytest.raises(Conflict):
                self.world.runner.run(control.cancel(self.world.workspace_id, run_id))
            return
        output = self.world.runner.run(control.cancel(self.world.workspace_id, run_id))
        expected.cancel_asked = True
        if expected.status == "running":
            assert output == "cancelling"
        else:
            expected.status = "cancelled"
            expected.fence += 1

    @precondition(lambda self: self.expected)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        run_id = data.draw(st.sampled_from(sorted(self.expected)))
        expected = self.expected[run_id]
        control = RunControl(self.world.database, self.world.wakeup_sender)
        if expected.status not in {"failed", "cancelled", "dead"}:
            with pytest.raises(Conflict):
                self.world.runner.run(control.retry(self.world.workspace_id, run_id))
            return
        self.world.runner.run(control.retry(self.world.workspace_id, run_id))
        expected.status, expected.takeovers, expected.cancel_asked = "pending", 0, False
        expected.losses = 0
        expected.fence += 1

    @invariant()
    def the_database_agrees(self) -> None:
        rows = self.world.do(
            lambda tx: tx.fetch(
                "SELECT r.id, r.status, r.fence, r.takeovers, r.worker, r.finished_at, "
                "(SELECT count(*) FROM steps s WHERE s.workspace_id = r.workspace_id "
                "AND s.run_id = r.id) AS records FROM runs r"
            )
        )
        assert {row["id"] for row in rows} == self.expected.keys()
        for row in rows:
            expected = self.expected[row["id"]]
            output = (row["status"], row["fence"], row["takeovers"], row["records"])
            assert output == (
                expected.status,
                expected.fence,
                expected.takeovers,
                expected.records,
            )
            assert (row["worker"] is not None) is (expected.status == "running")
            assert (row["finished_at"] is not None) is (expected.status in FINAL)


def test_any_order_of_events_keeps_every_run_with_one_owner_and_one_record_per_step(
    postgres_server: EmbeddedServer, migrated_template: str
) -> None:
    with asyncio.Runner() as runner:
        making = fresh_database(postgres_server, migrated_template)
        url = runner.run(making.__aenter__())
        database = runner.run(Database.open(Settings(database_url=url)))
        try:
            world = runner.run(_world(runner, database))
            Runs.world = world
            run_state_machine_as_test(
                Runs,
                settings=settings(
                    max_examples=EXAMPLES,
                    stateful_step_count=STEPS,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(database.close())
            runner.run(making.__aexit__(None, None, None))


async def _world(runner: asyncio.Runner, database: Database) -> World:
    from mainspring.app import build_registry
    from mainspring.definition.validate import validate
    from mainspring.workspace.automations import (
        FIRST_MEMBER,
        FIRST_WORKSPACE,
        ensure_workspace,
        save,
    )

    plan = document(step("a", "transform_data", {"output": 1}))
    definition = validate(plan, build_registry(LIMITS), LIMITS).accepted()
    async with database.transaction() as tx:
        await ensure_workspace(tx, FIRST_WORKSPACE, "Home")
        saved = await save(tx, FIRST_WORKSPACE, definition, (), FIRST_MEMBER)
    return World(runner, database, FIRST_WORKSPACE, saved.automation_id, WakeupSender(database))
