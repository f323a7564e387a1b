"""Postgres killed under the workers: they survive, go on within seconds, and lose nothing."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from mainspring.store.data_folder import read_owner
from mainspring.store.embedded import EmbeddedServer, build_dsn
from tests.crash.crash_bench import FIVE_STEPS, arena_at, arena_on
from tests.crash.fault_injection import strike_postgres
from tests.crash.fork_server import Nursery
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
    mortal_server: EmbeddedServer, nursery: Nursery, folder: Path, chance: random.Random
) -> None:
    async with arena_on(
        mortal_server,
        nursery,
        folder,
        copied=False,
        lease=10.0,
        heartbeat=2.0,
        least_ms=5,
        most_ms=30,
    ) as arena:
        workers = [arena.crew.start() for _ in range(3)]
        await arena.until_at_work(*workers)
        resumed = await strike_postgres(
            arena, chance, mortal_server, runs=RUNS, strikes=STRIKES, pause=0.4, down=1.0
        )
        await arena.until_final(300)
        found = await gather(arena)
        assert [member.pid for member in arena.crew.alive] == [w.pid for w in workers]

    assert offences(found) == []
    assert len(resumed) == STRIKES
    assert max(resumed) <= RESUME_SECONDS


async def test_postgres_may_die_at_any_commit_point(
    mortal_server: EmbeddedServer, nursery: Nursery, folder: Path
) -> None:
    async with arena_on(mortal_server, nursery, folder, copied=False, lease=20.0) as arena:
        automation = await arena.save(FIVE_STEPS)
        for point, nth in POINTS:
            await arena.dispatch(automation, 6)
            worker = arena.crew.start(point=point, nth=nth, victim=mortal_server.pid)
            wait_until(lambda: not mortal_server.alive(), 20, f"Postgres has died at {point}")
            await mortal_server.start_async()
            await arena.until_final(300)
            worker.signal(signal.SIGTERM)
            assert await arena.until_ended(worker, 10) == 0, arena.crew.words()
        found = await gather(arena)

    assert offences(found) == []


async def test_the_death_of_the_owner_of_postgres_is_healed_by_the_next_start(
    data_home: Path, nursery: Nursery, folder: Path, chance: random.Random
) -> None:
    with module_process("tests.kit.owner_process", [str(data_home)]) as owner:
        first_line(owner)
        named = read_owner(data_home)
        assert named is not None
        async with arena_at(
            build_dsn(named.socket), nursery, folder, stop=STOP, slots=4, least_ms=5, most_ms=30
        ) as arena:
            leaving, staying = arena.crew.start(), arena.crew.start()
            await arena.until_at_work(leaving, staying)
            await arena.dispatch(await arena.save(FIVE_STEPS), 60)
            marks = chance.randrange(10, 100)
            wait_until(lambda: len(arena.ledger.begun()) >= marks, 20, "runs are under way")
            owner.kill()
            owner.wait()
            # A worker stops in good order also while its database is away.
            leaving.signal(signal.SIGTERM)
            assert await arena.until_ended(leaving, STOP + 5 + BUSY) == 0
            with module_process("tests.kit.owner_process", [str(data_home)]) as heir:
                first_line(heir)
                await arena.until_final(300)
                found = await gather(arena)
            assert [member.pid for member in arena.crew.alive] == [staying.pid]

    assert offences(found) == []
