"""Signed webhooks, synchronous answers, and callers that wait.

python -m bench.webhook_modes [--rounds N] [--runs N] [--callers N]

The cost of a signature is that of the same webhook with a bearer token, in interleaved rounds. The
rate of synchronous answers is compared with the floor of ``bench.webhooks``. Callers that wait for
a long run must not slow down other runs.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import hmac
import statistics
import threading
import time
from dataclasses import replace
from typing import Any

from bench import load
from bench.server import Server, folder, up
from bench.webhooks import (
    AT_A_TIME,
    BAR,
    OPEN,
    UNFINISHED,
    aimed,
    ask,
    database_of,
    definition,
    floor,
    rate,
)

KEY = "a key of the benchmark"
OVERHEAD_BAR = 0.10
_WAITING = "SELECT count(*) FROM runs WHERE status = 'waiting'"
_ENV = {**OPEN, "MAINSPRING_LIMIT_WEBHOOK_BESIDE_PER_SECOND": "100000"}


def _saved(server: Server, name: str, config: dict[str, Any], **more: Any) -> load.Load:
    """An active automation with one webhook, and how it is called."""
    written = {
        **definition(1),
        "name": name,
        "triggers": [{"id": "hook", "type": "webhook", "config": config}],
        **more,
    }
    path = f"/automations/{server.call('POST', '/automations', written)['id']}"
    server.call("POST", f"{path}/activate")
    if config.get("auth", {}).get("type") == "signature":
        digest = hmac.new(KEY.encode(), load.BODY, hashlib.sha256).hexdigest()
        called = aimed(server, (f"/api/v1{path}/hooks/hook", "none"), 0, AT_A_TIME)
        return replace(called, header=f"X-Hub-Signature-256: sha256={digest}")
    token = server.call("POST", f"{path}/triggers/hook/token")["token"]
    return aimed(server, (f"/api/v1{path}/fire", token), 0, AT_A_TIME)


def signatures(rounds: int, runs: int) -> dict[str, float]:
    """Runs per second with a bearer token and with a signature, on one server."""
    with folder() as made, up(made / "home", **_ENV) as server:
        server.call("POST", "/secrets", {"name": "bench_key", "value": KEY})
        signed = {"type": "signature", "provider": "github", "secret": "bench_key"}
        plan = definition(1)["plan"]
        plan[0]["config"] = {"output": {"said": "{{ trigger.body.say }}"}}
        calls = {
            "bearer": _saved(server, "bearer", {"auth": {"type": "bearer"}}, plan=plan),
            "signed": _saved(server, "signed", {"auth": signed}, plan=plan),
        }
        url = database_of(server)
        rates: dict[str, list[float]] = {name: [] for name in calls}
        for one in calls.values():
            load.run(replace(one, requests=200))
        for _ in range(rounds):
            for name, one in calls.items():
                while ask(url, UNFINISHED)[0][0]:
                    time.sleep(0.1)
                sent = load.run(replace(one, requests=runs))
                assert sent["statuses"] == {"202": runs}, sent["statuses"]
                rates[name].append(rate(url, sent, runs))
    found = {name: round(statistics.median(values)) for name, values in rates.items()}
    return {**found, "overhead": round(found["bearer"] / found["signed"] - 1, 3)}


def answers(rounds: int, runs: int) -> dict[str, float]:
    """Answered calls per second of a one-step run, and the floor of its runs."""
    floors, rates = [], []
    for _ in range(rounds):
        floors.append(asyncio.run(floor(1, runs)))
        with folder() as made, up(made / "home", **_ENV) as server:
            called = _saved(server, "answer", {"respond": "when_done"})
            load.run(replace(called, requests=200))
            sent = load.run(replace(called, requests=runs))
            assert sent["statuses"] == {"200": runs}, sent["statuses"]
            rates.append(runs / sent["seconds"])
    bottom, reached = statistics.median(floors), statistics.median(rates)
    return {"floor": round(bottom), "product": round(reached), "ratio": round(reached / bottom, 3)}


def waiting(callers: int, runs: int) -> dict[str, float]:
    """Seconds for the same runs without and with so many callers that wait."""
    pause = [{"step_id": "pause", "action": "delay", "config": {"seconds": 45}}]
    with folder() as made, up(made / "home", **_ENV) as server:
        config = {"respond": "when_done", "respond_within": 30}
        slow = _saved(server, "slow", config, plan=pause)
        fast = _saved(server, "fast", {"respond": "when_done"})
        load.run(replace(fast, requests=100))
        alone = load.run(replace(fast, requests=runs))["seconds"]
        held: dict[str, Any] = {}

        def hold() -> None:
            held.update(load.run(replace(slow, requests=callers, connections=callers)))

        holding = threading.Thread(target=hold)
        holding.start()
        url = database_of(server)
        ends = time.monotonic() + 25
        while ask(url, _WAITING)[0][0] < callers and time.monotonic() < ends:
            time.sleep(0.2)
        reached = ask(url, _WAITING)[0][0]
        beside = load.run(replace(fast, requests=runs))
        holding.join()
    return {
        "waiting": reached,
        "alone s": round(alone, 2),
        "beside s": round(beside["seconds"], 2),
        "answered": beside["statuses"].get("200", 0),
        "202 after the wait": held["statuses"].get("202", 0),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=3_000)
    parser.add_argument("--callers", type=int, default=1_000)
    chosen = parser.parse_args()
    signed = signatures(chosen.rounds, chosen.runs)
    print(f"signature: {signed} (bar for overhead {OVERHEAD_BAR})", flush=True)
    print(f"synchronous answer: {answers(chosen.rounds, chosen.runs)} (bar {BAR})", flush=True)
    print(f"callers that wait: {waiting(chosen.callers, min(chosen.runs, 500))}", flush=True)


if __name__ == "__main__":
    main()
