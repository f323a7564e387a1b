"""A worker dies at every named commit point in turn, before and after; others finish.

A five-step run passes five commits of steps and then its end. Each doomed worker holds one
run at a time and dies at one passage of one point, so every gap between two commits is
met: also the one between a write to our own tables and the record of its step.
"""

from __future__ import annotations

from pathlib import Path

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import FIVE_STEPS, CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import gather, offences
from tests.crash.worker_pool import WorkerProcess

STEP_COMMITS = 5
PASSAGES = [
    *((point, 1) for point in ("claim.before", "claim.after", "end.before", "end.after")),
    *(
        (point, nth)
        for point in ("step.before", "step.after")
        for nth in range(1, STEP_COMMITS + 1)
    ),
]


async def test_a_death_at_any_commit_point_loses_and_repeats_nothing(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0, slots=1) as bench:
        automation = await bench.save(FIVE_STEPS)
        await bench.dispatch(automation, len(PASSAGES))
        # No lease runs out before all are dead, or one run would meet several of them.
        doomed = [bench.pool.start(point=point, nth=nth, lease=600) for point, nth in PASSAGES]
        await _until_dead(bench, doomed)
        await bench.let_leases_run_out()
        bench.pool.start(slots=8)
        await bench.until_final(300)
        found = await gather(bench)

    assert offences(found) == []
    dead = {member.pid for member in bench.pool.members[:-1]}
    held = {move.pid for move in found.moves if move.is_claim} & dead
    # All but the one that died before its first claim held a run when they died.
    assert len(held) == len(PASSAGES) - 1


async def _until_dead(bench: CrashBench, doomed: list[WorkerProcess]) -> None:
    async def all_dead() -> bool:
        return not any(member.alive for member in doomed)

    await bench.until(all_dead, 40, "each doomed worker has reached its point")
