"""Storms: what is done to a bench while its runs are under way.

Runs are handed in a portion at a time, between the blows, so that each blow meets work.
The instants come from the generator that is given, whose seed the caller prints.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
import signal
import time
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import FIVE_STEPS, CrashBench
from tests.crash.worker_pool import Kill, WorkerProcess
from tests.kit.processes import is_running

_REST, _DYING = 300.0, 30.0


@dataclass(slots=True)
class RunBatches:
    """Runs still to be handed in, in even portions."""

    bench: CrashBench
    automation_id: UUID
    runs: int
    portions: int
    flows: int = 0

    @classmethod
    async def of_five_steps(cls, bench: CrashBench, runs: int, portions: int) -> RunBatches:
        assert runs >= portions, "every portion has at least one run"
        return cls(bench, await bench.save(FIVE_STEPS), runs, portions)

    async def flow(self) -> None:
        """The next portion."""
        before = self.runs * self.flows // self.portions
        self.flows += 1
        upto = self.runs * self.flows // self.portions
        await self.bench.dispatch(self.automation_id, upto - before)

    async def rise(self, chance: random.Random, pause: float, least: float = 0.0) -> None:
        """A pause, the next portion, and then any instant of the time that it takes."""
        await asyncio.sleep(chance.uniform(least, pause))
        await self.flow()
        await asyncio.sleep(chance.uniform(0, self.bench.pool.options.most_ms * 6 / 1000))


async def kill_workers(
    bench: CrashBench, chance: random.Random, *, runs: int, kills: int, workers: int, pause: float
) -> list[Kill]:
    """Kills one of the workers at a random instant, again and again; each is replaced.

    At least two are at work whenever one is killed, so that there is always one who could
    take over.
    """
    tide = await RunBatches.of_five_steps(bench, runs, kills)
    for _ in range(workers):
        bench.pool.start()
    killed = []
    for _ in range(kills):
        while len(ready := await _ready(bench)) < min(workers, 2):
            await asyncio.sleep(0.02)
        await tide.rise(chance, pause)
        pid = chance.choice(sorted(ready))
        killed.append(next(m for m in bench.pool.alive if m.pid == pid).kill())
        bench.pool.start()
    return killed


async def _ready(bench: CrashBench) -> set[int]:
    """Workers that are registered and still there; a lease outlives its worker."""
    return await bench.registered() & {member.pid for member in bench.pool.alive}


async def strike_postgres(
    bench: CrashBench,
    chance: random.Random,
    server: EmbeddedServer,
    *,
    runs: int,
    strikes: int,
    pause: float,
    down: float,
    least: float = 0.0,
) -> list[float]:
    """Ends Postgres under the workers: by SIGKILL and by immediate shutdown, in turn.

    Answers how long it took after each start until a worker wrote again.
    """
    tide = await RunBatches.of_five_steps(bench, runs, 2 * strikes)
    resumed = []
    ways = itertools.cycle((signal.SIGKILL, signal.SIGQUIT))
    for way in itertools.islice(ways, strikes):
        await tide.rise(chance, pause, least)
        await strike(server, way)
        await asyncio.sleep(chance.uniform(0, down))
        await server.start_async()
        # There may be nothing left of the portion before: now there is something to do.
        since = time.time_ns()
        await tide.flow()
        resumed.append(await _until_written(bench, since))
    return resumed


async def strike(server: EmbeddedServer, way: signal.Signals) -> None:
    """The signal goes to the server process alone; its children notice by themselves."""
    pid = server.pid
    assert pid is not None
    os.kill(pid, way)
    deadline = time.monotonic() + _DYING
    while is_running(pid):
        assert time.monotonic() < deadline, f"Postgres is still there {_DYING:g} s later"
        await asyncio.sleep(0.005)


async def freeze_workers(
    bench: CrashBench,
    chance: random.Random,
    *,
    runs: int,
    freezes: int,
    pause: float,
    hold: float = 0.0,
) -> None:
    """Stops one worker at a random instant, until all of its runs have another owner.

    It is woken once its lease has been declared over and it has slept so many seconds, and
    must be at work again before the next one is stopped.
    """
    tide = await RunBatches.of_five_steps(bench, runs, freezes)
    for _ in range(freezes):
        await tide.rise(chance, pause)
        member = chance.choice(bench.pool.alive)
        member.signal(signal.SIGSTOP)
        began = time.monotonic()
        gone = partial(_has_no_lease, bench, member)
        await bench.until(gone, _REST, "the lease has been declared over")
        rest = hold - (time.monotonic() - began)
        await asyncio.sleep(max(rest, chance.uniform(0, pause)))
        member.signal(signal.SIGCONT)
        await bench.until_at_work(member)


async def _has_no_lease(bench: CrashBench, member: WorkerProcess) -> bool:
    async def known(connection: Connection) -> bool:
        row = await connection.fetchrow(
            "SELECT 1 FROM workers WHERE split_part(name, '/', 2)::int = $1", member.pid
        )
        return row is None

    gone: bool = await bench.ask(known)
    return gone


async def _until_written(bench: CrashBench, since_ns: int) -> float:
    """Seconds from a moment to the first change by a worker after it."""

    async def newest(connection: Connection) -> float | None:
        found: float | None = await connection.fetchval(
            "SELECT extract(epoch FROM min(at))::float8 - $1::float8 FROM witness_runs "
            "WHERE at > to_timestamp($1::float8)",
            since_ns / 1e9,
        )
        return found

    async def there() -> bool:
        return await bench.ask(newest) is not None

    await bench.until(there, _REST, "a worker writes again")
    seconds: float = await bench.ask(newest)
    return seconds
