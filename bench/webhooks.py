"""Webhook in, finished run with history out: the product against the floor.

python -m bench.webhooks [--rounds N]

Both are driven by the same client with 16 requests at a time, one after the other, on
fresh databases with durable commits. A figure is the median of the rounds; the ratio is what
counts, because machines differ and are shared.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import asyncpg

from bench import load, results
from bench.environment import fresh_house, saved
from bench.server import Server, folder, up

AT_A_TIME = 16
SIZES = {1: 6_000, 5: 3_000}
BAR = 0.35
START_BARS = (5.0, 25.0)
QUIET_REQUESTS, QUIET_PAUSE = 300, 0.03
BURST, BURST_CONNECTIONS = 5_000, 500
CROWD, CROWD_CONNECTIONS, CROWD_BAR = 6_000, 250, 1_000.0
# The rate limit is for unknown callers; here the benchmark is the flood.
OPEN = {"MAINSPRING_LIMIT_WEBHOOK_PER_SECOND": "100000", "MAINSPRING_LIMIT_WEBHOOK_BURST": "100000"}

UNFINISHED = "SELECT count(*) FROM runs WHERE finished_at IS NULL"
LAST_END = "SELECT max(finished_at) FROM runs"


def definition(steps: int) -> dict[str, Any]:
    """Steps that each render one template, started by a webhook."""
    return {
        "schema_version": "1.2",
        "name": f"webhook {steps}",
        "goal": "Measure what a webhook costs from the request to the finished run.",
        "triggers": [{"id": "hook", "type": "webhook", "config": {}}],
        "plan": [
            {
                "step_id": f"step_{number}",
                "action": "transform_data",
                "config": {"output": {"said": "{{ trigger.say }}"}},
            }
            for number in range(steps)
        ],
        "execution": {"concurrency": "allow_parallel"},
    }


def hooked(server: Server, steps: int) -> tuple[str, str]:
    """An active automation: the path of its webhook, and the token for it."""
    made = server.call("POST", "/automations", definition(steps))
    path = f"/automations/{made['id']}"
    server.call("POST", f"{path}/activate")
    token = server.call("POST", f"{path}/triggers/hook/token")["token"]
    return f"/api/v1{path}/fire", token


def aimed(
    server: Server, hook: tuple[str, str], requests: int, connections: int, pause: float = 0
) -> load.Load:
    host, _, port = server.address.removeprefix("http://").rpartition(":")
    return load.Load(host, int(port), *hook, requests, connections, pause)


def database_of(server: Server) -> str:
    from mainspring.store.data_folder import read_owner
    from mainspring.store.embedded import build_dsn

    owner = read_owner(server.home)
    assert owner is not None
    return build_dsn(owner.socket)


async def _ask(url: str, query: str) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(query)
    finally:
        await connection.close()


def ask(url: str, query: str) -> Any:
    return _finish(_ask(url, query))


def _finish(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def rate(url: str, sent: dict[str, Any], runs: int) -> float:
    """Runs per second, from the first request to the end of the last run."""
    while ask(url, UNFINISHED)[0][0]:
        time.sleep(0.1)
    last: datetime = ask(url, LAST_END)[0][0]
    began: float = sent["began"]
    return runs / (last.timestamp() - began)


def product(steps: int, runs: int) -> dict[str, float]:
    with folder() as made, up(made / "home", **OPEN) as server:
        hook = hooked(server, steps)
        load.run(aimed(server, hook, 200, AT_A_TIME))
        url = database_of(server)
        while ask(url, UNFINISHED)[0][0]:
            time.sleep(0.1)
        sent = load.run(aimed(server, hook, runs, AT_A_TIME))
        assert sent["statuses"] == {"202": runs}, sent["statuses"]
        accepted = runs / sent["seconds"]
        return {"rate": rate(url, sent, runs), "accepted": accepted, "p99": sent["p99_ms"]}


@contextmanager
def bare(url: str, automation: str, steps: int) -> Iterator[int]:
    with socket.socket() as accepted:
        accepted.bind(("127.0.0.1", 0))
        port = accepted.getsockname()[1]
    words = [url, automation, str(steps), str(port)]
    process = subprocess.Popen([sys.executable, "-m", "bench.http_baseline", *words])
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        process.terminate()
        process.wait(30)


async def floor(steps: int, runs: int) -> float:
    async with fresh_house() as application:
        automation, _ = await saved(application, definition(steps))
        assert application.database.server is not None
        url = application.database.server.dsn
        return await asyncio.to_thread(_floor_rate, url, str(automation), steps, runs)


def _floor_rate(url: str, automation: str, steps: int, runs: int) -> float:
    with bare(url, automation, steps) as port:
        load.run(load.Load("127.0.0.1", port, "/", "none", 200, AT_A_TIME))
        sent = load.run(load.Load("127.0.0.1", port, "/", "none", runs, AT_A_TIME))
        return rate(url, sent, runs)


def first_step() -> dict[str, float]:
    """Milliseconds from the request to the start of the run, when there is little to do."""
    with folder() as made, up(made / "home") as server:
        hook = hooked(server, 1)
        load.run(aimed(server, hook, 50, 1, QUIET_PAUSE))
        sent = load.run(aimed(server, hook, QUIET_REQUESTS, 1, QUIET_PAUSE))
        url = database_of(server)
        query = f"SELECT started_at FROM runs ORDER BY id DESC LIMIT {QUIET_REQUESTS}"
        while ask(url, UNFINISHED)[0][0]:
            time.sleep(0.1)
        starts = sorted(row[0].timestamp() for row in ask(url, query))
    waits = sorted((b - a) * 1000 for a, b in zip(sent["sent"], starts, strict=True))
    return {"p50": round(waits[len(waits) // 2], 1), "p99": round(waits[int(len(waits) * 0.99)], 1)}


def burst() -> dict[str, Any]:
    """Everything at once, with the limits as they are shipped."""
    with folder() as made, up(made / "home") as server:
        hook = hooked(server, 1)
        sent = load.run(aimed(server, hook, BURST, BURST_CONNECTIONS))
        url = database_of(server)
        runs = ask(url, "SELECT count(*) FROM runs")[0][0]
    accepted = sent["statuses"].get("202", 0)
    other = BURST - accepted - sent["statuses"].get("429", 0)
    return {"accepted": accepted, "runs": runs, "neither 202 nor 429": other}


def crowd() -> dict[str, float]:
    """Many connections at a time, none of them refused: how long an answer takes."""
    with folder() as made, up(made / "home", **OPEN) as server:
        hook = hooked(server, 1)
        load.run(aimed(server, hook, 500, AT_A_TIME))
        sent = load.run(aimed(server, hook, CROWD, CROWD_CONNECTIONS))
    accepted = sent["statuses"].get("202", 0)
    return {"p50": sent["p50_ms"], "p99": sent["p99_ms"], "accepted": accepted}


def measure(rounds: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for steps, runs in SIZES.items():
        floors, rates = [], []
        for _ in range(rounds):
            floors.append(_finish(floor(steps, runs)))
            rates.append(product(steps, runs)["rate"])
        bottom, reached = statistics.median(floors), statistics.median(rates)
        result[f"webhook {steps}-step"] = {
            "floor": round(bottom),
            "product": round(reached),
            "ratio": round(reached / bottom, 3),
        }
    result["first step ms"] = first_step()
    result["burst"] = burst()
    result["crowd"] = crowd()
    return result


def show(result: dict[str, Any], before: dict[str, Any]) -> None:
    print(f"{'':>15} {'floor/s':>9} {'product/s':>10} {'ratio':>7} {'last':>7} {'bar':>6}")
    for steps in SIZES:
        name = f"webhook {steps}-step"
        row, last = result[name], before.get(name, {}).get("ratio", "-")
        figures = f"{row['floor']:>9} {row['product']:>10} {row['ratio']:>7}"
        print(f"{name:>15} {figures} {last:>7} {BAR:>6}")
    start = result["first step ms"]
    p50, p99 = START_BARS
    figures = f"p50 {start['p50']} ms (bar {p50}), p99 {start['p99']} ms (bar {p99})"
    print(f"first step after the request: {figures}")
    gone = result["burst"]
    print(
        f"burst of {BURST}: {gone['accepted']} accepted, {gone['runs']} runs, "
        f"{gone['neither 202 nor 429']} answered otherwise"
    )
    many = result["crowd"]
    print(
        f"{CROWD_CONNECTIONS} connections: p50 {many['p50']} ms, p99 {many['p99']} ms "
        f"(bar {CROWD_BAR:.0f}), {many['accepted']} of {CROWD} accepted"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    results.add_options(parser)
    chosen = parser.parse_args()
    found = measure(chosen.rounds)
    show(found, results.before(chosen.into))
    results.keep(chosen, found)


if __name__ == "__main__":
    main()
