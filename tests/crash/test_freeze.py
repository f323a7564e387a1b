"""A frozen worker loses its runs: whatever it wants to write when it wakes up is refused."""

from __future__ import annotations

import signal
import time
from pathlib import Path

from mainspring.runs.rows import FINAL
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import FIVE_STEPS, FIVE_STEPS_SPOTS, CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import (
    foreign_writes,
    gather,
    lost_runs,
    misrecorded_steps,
    not_kept_once,
    offences,
    repeated_steps,
    takeovers,
)
from tests.crash.worker_pool import WorkerProcess

LEASE = 1.5
# Between a claim and the first step, before a record, after one, and before the end; each
# after some runs, so that what a worker does once in its life is behind it.
POINTS = [("claim.after", 5), ("step.before", 27), ("step.after", 29), ("end.before", 5)]
GATED = {
    **FIVE_STEPS,
    "name": "gated",
    "plan": [
        *FIVE_STEPS["plan"],
        {"step_id": "gate", "action": "crash.hang", "config": {"until": "open"}},
    ],
}
GATED_SPOTS = FIVE_STEPS_SPOTS | {("gate", "")}
FROZEN_INSIDE = {
    **FIVE_STEPS,
    "name": "frozen inside a transaction",
    "plan": [
        {"step_id": "keep", "action": "crash.freeze", "config": {}},
        {"step_id": "leave", "action": "ledger.apply", "config": {"mark": "out"}},
    ],
}


async def test_a_worker_that_wakes_up_after_its_lease_writes_nothing_and_goes_on_working(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    gate = folder / "open"
    gate.touch()
    async with open_crash_bench(
        durable_server, fork_server, folder, lease=LEASE, heartbeat=0.4, slots=1, most_ms=4
    ) as bench:
        automation = await bench.save(GATED)
        early = await bench.dispatch(automation, 40)
        sleepers = [bench.pool.start(point=point, nth=nth, fate="freeze") for point, nth in POINTS]
        await _until_frozen(bench, sleepers)
        gate.unlink()
        heir = bench.pool.start(slots=len(early))
        # The heir is in the middle of every run when the sleepers wake up and want to write.
        await _until_at_the_gate(bench, heir)
        woken_ns = time.time_ns()
        for member in sleepers:
            member.signal(signal.SIGCONT)
        await bench.until_at_work(*sleepers)
        gate.touch()
        await bench.until_final(300)
        heir.signal(signal.SIGTERM)
        assert await bench.until_ended(heir, 10) == 0
        late = await bench.dispatch(automation, 12)
        await bench.until_final(300)
        found = await gather(bench)

    sleeping = {member.pid for member in sleepers}
    after = [move for move in found.moves if move.at_ns > woken_ns and move.pid in sleeping]
    assert offences(found, GATED_SPOTS) == []
    assert sleeping <= {move.pid for move in found.moves if move.is_claim and move.run_id in early}
    assert [move for move in after if move.run_id in early] == []
    assert {move.run_id for move in after} == set(late)
    assert min(accepted.put_back for accepted in takeovers(found, LEASE)) >= LEASE


async def test_a_worker_frozen_inside_a_transaction_keeps_nobody_from_its_runs(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(
        durable_server, fork_server, folder, lease=LEASE, heartbeat=0.4
    ) as bench:
        sleeper = bench.pool.start()
        # What a worker does once in its life is behind it then.
        await bench.dispatch(await bench.save(FIVE_STEPS), 20)
        await bench.until_final(300)
        (frozen,) = await bench.dispatch(await bench.save(FROZEN_INSIDE), 1)
        await _until_frozen(bench, [sleeper])
        bench.pool.start()
        await bench.until_final(300)
        sleeper.signal(signal.SIGCONT)
        await bench.until_at_work(sleeper)
        found = await gather(bench)

    spots = {("keep", ""), ("leave", "")}
    assert lost_runs(found) + misrecorded_steps(found, spots, among=[frozen]) == []
    assert repeated_steps(found) + not_kept_once(found) + foreign_writes(found) == []


async def _until_frozen(bench: CrashBench, sleepers: list[WorkerProcess]) -> None:
    async def all_frozen() -> bool:
        return all(member.frozen for member in sleepers)

    await bench.until(all_frozen, 20, "each worker has frozen at its point")


async def _until_at_the_gate(bench: CrashBench, heir: WorkerProcess) -> None:
    async def all_there() -> bool:
        statuses = await bench.statuses(bench.runs)
        waiting = {run for run, status in statuses.items() if status not in FINAL}
        there = {e.place[0] for e in bench.ledger.begun() if e.pid == heir.pid and e.is_at("gate")}
        return waiting == waiting & there

    await bench.until(all_there, 30, "the heir has brought every run to the gate")
