"""Webhooks sent while the receiving process is killed: senders repeat with the same key."""

from __future__ import annotations

import asyncio
import random
import socket
from collections import Counter
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2

from mainspring.store.database import Connection
from mainspring.workspace.automations import FIRST_MEMBER, set_state
from mainspring.workspace.webhooks import rotate
from tests.crash.crash_bench import CrashBench

SENDERS = 12
_PAUSE = 0.03

HOOKED: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "hooked",
    "goal": "Be started once for each key that was accepted.",
    "triggers": [{"id": "hook", "type": "webhook", "config": {}}],
    "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": "{{ trigger.n }}"}}],
    "execution": {"concurrency": "allow_parallel"},
}


@dataclass(slots=True)
class WebhookStress:
    """What the senders know when it is over."""

    bench: CrashBench
    automation_id: UUID
    token: str
    port: int
    # By key: every run that an answer named.
    answered: dict[str, set[str]] = field(default_factory=dict)
    odd: Counter[int] = field(default_factory=Counter)
    broken: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/api/v1/automations/{self.automation_id}/fire"


async def plant(bench: CrashBench, document: dict[str, Any] = HOOKED) -> WebhookStress:
    """An active automation with a webhook, and a port for it."""
    automation_id = await bench.save(document)
    space = bench.application.workspace_id
    async with bench.application.database.transaction() as tx:
        await set_state(tx, space, automation_id, "active")
        _, token = await rotate(tx, space, automation_id, "hook", FIRST_MEMBER)
    with socket.socket() as accepted:
        accepted.bind(("127.0.0.1", 0))
        port = int(accepted.getsockname()[1])
    return WebhookStress(bench, automation_id, token, port)


async def strike_api(
    storm: WebhookStress, chance: random.Random, *, calls: int, kills: int
) -> None:
    """Keys in even portions; in the middle of each the API is killed and started again."""
    api = storm.bench.pool.start(role="api", port=storm.port)
    async with httpx2.AsyncClient(timeout=10) as client:
        for number in range(kills):
            portion = range(calls * number // kills, calls * (number + 1) // kills)
            sending = asyncio.create_task(_send(storm, client, portion))
            await _until_some_answered(storm, portion, chance)
            api.kill()
            api = storm.bench.pool.start(role="api", port=storm.port)
            await sending


async def _until_some_answered(storm: WebhookStress, portion: range, chance: random.Random) -> None:
    """A blow falls while answers come in: never before the first, seldom after the last."""
    expected = chance.randrange(1, max(len(portion) - SENDERS, 2))
    while sum(f"key-{n}" in storm.answered for n in portion) < expected:
        await asyncio.sleep(0.002)


async def _send(storm: WebhookStress, client: httpx2.AsyncClient, numbers: range) -> None:
    left = iter(numbers)

    async def sender() -> None:
        for number in left:
            await _until_accepted(storm, client, number)

    await asyncio.gather(*(sender() for _ in range(SENDERS)))


async def _until_accepted(storm: WebhookStress, client: httpx2.AsyncClient, number: int) -> None:
    key = f"key-{number}"
    headers = {"Authorization": f"Bearer {storm.token}", "Idempotency-Key": key}
    while True:
        try:
            answer = await client.post(storm.url, json={"n": number}, headers=headers)
        except httpx2.TransportError:
            storm.broken += 1
            await asyncio.sleep(_PAUSE)
            continue
        if answer.status_code == 202:
            storm.answered.setdefault(key, set()).add(answer.json()["run_id"])
            return
        storm.odd[answer.status_code] += 1
        await asyncio.sleep(_PAUSE)


async def offences(storm: WebhookStress, calls: int) -> list[str]:
    """Everything that breaks the promise: one run for each accepted key, none besides."""

    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch(
            "SELECT id, payload FROM runs WHERE automation_id = $1", storm.automation_id
        )

    rows = await storm.bench.ask(read)
    runs = Counter(row["payload"]["n"] for row in rows)
    there = {str(row["id"]) for row in rows}
    named = {run for ids in storm.answered.values() for run in ids}
    against = [f"answered 202 without a run: {run}" for run in named - there]
    against += [f"a run that no answer named: {run}" for run in there - named]
    against += [f"{count} runs for key {n}" for n, count in runs.items() if count != 1]
    against += [f"two runs answered for {k}" for k, ids in storm.answered.items() if len(ids) > 1]
    against += [f"key {n} was never accepted" for n in range(calls) if n not in runs]
    against += [f"{count} answers of status {status}" for status, count in storm.odd.items()]
    return against
