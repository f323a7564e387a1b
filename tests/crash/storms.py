"""Storms: what is done to an arena while its runs are under way.

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
from tests.crash.arena import FIVE_STEPS, Arena
from tests.crash.crew import Kill, Member
from tests.kit.processes import is_running

_REST, _DYING = 300.0, 30.0


@dataclass(slots=True)
class Tide:
    """Runs still to be handed in, in even portions."""

    arena: Arena
    automation_id: UUID
    runs: int
    blows: int
    handed: int = 0

    @classmethod
    async def of_five_steps(cls, arena: Arena, runs: int, blows: int) -> Tide:
        return cls(arena, await arena.save(FIVE_STEPS), runs, blows)

    async def flow(self) -> list[UUID]:
        """The next portion; the last one is whatever is left."""
        left = self.runs - self.handed
        portion = min(left, -(-self.runs // max(self.blows, 1)))
        self.handed += portion
        return await self.arena.dispatch(self.automation_id, portion) if portion else []


async def kill_workers(
    arena: Arena, tide: Tide, chance: random.Random, *, workers: int, pause: float
) -> list[Kill]:
    """Kills one of the workers at a random instant, again and again; each is replaced.

    At least two are at work whenever one is killed, so that there is always one who could
    take over.
    """
    for _ in range(workers):
        arena.crew.start()
    kills = []
    for _ in range(tide.blows):
        while len(ready := await _ready(arena)) < min(workers, 2):
            await asyncio.sleep(0.02)
        await tide.flow()
        await asyncio.sleep(chance.uniform(0, pause))
        pid = chance.choice(sorted(ready))
        kills.append(next(m for m in arena.crew.alive if m.pid == pid).kill())
        arena.crew.start()
    return kills


async def _ready(arena: Arena) -> set[int]:
    """Workers that are registered and still there; a lease outlives its worker."""
    return await arena.registered() & {member.pid for member in arena.crew.alive}


async def strike_postgres(
    arena: Arena, tide: Tide, server: EmbeddedServer, chance: random.Random, *,
    pause: float, down: float,
) -> list[float]:  # fmt: skip
    """Ends Postgres under the workers: by SIGKILL and by immediate shutdown, in turn.

    Answers how long it took after each start until a worker wrote again.
    """
    resumed = []
    ways = itertools.cycle((signal.SIGKILL, signal.SIGQUIT))
    for way in itertools.islice(ways, tide.blows):
        await tide.flow()
        await asyncio.sleep(chance.uniform(0, pause))
        await strike(server, way)
        await asyncio.sleep(chance.uniform(0, down))
        await server.start_async()
        # Whatever is left of the portion may be little: there must be something to resume.
        since = time.time_ns()
        await tide.flow()
        resumed.append(await _until_written(arena, since))
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


async def freeze_workers(arena: Arena, tide: Tide, chance: random.Random, *, pause: float) -> None:
    """Stops one worker at a random instant, until all of its runs have another owner.

    It is woken once its lease has been declared over, and must be at work again before
    the next one is stopped.
    """
    for _ in range(tide.blows):
        await tide.flow()
        await asyncio.sleep(chance.uniform(0, pause))
        member = chance.choice(arena.crew.alive)
        member.signal(signal.SIGSTOP)
        gone = partial(_has_no_lease, arena, member)
        await arena.until(gone, _REST, "the lease has been declared over")
        await asyncio.sleep(chance.uniform(0, pause))
        member.signal(signal.SIGCONT)
        await arena.until_at_work(member)


async def _has_no_lease(arena: Arena, member: Member) -> bool:
    async def known(connection: Connection) -> bool:
        row = await connection.fetchrow(
            "SELECT 1 FROM workers WHERE split_part(name, '/', 2)::int = $1", member.pid
        )
        return row is None

    gone: bool = await arena.ask(known)
    return gone


async def _until_written(arena: Arena, since_ns: int) -> float:
    """Seconds from a moment to the first change by a worker after it."""

    async def newest(connection: Connection) -> float | None:
        found: float | None = await connection.fetchval(
            "SELECT extract(epoch FROM min(at))::float8 - $1::float8 FROM witness_runs "
            "WHERE at > to_timestamp($1::float8)", since_ns / 1e9,
        )  # fmt: skip
        return found

    async def there() -> bool:
        return await arena.ask(newest) is not None

    await arena.until(there, _REST, "a worker writes again")
    seconds: float = await arena.ask(newest)
    return seconds
