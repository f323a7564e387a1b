"""Postgres killed under the workers: they survive, go on within seconds, and lose nothing."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import EmbeddedServer, build_dsn
from tests.crash.crash_bench import FIVE_STEPS, arena_at, open_crash_bench
from tests.crash.fault_injection import strike_postgres
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import gather, offences
from tests.kit.postgres import running_server
from tests.kit.processes import first_line, module_process, wait_until

RUNS, STRIKES = 150, 4
POINTS = [
    ("claim.before", 1),
    ("claim.after", 1),
    ("step.before", 4),
    ("step.after", 9),
    ("end.before", 2),
    ("end.after", 1),
]
RESUME_SECONDS = 5.0
STOP, BUSY = 0.5, 5.0


@pytest.fixture(scope="module")
def mortal_server() -> Iterator[EmbeddedServer]:
    """A server that is killed again and again; the other tests keep theirs."""
    with running_server() as server:
        yield server


async def test_workers_outlive_their_database_and_nothing_is_lost(
    mortal_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(
        mortal_server,
        fork_server,
        folder,
        copied=False,
        lease=10.0,
        heartbeat=2.0,
        least_ms=5,
        most_ms=30,
    ) as bench:
        workers = [bench.pool.start() for _ in range(3)]
        await bench.until_at_work(*workers)
        resumed = await strike_postgres(
            bench, chance, mortal_server, runs=RUNS, strikes=STRIKES, pause=0.4, down=1.0
        )
        await bench.until_final(300)
        found = await gather(bench)
        assert [member.pid for member in bench.pool.alive] == [w.pid for w in workers]

    assert offences(found) == []
    assert len(resumed) == STRIKES
    assert max(resumed) <= RESUME_SECONDS


async def test_postgres_may_die_at_any_commit_point(
    mortal_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(
        mortal_server, fork_server, folder, copied=False, lease=20.0
    ) as bench:
        automation = await bench.save(FIVE_STEPS)
        for point, nth in POINTS:
            await bench.dispatch(automation, 6)
            worker = bench.pool.start(point=point, nth=nth, victim=mortal_server.pid)
            wait_until(lambda: not mortal_server.alive(), 20, f"Postgres has died at {point}")
            await mortal_server.start_async()
            await bench.until_final(300)
            worker.signal(signal.SIGTERM)
            assert await bench.until_ended(worker, 10) == 0, bench.pool.log_tail()
        found = await gather(bench)

    assert offences(found) == []


async def test_the_death_of_the_owner_of_postgres_is_healed_by_the_next_start(
    data_home: Path, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    with module_process("tests.kit.owner_process", [str(data_home)]) as owner:
        first_line(owner)
        named = read_owner(data_home)
        assert named is not None
        async with arena_at(
            build_dsn(named.socket), fork_server, folder, stop=STOP, slots=4, least_ms=5, most_ms=30
        ) as bench:
            leaving, staying = bench.pool.start(), bench.pool.start()
            await bench.until_at_work(leaving, staying)
            await bench.dispatch(await bench.save(FIVE_STEPS), 60)
            marks = chance.randrange(10, 100)
            wait_until(lambda: len(bench.ledger.begun()) >= marks, 20, "runs are under way")
            owner.kill()
            owner.wait()
            # A worker stops in good order also while its database is away.
            leaving.signal(signal.SIGTERM)
            assert await bench.until_ended(leaving, STOP + 5 + BUSY) == 0
            with module_process("tests.kit.owner_process", [str(data_home)]) as heir:
                first_line(heir)
                await bench.until_final(300)
                found = await gather(bench)
            assert [member.pid for member in bench.pool.alive] == [staying.pid]

    assert offences(found) == []
