"""One worker process against two, where the database is not the limit.

python -m bench.two_workers [--rounds N]

The workers are real processes over one database. Each run has five steps that shape a list of
some size with templates, so nearly all of its cost is the engine's own, and little is Postgres's.
On a machine with two cores Postgres needs a share of them too: two workers cannot be twice one,
and work that is mostly rows would measure the database instead.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvloop

from bench.floor import fill
from bench.stage import fresh_house, saved
from mainspring.wiring import House

RUNS: Final = 400
BAR: Final = 1.7
ITEMS: Final = 120
_LEFT = "SELECT count(*) FROM runs WHERE finished_at IS NULL"
_SPAN = """
    SELECT extract(epoch FROM max(finished_at) - min(started_at))::float8 AS seconds,
        count(*) FILTER (WHERE status = 'succeeded') AS good
    FROM runs
"""


def plan() -> dict[str, Any]:
    """Five steps; each walks the list that the first one has made."""
    walk = "{% for n in steps.step_0.items %}{{ n.name | upper }}-{{ n.at * 3 }},{% endfor %}"
    listed = [{"name": f"name {number}", "at": number} for number in range(ITEMS)]
    first = {"items": listed, "said": "{{ run.attempt }}"}
    configs = [{"output": first}, *({"output": {"said": walk}} for _ in range(4))]
    return {
        "schema_version": "1.1",
        "name": "shapes a list",
        "goal": "Measure what a second worker adds.",
        "plan": [
            {"step_id": f"step_{number}", "action": "transform_data", "config": config}
            for number, config in enumerate(configs)
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


@contextmanager
def workers(house: House, count: int) -> Iterator[None]:
    """So many worker processes over the database of the house."""
    assert house.database.server is not None
    environment = {
        **os.environ,
        "MAINSPRING_DATABASE_URL": house.database.server.dsn,
        "MAINSPRING_HOME": str(house.settings.home),
        # Both get a share of what is there: a worker takes no more than it can begin with.
        "MAINSPRING_SLOTS": "32",
    }
    going = [
        subprocess.Popen(
            [sys.executable, "-m", "mainspring", "worker"], env=environment,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        for _ in range(count)
    ]  # fmt: skip
    try:
        yield
    finally:
        for process in going:
            process.terminate()
        for process in going:
            process.wait(60)


async def rate(count: int, runs: int = RUNS) -> float:
    """Runs per second, from the start of the first to the end of the last."""
    async with fresh_house() as house:
        automation = await saved(house, plan())
        with workers(house, count):
            # All of them are there before there is anything to do.
            while await house.database.fetchval("SELECT count(*) FROM workers") < count:
                await asyncio.sleep(0.1)
            await fill(house, automation, runs)
            while await house.database.fetchval(_LEFT):
                await asyncio.sleep(0.1)
        row = await house.database.fetchrow(_SPAN)
    assert row is not None
    if row["good"] != runs:
        raise SystemExit(f"Only {row['good']} of {runs} runs succeeded.")
    return runs / float(row["seconds"])


def measure(rounds: int) -> dict[str, float]:
    """In turn, so that both meet the same machine."""
    ones, twos = [], []
    for number in range(rounds):
        ones.append(uvloop.run(rate(1)))
        twos.append(uvloop.run(rate(2)))
        # A round takes a while, and says so rather than nothing.
        said = f"round {number + 1} of {rounds}: {ones[-1]:.1f} and {twos[-1]:.1f} runs a second"
        print(said, flush=True)
    one, two = statistics.median(ones), statistics.median(twos)
    return {"one": round(one, 1), "two": round(two, 1), "ratio": round(two / one, 2)}


def show(found: dict[str, float]) -> None:
    print(f"{'one worker/s':>14} {'two workers/s':>14} {'ratio':>7} {'bar':>6}")
    print(f"{found['one']:>14} {found['two']:>14} {found['ratio']:>7} {BAR:>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    show(measure(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
