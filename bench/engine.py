"""Engine against floor: runs drained per second, durability on.

python -m bench.engine            the table, and the comparison with the last result
python -m bench.engine --save     the same, kept as bench/results/engine.json
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import time
from pathlib import Path
from typing import Any

import uvloop

from bench.floor import drain_bare, fill
from bench.stage import fresh_house, plan_of, saved
from mainspring.wiring import House, build_worker

RESULT = Path(__file__).parent / "results" / "engine.json"
SIZES = {1: 4_000, 5: 2_000}


async def drain_engine(house: House, runs: int) -> float:
    """Seconds from the start of a worker to the last run's end."""
    worker = build_worker(house)
    began = time.perf_counter()
    task = asyncio.create_task(worker.run())
    left = "SELECT count(*) FROM runs WHERE status IN ('pending', 'waiting', 'running')"
    while True:
        await asyncio.sleep(0.05)
        if not worker.in_flight and not await house.database.fetchval(left):
            break
    seconds = time.perf_counter() - began
    worker.stop()
    await task
    return seconds


async def measure(steps: int, runs: int, rounds: int) -> dict[str, float]:
    """Rounds of floor and engine in turn, so that both meet the same machine."""
    floors: list[float] = []
    engines: list[float] = []
    for _ in range(rounds):
        async with fresh_house() as house:
            automation = await saved(house, plan_of(steps))
            await fill(house, automation, runs)
            done, seconds = await drain_bare(house, steps)
            floors.append(done / seconds)
        async with fresh_house() as house:
            automation = await saved(house, plan_of(steps))
            await fill(house, automation, runs)
            engines.append(runs / await drain_engine(house, runs))
    floor, engine = statistics.median(floors), statistics.median(engines)
    return {"floor": round(floor), "engine": round(engine), "ratio": round(engine / floor, 3)}


async def size_of_a_run(runs: int = 2_000) -> float:
    """Bytes of database that a finished five-step run leaves, after a vacuum."""
    total = "SELECT pg_database_size(current_database())"
    async with fresh_house() as house:
        automation = await saved(house, plan_of(5))
        await house.database.execute("VACUUM")
        before = await house.database.fetchval(total)
        # In portions, as runs arrive in life: space of earlier rows is used again.
        for _ in range(10):
            await fill(house, automation, runs // 10)
            await drain_engine(house, runs // 10)
            await house.database.execute("VACUUM")
        after = await house.database.fetchval(total)
    return float(after - before) / runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    result: dict[str, Any] = {}
    for steps, runs in SIZES.items():
        result[f"{steps}-step"] = uvloop.run(measure(steps, runs, chosen.rounds))
    result["bytes per five-step run"] = round(uvloop.run(size_of_a_run()))
    before = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    print(f"{'':>10} {'floor/s':>9} {'engine/s':>9} {'ratio':>7} {'last':>7}")
    for name in ("1-step", "5-step"):
        row, last = result[name], before.get(name, {}).get("ratio", "-")
        print(f"{name:>10} {row['floor']:>9} {row['engine']:>9} {row['ratio']:>7} {last:>7}")
    print(f"bytes per finished five-step run: {result['bytes per five-step run']}")
    if chosen.save:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
