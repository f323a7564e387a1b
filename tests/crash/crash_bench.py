"""The bench: a database with real durability, runs to execute, a pool to kill.

The bench is outside: it hands runs in, watches rows, and keeps the ledger and the
witness for the judge. It never executes a step.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from mainspring.app import Application, build_registry, open_application
from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.runs.dispatch import DispatchResult
from mainspring.runs.rows import FINAL
from mainspring.runs.run_requests import RunRequest
from mainspring.settings import Settings
from mainspring.store.database import Connection, is_lost_connection
from mainspring.store.embedded import EmbeddedServer
from mainspring.workspace.automations import FIRST_MEMBER, save
from tests.crash import commit_log
from tests.crash.capabilities import CrashCapabilities
from tests.crash.fork_server import ForkServer
from tests.crash.side_effect_log import SideEffectLog
from tests.crash.worker_pool import WorkerPool, WorkerProcess
from tests.crash.worker_process import WorkerOptions
from tests.kit.postgres import open_folder

# A step of a plan and the item it was for.
Spot = tuple[str, str]

FIVE_STEPS: dict[str, Any] = {
    "schema_version": "1.2",
    "name": "five steps",
    "goal": "Leave a trace of every step, whatever happens to the workers.",
    "plan": [
        {"step_id": "enter", "action": "ledger.apply", "config": {"mark": "in"}},
        {
            "step_id": "shape",
            "action": "transform_data",
            "config": {"output": {"mark": "{{ steps.enter.mark }}", "items": ["a", "b"]}},
        },
        {"step_id": "keep", "action": "ledger.keep", "config": {"mark": "{{ steps.shape.mark }}"}},
        {
            "step_id": "each",
            "action": "for_each",
            "config": {
                "items": "{{ steps.shape['items'] }}",
                "steps": [
                    {
                        "step_id": "visit",
                        "action": "ledger.apply",
                        "config": {"mark": "{{ item }}"},
                    }
                ],
            },
        },
        {"step_id": "leave", "action": "ledger.apply", "config": {"mark": "out"}},
    ],
    "execution": {"concurrency": "allow_parallel"},
}
FIVE_STEPS_SPOTS: frozenset[Spot] = frozenset(
    {
        ("enter", ""),
        ("shape", ""),
        ("keep", ""),
        ("visit", "0"),
        ("visit", "1"),
        ("each", ""),
        ("leave", ""),
    }
)

_databases = itertools.count(1)
_TEMPLATE = "arena_template"
_IS_THERE = "SELECT 1 FROM pg_database WHERE datname = $1"


@dataclass(slots=True)
class CrashBench:
    """Everything one crash test uses."""

    application: Application
    folder: Path
    ledger: SideEffectLog
    pool: WorkerPool
    runs: list[UUID] = field(default_factory=list)

    async def save(self, document: Mapping[str, Any]) -> UUID:
        """Keeps a definition; answers the automation."""
        report = validate(document, self.application.registry, self.application.limits)
        assert report.definition is not None, report.findings
        async with self.application.database.transaction() as tx:
            stored = await save(
                tx,
                self.application.workspace_id,
                report.definition,
                report.grants,
                FIRST_MEMBER,
                via="page",
            )
        return stored.automation_id

    async def dispatch(self, automation_id: UUID, count: int) -> list[UUID]:
        """Hands runs in, each under a key: a broken connection hands in nothing twice."""
        first = len(self.runs)
        requests = [
            RunRequest(self.application.workspace_id, automation_id, key=f"run {first + number}")
            for number in range(count)
        ]
        ids = [dispatched.run_id for dispatched in await self._accepted(requests)]
        self.runs += ids
        return ids

    async def _accepted(self, requests: Sequence[RunRequest]) -> list[DispatchResult]:
        while True:
            try:
                return await self.application.dispatcher.dispatch_all(requests)
            except Problem as problem:
                if not is_lost_connection(problem):
                    raise
                await self.application.database.recover()

    async def ask(self, work: Callable[[Connection], Awaitable[Any]]) -> Any:
        """Reads something, also from a database that is being restarted."""
        return await self.application.database.run_retrying(work)

    async def statuses(self, runs: Sequence[UUID]) -> dict[UUID, str]:
        async def read(connection: Connection) -> list[asyncpg.Record]:
            return await connection.fetch(
                "SELECT id, status FROM runs WHERE workspace_id = $1 AND id = ANY($2::uuid[])",
                self.application.workspace_id,
                list(runs),
            )

        return {row["id"]: row["status"] for row in await self.ask(read)}

    async def until(self, fact: Callable[[], Awaitable[bool]], seconds: float, what: str) -> float:
        """Waits for a fact; answers how long it took, or fails with what the pool said."""
        began = time.monotonic()
        while not await fact():
            waited = time.monotonic() - began
            assert waited < seconds, f"not within {seconds:g} s: {what}\n{self.pool.log_tail()}"
            await asyncio.sleep(0.02)
        return time.monotonic() - began

    async def until_final(self, seconds: float, runs: Sequence[UUID] | None = None) -> float:
        """Waits until each run has ended, in whatever way."""
        expected = self.runs if runs is None else list(runs)

        async def ended() -> bool:
            found = await self.statuses(expected)
            return len(found) == len(expected) and set(found.values()) <= FINAL

        return await self.until(ended, seconds, f"{len(expected)} runs have ended")

    async def until_ended(self, member: WorkerProcess, seconds: float) -> int:
        """Waits until a worker has ended by itself; answers its exit code."""

        async def ended() -> bool:
            return not member.alive

        await self.until(ended, seconds, f"worker {member.pid} has ended")
        assert member.exit_code is not None
        return member.exit_code

    async def let_leases_run_out(self) -> None:
        """What waiting would do, at once."""

        async def expire(connection: Connection) -> None:
            await connection.execute("UPDATE workers SET lease_until = now()")

        await self.ask(expire)

    async def registered(self) -> set[int]:
        """The processes whose worker has a lease that has not run out."""

        async def read(connection: Connection) -> list[asyncpg.Record]:
            return await connection.fetch(
                "SELECT split_part(name, '/', 2)::int AS pid FROM workers WHERE lease_until > now()"
            )

        return {row["pid"] for row in await self.ask(read)}

    async def until_at_work(self, *members: WorkerProcess, seconds: float = 20.0) -> None:
        """Waits until the workers have registered."""
        expected = {member.pid for member in members}

        async def there() -> bool:
            return expected <= await self.registered()

        await self.until(there, seconds, f"workers {sorted(expected)} have registered")


@asynccontextmanager
async def arena_at(
    url: str, fork_server: ForkServer, folder: Path, *, watched: bool = True, **orders: Any
) -> AsyncIterator[CrashBench]:
    """A bench over an empty database, with a witness or, to measure, without."""
    ledger = SideEffectLog(folder / "ledger")
    registry = build_registry(Limits(), capabilities=CrashCapabilities(ledger).capabilities())
    settings = Settings(home=folder, database_url=url)
    pool = WorkerPool(
        fork_server, WorkerOptions(url, str(folder), str(ledger.path), **orders), folder
    )
    async with AsyncExitStack() as stack:
        stack.callback(ledger.close)
        application = await stack.enter_async_context(open_application(settings, registry=registry))
        if watched:
            async with application.database.acquire() as connection:
                await commit_log.install(connection)
        stack.callback(pool.end)
        yield CrashBench(application, folder, ledger, pool)


@asynccontextmanager
async def open_crash_bench(
    server: EmbeddedServer,
    fork_server: ForkServer,
    folder: Path,
    *,
    copied: bool = True,
    **orders: Any,
) -> AsyncIterator[CrashBench]:
    """A bench over a database of its own on a running server.

    It is copied, because the migrations of each would take longer than many a storm; on a
    server for few arenas, which heals all of its files after every blow, it is not.
    """
    name = f"arena_{next(_databases)}"
    connection = await asyncpg.connect(server.dsn)
    try:
        if copied and not await connection.fetchval(_IS_THERE, _TEMPLATE):
            await connection.execute(f"CREATE DATABASE {_TEMPLATE}")
            async with open_application(
                Settings(home=folder, database_url=server.dsn_for(_TEMPLATE))
            ):
                pass
        template = _TEMPLATE if copied else "template1"
        await connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    finally:
        await connection.close()
    async with arena_at(server.dsn_for(name), fork_server, folder, **orders) as bench:
        yield bench


@asynccontextmanager
async def own_arena(**orders: Any) -> AsyncIterator[tuple[CrashBench, EmbeddedServer]]:
    """A bench on a server and with a fork server of its own, until the block ends."""
    with open_folder() as folder:
        server, fork_server = EmbeddedServer(folder / "home"), ForkServer.open(models=False)
        await server.start_async()
        try:
            async with open_crash_bench(
                server, fork_server, folder, copied=False, **orders
            ) as bench:
                yield bench, server
        finally:
            fork_server.close()
            await server.stop_async()
