"""The parts around the workers that go away, and a database that is held up: R2, R3, R16."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg

from mainspring.runs import queue
from mainspring.runs.claim_fairness import ClaimFairness
from tests.chaos.check import (
    CheckOptions,
    Verdict,
    at_least,
    at_most,
    exactly,
    none_of,
    percentile,
    told,
)
from tests.crash import schedulers, webhooks
from tests.crash.crash_bench import CrashBench, own_arena
from tests.crash.fault_injection import strike_postgres
from tests.crash.verdict import gather, offences

_PACE = 30.0


async def killed_api(asked: CheckOptions) -> Verdict:
    """R2."""
    kills, calls = asked.of((6, 300), (100, 5_000), check=(4, 200))
    chance = asked.chance()
    async with own_arena(lease=2.0) as (bench, _):
        storm = await webhooks.plant(bench)
        clocks = await schedulers.plant(bench, 5, _PACE)
        fallen = asyncio.create_task(_kill_schedulers(clocks, chance, kills - kills // 2))
        try:
            await webhooks.strike_api(storm, chance, calls=calls, kills=kills // 2)
            await asyncio.wait_for(fallen, 60 + kills)
        finally:
            fallen.cancel()
        clocks.end()
        against = await webhooks.offences(storm, calls)
        moments = await schedulers.offences(clocks)
    without = [one for one in against if one.startswith("answered 202 without")]
    unasked = [one for one in against if one.startswith("a run that no answer named")]
    return Verdict(
        [
            exactly("keys accepted", len(storm.answered), calls),
            none_of("answered 202 without a run", without),
            none_of("runs without an accepted request", unasked),
            none_of("keys without exactly one run, and other answers", against),
            none_of("scheduled moments not fired exactly once", moments),
            told("calls broken off and sent again", storm.broken),
            exactly("blows to the API and to the scheduler", kills // 2 + fallen.result(), kills),
        ],
        [*against, *moments],
    )


async def _kill_schedulers(
    storm: schedulers.SchedulerStress, chance: random.Random, kills: int
) -> int:
    """One of two schedulers dies, again and again; answers how often."""
    for _ in range(2):
        storm.start_scheduler()
    for _ in range(kills):
        await asyncio.sleep(chance.uniform(0.2, 1.5))
        chance.choice(storm.alive).kill()
        storm.start_scheduler()
    begin = min(storm.firsts.values())
    await schedulers.until_past(storm, begin + schedulers.MINUTE)
    return kills


async def restarted_postgres(asked: CheckOptions) -> Verdict:
    """R3."""
    strikes, runs, least, pause = asked.of(
        (5, 300, 3.0, 10.0), (27, 3_000, 5.0, 40.0), check=(4, 200, 1.0, 4.0)
    )
    async with own_arena(
        lease=30.0, heartbeat=10.0, least_ms=5, most_ms=40, takeovers=strikes + 1
    ) as (bench, server):
        pool = [bench.pool.start() for _ in range(3)]
        await bench.until_at_work(*pool)
        began = time.monotonic()
        resumed = await strike_postgres(
            bench,
            asked.chance(),
            server,
            runs=runs,
            strikes=strikes,
            pause=pause,
            down=2.0,
            least=least,
        )
        seconds = time.monotonic() - began
        await bench.until_final(120)
        found = await gather(bench)
        alive = {member.pid for member in bench.pool.alive} & {member.pid for member in pool}
        busy = {move.pid for move in found.moves[-runs:] if move.is_claim}
    against = offences(found)
    return Verdict(
        [
            none_of("offences", against),
            exactly("runs that were handed in", len(found.dispatched), runs),
            exactly("workers alive, of three", len(alive), 3),
            at_least("of which worked at the end", len(busy & alive), 1),
            asked.at_most("work resumed after a start within", max(resumed), 5),
            told("starts of Postgres", f"{len(resumed)} in {seconds:.0f} s"),
        ],
        against,
    )


_CLAIMED = 8
_BACKLOG = 1_000
_ONE_STEP: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "one step",
    "goal": "Go through the queue.",
    "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}],
    "execution": {"concurrency": "allow_parallel"},
}
_DEAD = """
    SELECT coalesce(sum(n_dead_tup), 0)::int8 AS dead, coalesce(sum(n_live_tup), 0)::int8 AS live
    FROM pg_stat_user_tables WHERE relname LIKE 'runs%' OR relname LIKE 'steps%'
"""


async def long_transaction(asked: CheckOptions) -> Verdict:
    """R16."""
    jobs, held = asked.of((10_000, 60.0), (200_000, 600.0), check=(3_000, 20.0))
    async with own_arena(watched=False, lease=30.0, heartbeat=10.0, slots=256) as (bench, server):
        automation = await bench.save(_ONE_STEP)
        pool = [bench.pool.start() for _ in range(2)]
        await bench.until_at_work(*pool)
        url = server.dsn_for(await bench.application.database.fetchval("SELECT current_database()"))
        async with _held_open(url), _timed_claims(bench) as claims:
            began = time.monotonic()
            await _through(bench, automation, jobs, held)
            handed = time.monotonic() - began
        most_dead = (await _dead(bench))[0]
        left, live, seconds = await _cleaned(bench, asked.of(60.0, 180.0, check=180.0))
        ended = await bench.application.database.fetchval(
            "SELECT count(*) FROM runs WHERE status = 'succeeded'"
        )
    tenth, part = max(len(claims) // 10, 1), 0.5 if asked.is_shared else 0.95
    first, last = percentile(claims[:tenth], part), percentile(claims[-tenth:], part)
    bound = max(int(live * 0.1), 2_000)
    return Verdict(
        [
            exactly("jobs that ended well", ended, jobs),
            asked.at_most("slow claims at the end, times those at the start", last / first, 3, ""),
            at_most("dead rows once it had ended", left, bound),
            told(f"claim p{part:.0%}".rstrip("%"), f"{first:.2f} ms, then {last:.2f} ms"),
            told("held for", f"{handed:.0f} s"),
            told("dead rows while it was held", f"{most_dead:,}, cleaned {seconds:.0f} s later"),
        ]
    )


@asynccontextmanager
async def _held_open(url: str) -> AsyncIterator[None]:
    """A transaction that sees the beginning, and lets nothing be cleaned up."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction(isolation="repeatable_read"):
            await connection.execute("SELECT pg_current_xact_id()")
            yield
    finally:
        await connection.close()


@asynccontextmanager
async def _timed_claims(bench: CrashBench) -> AsyncIterator[list[float]]:
    """Milliseconds of a claim as workers make it, every now and then; each is undone."""
    found: list[float] = []
    database, queues = bench.application.database, ("fast", "medium", "long")
    place = queue.WorkerRegistration("probe/0", "probe", 0, queues, _CLAIMED)
    async with database.transaction() as tx:
        worker = await queue.register(tx, place, 3_600)
    turns, clock = ClaimFairness(queues, _CLAIMED), time.monotonic

    async def probe() -> None:
        while True:
            async with database.acquire() as connection:
                undone = connection.transaction()
                await undone.start()
                try:
                    now = await connection.fetchval("SELECT now()")
                    began = clock()
                    look = turns.look({}, _CLAIMED, began)
                    taken = await queue.claim(connection, queues, _CLAIMED, worker, look)
                    found.append((clock() - began) * 1000)
                    turns.record_claim(look, taken, now, clock(), clock() - began)
                finally:
                    await undone.rollback()
            await asyncio.sleep(0.1)

    task = asyncio.create_task(probe())
    try:
        yield found
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with database.transaction() as tx:
            await queue.leave(tx, worker)


async def _through(bench: CrashBench, automation: UUID, jobs: int, seconds: float) -> None:
    """Hands in all jobs, evenly over the time and never too many, and waits for their end."""
    began, handed = time.monotonic(), 0
    while handed < jobs:
        due = int(jobs * (time.monotonic() - began + 1) / seconds)
        few = min(due, jobs) - handed
        if few > 0 and await _waiting(bench) < _BACKLOG:
            few = min(few, _BACKLOG)
            await bench.dispatch(automation, few)
            handed += few
        else:
            await asyncio.sleep(0.05)
    await asyncio.sleep(max(seconds - (time.monotonic() - began), 0))

    async def all_ended() -> bool:
        return not await bench.application.database.fetchval(
            "SELECT count(*) FROM runs WHERE finished_at IS NULL"
        )

    await bench.until(all_ended, 600, "every job has ended")


async def _waiting(bench: CrashBench) -> int:
    found: int = await bench.application.database.fetchval(
        "SELECT count(*) FROM runs WHERE status = 'pending'"
    )
    return found


async def _dead(bench: CrashBench) -> tuple[int, int]:
    row = await bench.application.database.fetchrow(_DEAD)
    assert row is not None
    return row["dead"], row["live"]


async def _cleaned(bench: CrashBench, seconds: float) -> tuple[int, int, float]:
    """Waits until the server has cleaned up by itself; answers what it left."""
    began = time.monotonic()
    while True:
        dead, live = await _dead(bench)
        waited = time.monotonic() - began
        if dead <= max(live * 0.1, 2_000) or waited > seconds:
            return dead, live, waited
        await asyncio.sleep(0.5)
