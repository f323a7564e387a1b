"""The watchdog: stalled work is shown: R20."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import Any

from tests.chaos.check import CheckOptions, Figure, Verdict, exactly, told
from tests.chaos.started_server import StartedServer, standing
from tests.kit.owner_session import owner_of

_SCHEDULED: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "every minute",
    "goal": "Be missed when the scheduler hangs.",
    "triggers": [
        {"id": "clock", "type": "schedule", "config": {"cron": "* * * * *", "timezone": "UTC"}}
    ],
    "plan": [{"step_id": "a", "action": "transform_data", "config": {"output": 1}}],
}


async def watchdog(asked: CheckOptions) -> Verdict:
    """R20."""
    figures: list[Figure] = []
    async with standing() as server:
        person = await owner_of(server.home)
        made = await server.call("POST", "/automations", _SCHEDULED, **person)
        await server.call("POST", f"/automations/{made['id']}/activate", **person)
        await _until(server, 200, 240)
        scheduler = next(pid for name, pid in server.parts.items() if "scheduler" in name)
        for _ in range(asked.of(1, 3)):
            os.kill(scheduler, signal.SIGSTOP)
            try:
                # Its moment comes now, and nobody is there to see it.
                due = await server.ask(
                    "UPDATE triggers SET next_due_at = now() RETURNING "
                    "extract(epoch FROM next_due_at)::float8"
                )
                await _until(server, 503, 360)
                red = time.time() - due
            finally:
                os.kill(scheduler, signal.SIGCONT)
            green = await _until(server, 200, 240)
            figures.append(asked.at_most("red after the missed moment", red, 90))
            figures.append(asked.at_most("green by itself after it woke", green, 60))
        there = await server.ask("SELECT count(*) > 0 FROM runs")
        figures.append(exactly("the missed moment ran in the end", there, True))
        figures.append(told("the scheduler is the same process", _same(scheduler)))
    return Verdict(figures)


def _same(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _until(server: StartedServer, status: int, seconds: float) -> float:
    """Waits until ``/health`` answers so; answers how long that took."""
    began = time.monotonic()
    while True:
        answer = await server.client.get("/api/v1/health")
        waited = time.monotonic() - began
        if answer.status_code == status:
            return waited
        assert waited < seconds, f"/health is {answer.status_code} after {seconds:g} s"
        await asyncio.sleep(0.25)
