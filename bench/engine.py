"""Engine against floor: runs drained per second, durability on.

python -m bench.engine            the table, and the comparison with the last result
python -m bench.engine --save     the same, kept in bench/results.json
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import statistics
import time
from pathlib import Path
from typing import Any

import uvloop

from bench import results
from bench.environment import fresh_house, plan_of, saved
from bench.server import family
from bench.sql_baseline import drain_bare, fill
from mainspring.app import Application, build_worker
from mainspring.surfaces.cli.gc_tuning import tune_gc

SIZES = {1: 4_000, 5: 2_000}
BAR, SIZE_BAR = 0.5, 4_096


async def drain_engine(application: Application, runs: int) -> float:
    """Seconds from the start of a worker to the last run's end."""
    worker = build_worker(application)
    began = time.perf_counter()
    task = asyncio.create_task(worker.run())
    left = "SELECT count(*) FROM runs WHERE status IN ('pending', 'waiting', 'running')"
    while True:
        await asyncio.sleep(0.05)
        if not worker.in_flight and not await application.database.fetchval(left):
            break
    seconds = time.perf_counter() - began
    worker.stop()
    await task
    return seconds


async def measure(steps: int, runs: int, rounds: int) -> dict[str, float]:
    """Rounds of floor and engine in turn, so that both meet the same machine.

    Both have settled in, as a part of the server does before it begins.
    """
    floors: list[float] = []
    engines: list[float] = []
    floor_cpu: list[float] = []
    engine_cpu: list[float] = []
    worker_cpu: list[float] = []
    for _ in range(rounds):
        async with fresh_house() as application:
            automation = await saved(application, plan_of(steps))
            await fill(application, automation, runs)
            tune_gc()
            before = cpu_seconds(application)
            done, seconds = await drain_bare(application, steps)
            floors.append(done / seconds)
            floor_cpu.append((cpu_seconds(application) - before) * 1000 / runs)
        async with fresh_house() as application:
            automation = await saved(application, plan_of(steps))
            await fill(application, automation, runs)
            tune_gc()
            before, own = cpu_seconds(application), time.process_time()
            engines.append(runs / await drain_engine(application, runs))
            engine_cpu.append((cpu_seconds(application) - before) * 1000 / runs)
            worker_cpu.append((time.process_time() - own) * 1000 / runs)
    floor, engine = statistics.median(floors), statistics.median(engines)
    return {
        "floor": round(floor),
        "engine": round(engine),
        "ratio": round(engine / floor, 3),
        "floor CPU ms": round(statistics.median(floor_cpu), 3),
        "engine CPU ms": round(statistics.median(engine_cpu), 3),
        "worker CPU ms": round(statistics.median(worker_cpu), 3),
    }


def cpu_seconds(application: Application) -> float:
    """Processor time of this process and of every process of its Postgres, so far."""
    assert application.database.server is not None
    assert application.database.server.pid is not None
    ticks = 0
    for pid in family(application.database.server.pid):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/stat").read_text()
            # Its own, and that of its children that are gone.
            ticks += sum(int(part) for part in text.rpartition(")")[2].split()[11:15])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


async def size_of_a_run(runs: int = 2_000) -> float:
    """Bytes of database that a finished five-step run leaves, after a vacuum."""
    total = "SELECT pg_database_size(current_database())"
    async with fresh_house() as application:
        automation = await saved(application, plan_of(5))
        await application.database.execute("VACUUM")
        before = await application.database.fetchval(total)
        # In portions, as runs arrive in life: space of earlier rows is used again.
        for _ in range(10):
            await fill(application, automation, runs // 10)
            await drain_engine(application, runs // 10)
            await application.database.execute("VACUUM")
        after = await application.database.fetchval(total)
    return float(after - before) / runs


def measure_all(rounds: int) -> dict[str, Any]:
    """Every figure of the engine, by name."""
    result: dict[str, Any] = {}
    for steps, runs in SIZES.items():
        result[f"{steps}-step"] = uvloop.run(measure(steps, runs, rounds))
    result["bytes per five-step run"] = round(uvloop.run(size_of_a_run()))
    return result


def show(result: dict[str, Any], before: dict[str, Any]) -> None:
    """The table, with the last committed ratio next to each."""
    print(
        f"{'':>10} {'floor/s':>9} {'engine/s':>9} {'ratio':>7} {'last':>7} {'bar':>6}"
        f" {'CPU ms a run':>16}  the worker's"
    )
    for name in ("1-step", "5-step"):
        row, last = result[name], before.get(name, {}).get("ratio", "-")
        print(
            f"{name:>10} {row['floor']:>9} {row['engine']:>9} {row['ratio']:>7} {last:>7} {BAR:>6}"
            f" {row['floor CPU ms']:>7} {row['engine CPU ms']:>8} {row['worker CPU ms']:>13}"
        )
    size, last = result["bytes per five-step run"], before.get("bytes per five-step run", "-")
    print(f"bytes of database per finished five-step run: {size} (last {last}, bar {SIZE_BAR})")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3)
    results.add_options(parser)
    chosen = parser.parse_args()
    found = measure_all(chosen.rounds)
    show(found, results.before(chosen.into))
    results.keep(chosen, found)


if __name__ == "__main__":
    main()
