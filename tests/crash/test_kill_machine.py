"""The whole machine lost again and again: no run is taken for poison, and nothing is lost."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.contracts.limits import Limits
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import FIVE_STEPS, CrashBench, open_crash_bench
from tests.crash.fault_injection import strike
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import gather, lost_runs, misrecorded_steps, repeated_steps
from tests.kit.postgres import running_server

# More than the deaths of a worker that make a run poison.
BLOWS = Limits().takeovers + 1
RUNS, WORKERS = 60, 2
GATE = "machine-stays"
LONG = {
    **FIVE_STEPS,
    "name": "long",
    "plan": [{"step_id": "hang", "action": "crash.hang", "config": {"until": GATE}}],
}


@pytest.fixture(scope="module")
def mortal_server() -> Iterator[EmbeddedServer]:
    with running_server() as server:
        yield server


async def test_no_run_is_dead_after_any_number_of_losses_of_the_machine(
    mortal_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    """Each blow meets the same runs in the middle of their step, with the product's limits."""
    async with open_crash_bench(
        mortal_server, fork_server, folder, copied=False, lease=1.0, heartbeat=0.3, slots=16
    ) as bench:
        hanging = await bench.dispatch(await bench.save(LONG), 4)
        five = await bench.save(FIVE_STEPS)
        for blow in range(1, BLOWS + 1):
            await bench.dispatch(five, RUNS // BLOWS)
            for _ in range(WORKERS):
                bench.pool.start()
            await _until_begun(bench, 4 * blow)
            await _lose_machine(bench, mortal_server, chance)
        (folder / GATE).touch()
        bench.pool.start()
        await bench.until_final(300)
        found = await gather(bench)

    assert [found.runs[run]["status"] for run in hanging] == ["succeeded"] * len(hanging)
    assert {row["takeovers"] for row in found.runs.values()} == {0}
    assert [row for row in found.runs.values() if row["status"] == "dead"] == []
    good = [run for run in bench.runs if run not in hanging]
    assert misrecorded_steps(found, among=good) + repeated_steps(found) + lost_runs(found) == []


async def _until_begun(bench: CrashBench, times: int) -> None:
    """Until the hanging step was begun so often, by all owners together."""

    async def begun() -> bool:
        return sum(entry.is_at("hang") for entry in bench.ledger.begun()) >= times

    await bench.until(begun, 30, f"the long step has begun {times} times")


async def _lose_machine(bench: CrashBench, server: EmbeddedServer, chance: random.Random) -> None:
    """Every worker and the database, in any order and at once."""
    victims = [*bench.pool.alive, None]
    chance.shuffle(victims)
    for victim in victims:
        if victim is None:
            await strike(server, signal.SIGKILL)
        else:
            victim.kill()
    await server.start_async()
