"""The floor of a webhook: bare uvicorn and asyncpg that write the rows of a run.

Accepting is one grouped insert; claiming, each step and the end are grouped commits too.
The statements are the engine's own; what is missing is everything else: no token, no
validation, no templates, no leases. ``python -m bench.http_baseline URL STEPS PORT``.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import uvicorn
import uvloop

from mainspring.contracts.ids import generate_id
from mainspring.definition.strict_json import dumps
from mainspring.runs import queue
from mainspring.runs.record import END_RUNS, INSERT_STEPS, end_columns, event_row, step_columns
from mainspring.runs.rows import ClaimedRun, RunCommit, RunEnd, StepRow
from mainspring.runs.run_requests import NewRun, RunRequest, insert_runs
from mainspring.settings import Settings
from mainspring.store.database import Database, DedicatedConnection
from mainspring.store.events import append_events
from mainspring.store.group_commit import GroupWriter
from mainspring.workspace.automations import FIRST_WORKSPACE

GROUP = 256


class Floor:
    """An endpoint, and a loop that finishes what it accepted."""

    def __init__(self, database: Database, automation: UUID, steps: int) -> None:
        self._database = database
        self._automation = automation
        self._steps = steps
        self._news = asyncio.Event()
        self._accepting = GroupWriter(database, self._insert)
        self._recording = GroupWriter(database, self._write)

    async def _insert(self, connection: DedicatedConnection, bodies: Sequence[bytes]) -> list[UUID]:
        request = RunRequest(FIRST_WORKSPACE, self._automation, trigger_type="webhook")
        new = [
            NewRun(generate_id(), request, 1, "fast", {}, None, False, None, None, 0)
            for _ in bodies
        ]
        async with connection.transaction():
            await insert_runs(connection, new)
        self._news.set()
        return [run.id for run in new]

    async def _write(
        self, connection: DedicatedConnection, units: Sequence[RunCommit]
    ) -> list[bool]:
        async with connection.transaction():
            steps = [(unit, step) for unit in units for step in unit.steps]
            await connection.execute(INSERT_STEPS, *step_columns(steps))
            ends = [(unit, unit.end) for unit in units if unit.end is not None]
            if ends:
                await connection.execute(END_RUNS, *end_columns(ends))
                events = [event for event in map(event_row, ends) if event is not None]
                await append_events(connection, events)
        return [True] * len(units)

    async def work(self) -> None:
        connection = await self._database.dedicated(
            settings={"enable_seqscan": "off", "plan_cache_mode": "force_generic_plan"}
        )
        place = queue.WorkerRegistration("floor", "floor", 0, ("fast",), 128)
        worker = await queue.register(connection, place, 3600)
        going: set[asyncio.Task[None]] = set()
        while True:
            await self._news.wait()
            self._news.clear()
            while claimed := await queue.claim(connection, ["fast"], GROUP, worker):
                for run in claimed:
                    task = asyncio.create_task(self._walk(run))
                    going.add(task)
                    task.add_done_callback(going.discard)

    async def _walk(self, run: ClaimedRun) -> None:
        value = {"said": "hello"}
        for number in range(self._steps):
            last = number == self._steps - 1
            end = RunEnd("succeeded", None, "answer_only", value, cost_usd=Decimal(0))
            step = StepRow(f"step_{number}", "", 1, "succeeded", 0, run.started_at, value)
            await self._recording.write(RunCommit(run, [step], [], end if last else None))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        message = await receive()
        run_id = await self._accepting.write(message["body"])
        body = (dumps({"run_id": str(run_id)}) or "").encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 202, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def serve(url: str, automation: str, steps: int, port: int) -> None:
    database = await Database.open(Settings(database_url=url))
    floor = Floor(database, UUID(automation), steps)
    working = asyncio.create_task(floor.work())
    config = uvicorn.Config(
        floor, host="127.0.0.1", port=port, lifespan="off", log_config=None, access_log=False
    )
    await uvicorn.Server(config).serve()
    working.cancel()


def main() -> None:
    url, automation, steps, port = sys.argv[1:]
    uvloop.run(serve(url, automation, int(steps), int(port)))


if __name__ == "__main__":
    main()
