"""A caller waits for an answer while the API is killed: its retry gets the recorded answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx2

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.webhooks import WebhookStress, plant

PATIENCE = 60.0
ANSWERS: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "answers",
    "goal": "Answer each key once, with one effect.",
    "triggers": [
        {
            "id": "hook",
            "type": "webhook",
            "config": {"respond": "by_step", "respond_within": 60},
        }
    ],
    "plan": [
        {"step_id": "enter", "action": "ledger.apply", "config": {"mark": "in"}},
        {
            "step_id": "answer",
            "action": "respond",
            "config": {"status": 201, "body": {"run": "{{ run.id }}", "n": "{{ trigger.n }}"}},
        },
    ],
    "execution": {"concurrency": "allow_parallel"},
}


async def _call(storm: WebhookStress, client: httpx2.AsyncClient) -> httpx2.Response | None:
    headers = {"Authorization": f"Bearer {storm.token}", "Idempotency-Key": "order-1"}
    try:
        return await client.post(storm.url, json={"n": 1}, headers=headers)
    except httpx2.TransportError:
        return None


async def _until(work: Callable[[], Awaitable[Any]]) -> Any:
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await work()
            if found:
                return found
            await asyncio.sleep(0.03)


async def _count_runs(bench: CrashBench) -> int:
    async def read(connection: Connection) -> Any:
        return await connection.fetchval("SELECT count(*) FROM runs")

    return int(await bench.ask(read))


async def test_a_retry_after_a_kill_gets_the_recorded_answer_and_no_second_effect(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        storm = await plant(bench, ANSWERS)
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            api = bench.pool.start(role="api", port=storm.port)
            # No worker runs yet: the caller waits with its run on record.
            waiting = asyncio.create_task(_until(lambda: _call(storm, client)))
            await _until(lambda: _count_runs(bench))
            api.kill()
            bench.pool.start(role="api", port=storm.port)
            bench.pool.start()
            first = await waiting
            # The answer is read from the record by a process that never saw the run.
            again = await _until(lambda: _call(storm, client))
        begun = [one for one in bench.ledger.begun() if one.is_at("enter")]
        count = await _count_runs(bench)

    assert (first.status_code, first.json()["n"]) == (201, 1)
    assert (again.status_code, again.json()) == (201, first.json())
    for one in (first, again):
        assert one.headers["Idempotent-Replay"] == "true"
    assert (count, len(begun)) == (1, 1)
