"""One worker process against two, where the database is not the limit.

python -m bench.two_workers [--rounds N] [--runs N] [--save]

The workers are real processes over one database. Each run has five steps that walk a list with
templates and say little of it, so nearly all of its cost is the worker's own: what Postgres takes
of it is next to. Two cores hold both workers and Postgres, and other people may be on them. So
the yardstick is taken in the same round: bare processes that only compute, one and then two. What
the machine does not give to them, it cannot give to workers either.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import uvloop

from bench import results
from bench.environment import fresh_house, saved
from bench.peers.processes import cpu_seconds
from bench.signals import leave_in_order
from bench.sql_baseline import fill
from mainspring.app import Application

NAME: Final = "two workers"
# Enough that the last few, which one worker may have to itself, are few.
RUNS: Final = 600
BAR: Final = 1.7
ITEMS: Final = 40
# Few in flight: the steps compute, and the last few runs are not all in one worker's hands.
SLOTS: Final = 8
START_SECONDS: Final = 60.0
WORK_SECONDS: Final = 180.0
# As much as takes a few seconds, and no more memory than a loop has.
_COMPUTING: Final = "sum(number * number % 7 for number in range({size}))"
_SIZE: Final = 15_000_000
_LEFT = "SELECT count(*) FROM runs WHERE finished_at IS NULL"
_SPAN = """
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds,
        count(*) FILTER (WHERE status = 'succeeded') AS good
    FROM runs
"""


@dataclass(frozen=True, slots=True)
class Drained:
    """Runs a second, and the processor milliseconds of a run: the workers' and Postgres's."""

    rate: float
    workers_ms: float
    postgres_ms: float


def plan() -> dict[str, Any]:
    """Five steps; four of them walk the list of the first, in a loop within a loop."""
    walk = (
        "{% for a in steps.step_0.items %}{% for b in steps.step_0.items %}"
        "{% if (a.at * b.at) % 400 == 399 %}{{ b.name | upper }},{% endif %}"
        "{% endfor %}{% endfor %}"
    )
    listed = [{"name": f"name {number}", "at": number} for number in range(ITEMS)]
    first = {"items": listed, "said": "{{ run.attempt }}"}
    configs = [{"output": first}, *({"output": {"said": walk}} for _ in range(4))]
    return {
        "schema_version": "1.2",
        "name": "walks a list",
        "goal": "Measure what a second worker adds.",
        "plan": [
            {"step_id": f"step_{number}", "action": "transform_data", "config": config}
            for number, config in enumerate(configs)
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


@contextmanager
def workers(application: Application, count: int) -> Iterator[list[int]]:
    """So many worker processes over the database of the application, and their numbers."""
    assert application.database.server is not None
    environment = {
        **os.environ,
        "MAINSPRING_DATABASE_URL": application.database.server.dsn,
        "MAINSPRING_HOME": str(application.settings.home),
        "MAINSPRING_SLOTS": str(SLOTS),
    }
    going: list[subprocess.Popen[bytes]] = []
    try:
        while len(going) < count:
            started = subprocess.Popen(
                [sys.executable, "-m", "mainspring", "worker"],
                env=environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            going.append(started)
        yield [process.pid for process in going]
    finally:
        end(going)


def end(going: list[subprocess.Popen[bytes]]) -> None:
    """Asks all of them to go, and does not wait for long."""
    for process in going:
        process.terminate()
    for process in going:
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def _until(application: Application, query: str, wanted: int, seconds: float) -> None:
    """Until a count in the database is what is wanted; the benchmark does not wait for ever."""
    deadline = time.monotonic() + seconds
    while await application.database.fetchval(query) != wanted:
        if time.monotonic() > deadline:
            raise SystemExit(f"After {seconds:.0f} s this was still not {wanted}: {query}")
        await asyncio.sleep(0.1)


async def drained(count: int, runs: int) -> Drained:
    """From the start of the first run to the end of the last."""
    async with fresh_house() as application:
        automation = await saved(application, plan())
        server = application.database.server
        assert server is not None
        assert server.pid is not None
        with workers(application, count) as pids:
            # All of them are there before there is anything to do.
            await _until(application, "SELECT count(*) FROM workers", count, START_SECONDS)
            workers_before, postgres_before = cpu_seconds(pids), cpu_seconds([server.pid])
            await fill(application, automation, runs)
            await _until(application, _LEFT, 0, WORK_SECONDS)
            workers_spent = cpu_seconds(pids) - workers_before
            postgres_spent = cpu_seconds([server.pid]) - postgres_before
        row = await application.database.fetchrow(_SPAN)
    assert row is not None
    if row["good"] != runs:
        raise SystemExit(f"Only {row['good']} of {runs} runs succeeded.")
    rate = runs / float(row["seconds"])
    return Drained(rate, workers_spent * 1000 / runs, postgres_spent * 1000 / runs)


def computed(count: int) -> float:
    """Bare processes that only compute: how many of them end in a second."""
    going: list[subprocess.Popen[bytes]] = []
    began = time.perf_counter()
    try:
        for _ in range(count):
            words = [sys.executable, "-c", _COMPUTING.format(size=_SIZE)]
            going.append(subprocess.Popen(words))
        for process in going:
            process.wait(WORK_SECONDS)
    finally:
        end(going)
    return count / (time.perf_counter() - began)


def measure(rounds: int, runs: int = RUNS) -> dict[str, float]:
    """In turn, so that all meet the same machine; each figure is the median of its rounds."""
    ones, twos, ratios, bare = [], [], [], []
    for number in range(rounds):
        bare.append(computed(2) / computed(1))
        ones.append(uvloop.run(drained(1, runs)))
        twos.append(uvloop.run(drained(2, runs)))
        ratios.append(twos[-1].rate / ones[-1].rate)
        # A round takes a while, and says so rather than nothing.
        rates = f"{ones[-1].rate:.1f} and {twos[-1].rate:.1f} runs a second"
        text = f"{rates}: x {ratios[-1]:.2f}, bare processes x {bare[-1]:.2f}"
        print(f"round {number + 1} of {rounds}: {text}", flush=True)
    two_ms = statistics.median(one.workers_ms for one in twos)
    postgres_ms = statistics.median(one.postgres_ms for one in twos)
    ratio, bare_ratio = statistics.median(ratios), statistics.median(bare)
    return {
        "one": round(statistics.median(one.rate for one in ones), 1),
        "two": round(statistics.median(one.rate for one in twos), 1),
        "ratio": round(ratio, 2),
        "bare processes": round(bare_ratio, 2),
        "of bare": round(ratio / bare_ratio, 2),
        "worker CPU ms, one": round(statistics.median(one.workers_ms for one in ones), 2),
        "worker CPU ms, two": round(two_ms, 2),
        "Postgres CPU ms": round(postgres_ms, 2),
        "Postgres, of all": round(postgres_ms / (postgres_ms + two_ms), 3),
    }


def show(found: dict[str, float]) -> None:
    print(f"{'one worker/s':>14} {'two workers/s':>14} {'ratio':>7} {'bar':>6}")
    print(f"{found['one']:>14} {found['two']:>14} {found['ratio']:>7} {BAR:>6}")
    print(
        f"two bare processes that only compute do {found['bare processes']} x what one does here; "
        f"two workers reach {found['of bare']} of that"
    )
    print(
        f"CPU ms a run: the worker {found['worker CPU ms, one']} alone and "
        f"{found['worker CPU ms, two']} beside another, Postgres {found['Postgres CPU ms']} "
        f"({found['Postgres, of all']:.0%} of all)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=RUNS)
    results.add_options(parser)
    chosen = parser.parse_args()
    leave_in_order()
    found = measure(chosen.rounds, chosen.runs)
    show(found)
    results.keep(chosen, {NAME: found})


if __name__ == "__main__":
    main()
