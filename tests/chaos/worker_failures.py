"""Workers that are killed, frozen, poisoned and asked to stop: R1, R4, R9, R10, R15."""

from __future__ import annotations

import asyncio
import itertools
import random
import signal
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from mainspring.store.database import Connection
from tests.chaos.batteries import battery
from tests.chaos.check import (
    CheckOptions,
    Figure,
    Verdict,
    at_least,
    at_most,
    exactly,
    none_of,
    told,
    within,
)
from tests.crash.crash_bench import FIVE_STEPS, CrashBench, own_arena
from tests.crash.fault_injection import freeze_workers, kill_workers
from tests.crash.test_overlap import marks, overlaps, spans
from tests.crash.test_poison import HANGING, POISON, SPOILED
from tests.crash.test_stop import hanging
from tests.crash.verdict import (
    SECOND,
    TAKEOVER_SECONDS,
    Evidence,
    foreign_writes,
    gather,
    lost_runs,
    misrecorded_steps,
    offences,
    repeated_executions,
    repeated_steps,
    seconds_after,
    takeovers,
    unexplained_executions,
)
from tests.crash.worker_pool import WorkerProcess


async def killed_workers(asked: CheckOptions) -> Verdict:
    """R1."""
    kills, runs = asked.of((20, 200), (200, 2_000), check=(12, 120))
    lease, pause, poll = asked.of((2.0, 0.5, 0.2), (30.0, 3.0, 1.0))
    async with own_arena(
        lease=lease,
        heartbeat=lease / 3,
        poll=poll,
        slots=8,
        least_ms=5,
        most_ms=40,
        takeovers=kills + 1,
    ) as (bench, _):
        sizes: dict[str, Any] = {"runs": runs, "kills": kills, "workers": 3, "pause": pause}
        blows = await kill_workers(bench, asked.chance(), **sizes)
        await bench.until_final(lease + 120)
        found = await gather(bench)
    against = offences(found)
    delays = [one.claimed for one in takeovers(found, lease)]
    return Verdict(
        [
            exactly("runs that ended well", _succeeded(found), runs),
            none_of("offences", against),
            within("orphans taken over after", delays, lease, lease + TAKEOVER_SECONDS + poll, "s"),
            asked.at_most("settled after the last kill", seconds_after(found, blows[-1].at_ns), 60),
            told("takeovers", len(delays)),
            told("repeated before their record", repeated_executions(found)),
        ],
        against,
    )


def _succeeded(found: Evidence) -> int:
    return sum(found.runs[run]["status"] == "succeeded" for run in found.dispatched)


async def frozen_workers(asked: CheckOptions) -> Verdict:
    """R4."""
    freezes, runs = asked.of((6, 120), (50, 1_000), check=(4, 80))
    lease, hold = asked.of((2.0, 0.0), (5.0, 20.0))
    async with own_arena(
        lease=lease,
        heartbeat=lease / 3,
        poll=0.2,
        slots=8,
        least_ms=5,
        most_ms=60,
        takeovers=freezes + 1,
    ) as (bench, _):
        pool = [bench.pool.start() for _ in range(3)]
        await bench.until_at_work(*pool)
        await freeze_workers(
            bench, asked.chance(), runs=runs, freezes=freezes, pause=0.5, hold=hold
        )
        await bench.until_final(60)
        found = await gather(bench)
    against = offences(found)
    return Verdict(
        [
            none_of("writes of an old holder", foreign_writes(found)),
            none_of("double effects and other offences", against),
            at_least("runs taken from a frozen worker", len(takeovers(found, lease)), 1),
            await battery(
                "run token of a lost lease refused:",
                ["tests/integration/gate/test_run_tokens.py"],
                "dies_with_the_lease",
            ),
        ],
        against,
    )


_LANE_LEASE = 4.0


async def lanes(asked: CheckOptions) -> Verdict:
    """R9."""
    fires, chance = asked.of(120, 500, check=60), asked.chance()
    async with own_arena(lease=_LANE_LEASE, heartbeat=1.0, poll=0.2) as (bench, _):
        pool = [bench.pool.start() for _ in range(3)]
        await bench.until_at_work(*pool)
        queued, _ = await _fired(bench, "queue", fires, chance)
        dropped, blocked = await _fired(bench, "drop_if_running", fires, chance)
        other, _ = await _fired(bench, "allow_parallel", fires, chance)
    against = [f"queue: {pair}" for pair in overlaps(queued)]
    against += [f"drop_if_running: {pair}" for pair in overlaps(dropped)]
    bad = [row["id"] for row in (*queued, *dropped, *other) if row["status"] != "succeeded"]
    return Verdict(
        [
            none_of("overlaps under queue and drop_if_running", against),
            at_least("queued runs that went in order of arrival", len(queued), fires),
            none_of("runs that did not end well", [str(one) for one in bad]),
            asked.at_most("next fire blocked after the crash", blocked, 1.5 * _LANE_LEASE),
            at_least("runs of allow_parallel", len(other), fires),
            at_least("of which began beside another", len(overlaps(other)), 1),
            told("fires that drop_if_running let through", len(dropped)),
        ],
        against,
    )


async def _fired(
    bench: CrashBench, policy: str, fires: int, chance: random.Random
) -> tuple[list[Any], float]:
    """Fires one by one, and in the middle the worker that has a run of these dies."""
    automation = await bench.save(marks(policy))
    for _ in range(fires // 2):
        await bench.dispatch(automation, 1)
        await asyncio.sleep(chance.uniform(0, 0.01))
    killed_at = (await _holder(bench, automation)).kill().at_ns / SECOND
    bench.pool.start()
    # Spread over longer than the lease, so that some come when the lane is free again.
    rest = fires - fires // 2
    for _ in range(rest):
        await bench.dispatch(automation, 1)
        await asyncio.sleep(chance.uniform(0, 2) * (1.5 * _LANE_LEASE) / rest)
    # A fire that is dropped says nothing about when the lane is free.
    while not (later := await _later(bench, automation, killed_at)):
        await bench.dispatch(automation, 1)
        await asyncio.sleep(0.1)
    await bench.until_final(120)
    return await spans(bench, automation), later[0]


async def _later(bench: CrashBench, automation: UUID, killed_at: float) -> list[float]:
    """How long after the crash runs began that had not begun before."""
    starts = [row["started_at"] for row in await spans(bench, automation)]
    return sorted(
        one.timestamp() - killed_at for one in starts if one and one.timestamp() > killed_at
    )


async def _holder(bench: CrashBench, automation: UUID) -> WorkerProcess:
    """The worker that has a run of this automation; if nobody has one, one is handed in."""

    async def read(connection: Connection) -> int | None:
        found: int | None = await connection.fetchval(
            "SELECT split_part(w.name, '/', 2)::int FROM runs r JOIN workers w ON w.id = r.worker "
            "WHERE r.automation_id = $1 AND r.status = 'running' LIMIT 1",
            automation,
        )
        return found

    for number in itertools.count():
        pid = await bench.ask(read)
        for member in bench.pool.alive:
            if member.pid == pid:
                return member
        if number % 20 == 0:
            await bench.dispatch(automation, 1)
    raise AssertionError


_CREW = 3


async def poisoned(asked: CheckOptions) -> Verdict:
    """R10."""
    lease, least, most = asked.of((2.0, 120.0, 200.0), (30.0, 1_500.0, 2_000.0))
    many = asked.of(200, 200, check=100)
    async with own_arena(
        lease=lease, heartbeat=lease / 3, poll=0.2, slots=4, least_ms=least, most_ms=most
    ) as (bench, _):
        async with _replaced(bench):
            alone = asked.slowest(await _good(bench, 0, many))
            bad: dict[str, UUID] = {}
            other = asked.slowest(await _good(bench, 1, many, bad))
            await bench.until_final(asked.of(60.0, 300.0, check=240.0))
        found = await gather(bench)
    return Verdict(
        [
            exactly("the killer", _end(found, bad["poison"]), "dead (poison)"),
            at_most("workers that it took", len(found.claims()[bad["poison"]]), 3),
            exactly("the hanging one", _end(found, bad["hanging"]), "timed_out (step_timeout)"),
            *(
                exactly(f"the one with an {name}", _end(found, bad[name]), _UNUSABLE)
                for name in SPOILED
            ),
            asked.at_most("slowest good runs, times those without poison", other / alone, 1.5, ""),
            told("without", f"{alone:.1f} s"),
        ]
    )


_UNUSABLE = "failed (definition_unusable)"


def _end(found: Evidence, run: UUID) -> str:
    row = found.runs[run]
    return f"{row['status']} ({row['reason']})"


async def _good(
    bench: CrashBench, number: int, many: int, bad: dict[str, UUID] | None = None
) -> list[float]:
    """Hands in two halves of good runs, what is bad between them, and answers their seconds."""
    automation = await bench.save({**FIVE_STEPS, "name": f"good {number}"})
    good = await bench.dispatch(automation, many // 2)
    if bad is not None:
        (bad["poison"],) = await bench.dispatch(await bench.save(POISON), 1)
        (bad["hanging"],) = await bench.dispatch(await bench.save(HANGING), 1)
        for name, statement in SPOILED.items():
            spoiled = await bench.save({**FIVE_STEPS, "name": name})
            (bad[name],) = await bench.dispatch(spoiled, 1)
            await bench.application.database.execute(statement, spoiled)
    good += await bench.dispatch(automation, many - many // 2)
    await bench.until_final(600, good)
    rows = await bench.application.database.fetch(
        "SELECT extract(epoch FROM finished_at - created_at)::float8 AS s, status FROM runs "
        "WHERE id = ANY($1::uuid[])",
        good,
    )
    assert {row["status"] for row in rows} == {"succeeded"}, "a good run did not end well"
    return [row["s"] for row in rows]


@asynccontextmanager
async def _replaced(bench: CrashBench) -> AsyncIterator[None]:
    """A pool that is kept at its number, as a supervisor does it."""

    async def keep_up() -> None:
        while True:
            for _ in range(_CREW - len(bench.pool.alive)):
                bench.pool.start()
            await asyncio.sleep(0.05)

    for _ in range(_CREW):
        bench.pool.start()
    await bench.until_at_work(*bench.pool.alive)
    replacing = asyncio.create_task(keep_up())
    try:
        yield
    finally:
        replacing.cancel()


_EACH = 10


async def stopped(asked: CheckOptions) -> Verdict:
    """R15."""
    stop = asked.of(3.0, 30.0, check=6.0)
    async with own_arena(lease=30.0, heartbeat=1.0, stop=stop, slots=2 * _EACH, poll=0.2) as (
        bench,
        _,
    ):
        short = await bench.dispatch(await bench.save(hanging("short")), _EACH)
        long = await bench.dispatch(await bench.save(hanging("long")), _EACH)
        leaving = bench.pool.start()
        await _until_hanging(bench, 2 * _EACH)
        staying = bench.pool.start()
        await bench.until_at_work(staying)
        asked_ns = time.time_ns()
        leaving.signal(signal.SIGTERM)
        (bench.folder / "short").touch()
        later = await bench.dispatch(await bench.save(FIVE_STEPS), 5)
        code = await bench.until_ended(leaving, stop + 30)
        left_ns = time.time_ns()
        await _until_hanging(bench, 3 * _EACH)
        (bench.folder / "long").touch()
        await bench.until_final(30)
        found = await gather(bench)
    against = [*lost_runs(found), *repeated_steps(found), *unexplained_executions(found)]
    against += misrecorded_steps(found, among=later)
    return Verdict(
        [
            *_stop_figures(asked, found, leaving.pid, asked_ns, short, long),
            exactly("exit code", code, 0),
            asked.at_most("gone later than that by", (left_ns - asked_ns) / SECOND - stop, 5),
            none_of("recorded steps repeated and other offences", against),
        ],
        against,
    )


def _stop_figures(
    asked: CheckOptions,
    found: Evidence,
    leaving: int,
    asked_ns: int,
    short: Sequence[UUID],
    long: Sequence[UUID],
) -> list[Figure]:
    claims = [move.at_ns for move in found.moves if move.is_claim and move.pid == leaving]
    here = [w for w in found.writes if w.step == "hang" and w.run_id in short and w.pid == leaving]
    pauses = []
    for run in long:
        back = [m for m in found.moves if m.run_id == run and m.status == "pending"]
        again = [m for m in found.moves if m.run_id == run and m.is_claim and m.pid != leaving]
        if back and again and back[0].pid == leaving:
            pauses.append((again[0].at_ns - back[0].at_ns) / SECOND)
    late = max(claims) - asked_ns
    return [
        asked.at_most("last claim after the signal", max(late / SECOND, 0.0), 1),
        exactly("short steps finished by the one that left", len(here), len(short)),
        exactly("long ones handed back", len(pauses), len(long)),
        asked.at_most("running elsewhere after", max(pauses, default=99.0), 5),
    ]


async def _until_hanging(bench: CrashBench, count: int) -> None:
    async def hangs() -> bool:
        return sum(entry.is_at("hang") for entry in bench.ledger.begun()) >= count

    await bench.until(hangs, 60, f"{count} steps are under way")
