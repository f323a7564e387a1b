"""Workers killed while scripts run: each script goes on, and nothing it did is done twice."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer

RUNS, KILLS, WRITES, SLOTS = 12, 4, 5, 4

# What it keeps has time and chance in it: a second try that drew anew would be noticed.
SOURCE = """
import { brains } from "https://brains/sdks/automation-sdk-v1.ts";
const said: unknown[] = [];
for (let turn = 0; turn < 5; turn++) {
  const mark = `${turn} ${new Date().toISOString()} ${Math.random()} ${crypto.randomUUID()}`;
  await brains["ledger.apply"]({ mark });
  said.push(await brains["ledger.keep"]({ mark }));
}
return said.length;
"""
PLAN: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "a script",
    "goal": "Leave a trace of every call, whatever happens to the workers.",
    "plan": [
        {
            "step_id": "main",
            "action": "script",
            "config": {
                "source": SOURCE,
                "grants": [{"tool": "ledger.apply"}, {"tool": "ledger.keep"}],
            },
        }
    ],
    "execution": {"concurrency": "allow_parallel", "write_policy": "auto_confirm_safe"},
}


async def _kept(bench: CrashBench) -> list[int]:
    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch("SELECT value FROM automation_kv")

    return [row["value"] for row in await bench.ask(read)]


def _sandboxes() -> set[int]:
    """Processes of scripts that are there now."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(word.endswith(b"bootstrap.js") for word in words):
                found.add(int(entry.name))
    return found


async def test_scripts_survive_the_death_of_their_workers(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    others = _sandboxes()
    async with open_crash_bench(
        durable_server,
        fork_server,
        folder,
        lease=2.0,
        poll=0.2,
        slots=SLOTS,
        least_ms=20,
        most_ms=60,
        takeovers=KILLS + 1,
    ) as bench:
        automation = await bench.save(PLAN)
        await bench.dispatch(automation, RUNS)
        for _ in range(2):
            bench.pool.start()

        async def some_written() -> bool:
            return len(await _kept(bench)) >= written

        for number in range(KILLS):
            written = (number + 1) * RUNS * WRITES // (KILLS + 2)
            await bench.until(some_written, 90, "scripts write")
            await asyncio.sleep(chance.uniform(0, 0.1))
            chance.choice(bench.pool.alive).kill()
            bench.pool.start()
        await bench.until_final(300)
        statuses = await bench.statuses(bench.runs)
        stored = await _kept(bench)
        applied = bench.ledger.begun()
    assert set(statuses.values()) == {"succeeded"}
    assert len(stored) == RUNS * WRITES
    assert set(stored) == {1}, "a write was done twice"
    # An outside effect under way when its worker died comes again under the same key.
    assert len({entry.key for entry in applied}) == 2 * RUNS * WRITES
    assert len(applied) <= 2 * RUNS * WRITES + KILLS * SLOTS
    async with asyncio.timeout(60):
        while _sandboxes() - others:
            await asyncio.sleep(0.05)
