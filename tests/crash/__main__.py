"""The crash battery in any size, by one command.

    python -m tests.crash --kills 200 --runs 2000 --lease 30       workers killed at random
    python -m tests.crash --storm postgres --kills 40 --runs 3000  Postgres killed under them
    python -m tests.crash --storm freeze --kills 50 --lease 30     workers frozen past their lease
    python -m tests.crash --storm schedulers --triggers 300 --minutes 10 --pace 20
                                                   schedulers and workers killed every minute
    python -m tests.crash --storm matchers --kills 20 --events 10000 --triggers 1000
    python -m tests.crash --storm api --kills 100 --calls 5000     the API killed under webhooks

Offences are printed one by one; the last line is one figure line and ends in PASSED or
FAILED, which is also the exit code.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import uvloop

from mainspring.store.embedded import EmbeddedServer
from tests.crash import matchers, schedulers, webhooks
from tests.crash.crash_bench import CrashBench, own_arena
from tests.crash.fault_injection import freeze_workers, kill_workers, strike_postgres
from tests.crash.verdict import (
    TAKEOVER_SECONDS,
    Evidence,
    gather,
    offences,
    repeated_executions,
    seconds_after,
    takeovers,
)

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Figures:
    """What one storm came to."""

    found: Evidence
    # When the last blow fell, and how long each start of Postgres took to be of use.
    last_ns: int
    resumed: list[float]


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.crash",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--storm", choices=STORMS, default="workers")
    parser.add_argument("--kills", type=int, default=20, help="blows (20)")
    parser.add_argument("--runs", type=int, default=200, help="five-step runs (200)")
    parser.add_argument("--workers", type=int, default=3, help="worker processes (3)")
    parser.add_argument("--slots", type=int, default=8, help="runs in flight per worker (8)")
    parser.add_argument("--lease", type=float, default=2.0, help="seconds of lease (2)")
    parser.add_argument("--heartbeat", type=float, help="seconds (a third of the lease)")
    parser.add_argument("--poll", type=float, default=1.0, help="seconds (1)")
    parser.add_argument("--pause", type=float, default=1.0, help="most seconds before a blow (1)")
    parser.add_argument("--down", type=float, default=2.0, help="most seconds of an outage (2)")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to the end (60)")
    parser.add_argument("--step-ms", type=float, default=40.0, help="most ms of an effect (40)")
    parser.add_argument("--events", type=int, default=1000, help="events for matchers (1000)")
    parser.add_argument("--calls", type=int, default=400, help="webhooks for the api (400)")
    parser.add_argument("--triggers", type=int, default=200, help="triggers of either kind (200)")
    parser.add_argument("--minutes", type=int, default=5, help="minutes of schedules (5)")
    parser.add_argument("--pace", type=float, default=20.0, help="how fast these go (20)")
    parser.add_argument("--seed", type=int, default=None, help="the seed of an earlier run")
    return parser.parse_args()


def _tell(storm: str, against: Sequence[str], figures: str) -> bool:
    """Prints the offences and the figure line; answers whether the promise was kept."""
    for offence in against[:_MOST_SHOWN]:
        say(offence)
    verdict = "FAILED" if against else "PASSED"
    say(f"crash: {storm}, {len(against)} offences, {figures}: {verdict}")
    return not against


async def _rage_over_runs(parsed: argparse.Namespace, chance: random.Random) -> bool:
    """Whether every run came through; which blows fall says the name of the storm."""
    orders = {
        "lease": parsed.lease,
        "heartbeat": parsed.heartbeat or parsed.lease / 3,
        "poll": parsed.poll,
        "slots": parsed.slots,
        "least_ms": 5.0,
        "most_ms": parsed.step_ms,
        "takeovers": parsed.kills + 1,
    }
    async with own_arena(**orders) as (bench, server):
        return _report(parsed, await _rage(bench, server, parsed, chance))


async def _rage(
    bench: CrashBench, server: EmbeddedServer, parsed: argparse.Namespace, chance: random.Random
) -> Figures:
    resumed: list[float] = []
    sizes = {"runs": parsed.runs, "pause": parsed.pause}
    if parsed.storm == "workers":
        await kill_workers(bench, chance, kills=parsed.kills, workers=parsed.workers, **sizes)
    else:
        pool = [bench.pool.start() for _ in range(parsed.workers)]
        await bench.until_at_work(*pool)
        if parsed.storm == "postgres":
            resumed = await strike_postgres(
                bench, chance, server, strikes=parsed.kills, down=parsed.down, **sizes
            )
        else:
            await freeze_workers(bench, chance, freezes=parsed.kills, **sizes)
    last_ns = time.time_ns()
    await bench.until_final(parsed.patience)
    return Figures(await gather(bench), last_ns, resumed)


def _report(parsed: argparse.Namespace, figures: Figures) -> bool:
    found = figures.found
    against = offences(found)
    delays = [accepted.claimed for accepted in takeovers(found, parsed.lease)]
    if parsed.storm == "workers":
        most = parsed.lease + TAKEOVER_SECONDS + parsed.poll
        against += [f"a takeover took {s:.2f} s" for s in delays if not parsed.lease <= s <= most]
    against += [f"work resumed after {s:.2f} s" for s in figures.resumed if s > 5]
    return _tell(
        f"{parsed.storm}, {parsed.kills} blows, {len(found.dispatched)} runs",
        against,
        f"{len(delays)} takeovers"
        + (f" in {min(delays):.1f} to {max(delays):.1f} s" if delays else "")
        + (f", resumed in at most {max(figures.resumed):.1f} s" if figures.resumed else "")
        + f", {repeated_executions(found)} executions repeated before their record, "
        f"settled {seconds_after(found, figures.last_ns):.1f} s after the last blow, "
        f"seed {parsed.seed}",
    )


async def _rage_over_matchers(parsed: argparse.Namespace, chance: random.Random) -> bool:
    """Answers whether each event started exactly the runs it should."""
    async with own_arena(lease=parsed.lease) as (bench, _):
        automations = await matchers.plant(bench, parsed.triggers)
        sizes = {"events": parsed.events, "kills": parsed.kills, "pause": parsed.pause}
        await matchers.strike_matchers(bench, chance, automations=automations, **sizes)
        settled = await matchers.until_read(bench)
        speed = await matchers.calm_speed(bench, automations, parsed.events, parsed.events)
        expected = matchers.expected(automations, 2 * parsed.events)
        against = matchers.offences(expected, await matchers.started(bench))
    return _tell(
        f"matchers, {parsed.kills} blows, {parsed.events} events and {parsed.triggers} triggers",
        against,
        f"{len(expected)} runs wanted, settled {settled:.1f} s after the last event, "
        f"{speed:,.0f} events/s in the calm after it",
    )


async def _rage_over_schedulers(parsed: argparse.Namespace, chance: random.Random) -> bool:
    """Three schedulers and four workers: whether each moment started exactly one run."""
    async with own_arena(lease=parsed.lease) as (bench, _):
        storm = await schedulers.plant(bench, parsed.triggers, parsed.pace)
        await schedulers.strike_schedulers(
            storm, chance, minutes=parsed.minutes, workers=4, schedulers=3, kills=parsed.kills > 0
        )
        await schedulers.settle(storm, parsed.patience)
        against = await schedulers.offences(storm)
        against += offences(await gather(bench), schedulers.SPOTS)
        late = await schedulers.delays(storm)
    return _tell(
        f"schedulers, {parsed.triggers} triggers, {parsed.minutes} minutes, {len(late)} runs",
        against,
        f"started {late[len(late) // 2]:.2f} s (p50), {late[len(late) * 99 // 100]:.2f} s (p99), "
        f"{late[-1]:.2f} s (last) after their moment",
    )


async def _rage_over_api(parsed: argparse.Namespace, chance: random.Random) -> bool:
    """Webhooks under fire: whether runs are the accepted keys exactly."""
    async with own_arena(lease=parsed.lease) as (bench, _):
        storm = await webhooks.plant(bench)
        await webhooks.strike_api(storm, chance, calls=parsed.calls, kills=parsed.kills)
        against = await webhooks.offences(storm, parsed.calls)
    return _tell(
        f"api, {parsed.kills} blows, {parsed.calls} keys",
        against,
        f"{len(storm.answered)} accepted, {storm.broken} calls broken off and sent again",
    )


STORMS = {
    "workers": _rage_over_runs,
    "postgres": _rage_over_runs,
    "freeze": _rage_over_runs,
    "matchers": _rage_over_matchers,
    "schedulers": _rage_over_schedulers,
    "api": _rage_over_api,
}


def main() -> None:
    parsed = options()
    if parsed.seed is None:
        parsed.seed = random.randrange(1_000_000)
    say(f"seed {parsed.seed}")
    stored = uvloop.run(STORMS[parsed.storm](parsed, random.Random(parsed.seed)))
    sys.exit(0 if stored else 1)


if __name__ == "__main__":
    main()
