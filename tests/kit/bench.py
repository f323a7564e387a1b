"""A complete application over a fresh database, and helpers that run a definition to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest_asyncio

from mainspring.actions.script.runner import ScriptRunner
from mainspring.app import (
    Application,
    build_application,
    build_registry,
    build_worker,
    prepare_database,
)
from mainspring.contracts.limits import Limits
from mainspring.definition.validate import validate
from mainspring.runs.dispatch import DispatchResult
from mainspring.runs.history import read_run
from mainspring.runs.rows import FINAL, Hook, Watcher, ignore_event, no_hook
from mainspring.runs.run_requests import RunRequest
from mainspring.runs.worker import ALONE_SECONDS, Worker
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER, SavedAutomation, save
from mainspring.workspace.consent_rows import ConsentChannel
from mainspring.workspace.vault import SecretScope, Vault
from tests.kit.capabilities import Outside

PATIENCE = 60.0


@dataclass(slots=True)
class Bench:
    """An application with an outside world that the test can look at."""

    application: Application
    outside: Outside

    @property
    def secret_scope(self) -> SecretScope:
        """The secrets of the member who saves here."""
        return SecretScope(self.application.workspace_id, FIRST_MEMBER)

    async def save(
        self, document: Mapping[str, Any], via: ConsentChannel | None = "page"
    ) -> SavedAutomation:
        """Saved and agreed to by a person; None: nobody has agreed."""
        words = await self.application.registry.of(self.application.workspace_id)
        report = validate(document, words, self.application.limits)
        assert not report.findings, report.findings
        assert report.definition is not None
        async with self.application.database.transaction() as tx:
            return await save(
                tx,
                self.application.workspace_id,
                report.definition,
                report.grants,
                FIRST_MEMBER,
                via=via,
            )

    async def dispatch(self, document: Mapping[str, Any], **more: Any) -> DispatchResult:
        saved = await self.save(document)
        return await self.application.dispatcher.dispatch(
            RunRequest(self.application.workspace_id, saved.automation_id, **more)
        )

    async def read(self, run_id: UUID) -> dict[str, Any]:
        async with self.application.database.acquire() as connection:
            return await read_run(connection, self.application.workspace_id, run_id)

    async def until(
        self, run_id: UUID, *statuses: str, patience: float = PATIENCE
    ) -> dict[str, Any]:
        """Waits for the record to say one of the statuses (by default: any end)."""
        expected = statuses or tuple(FINAL)
        async with asyncio.timeout(patience):
            while True:
                run = await self.read(run_id)
                if run["status"] in expected:
                    return run
                await asyncio.sleep(0.01)

    async def until_idle(self, worker: Worker) -> None:
        """A run is on record a moment before its worker has let go of it."""
        async with asyncio.timeout(PATIENCE):
            while worker.in_flight:
                await asyncio.sleep(0.001)

    @asynccontextmanager
    async def worker(
        self,
        *,
        watch: Watcher = ignore_event,
        hook: Hook = no_hook,
        alone_seconds: float = ALONE_SECONDS,
        **settings: Any,
    ) -> AsyncIterator[Worker]:
        application = replace(
            self.application, settings=replace(self.application.settings, **settings)
        )
        made = build_worker(application, watch=watch, hook=hook, alone_seconds=alone_seconds)
        task = asyncio.create_task(made.run())
        try:
            yield made
        finally:
            made.stop()
            await task

    async def run(self, document: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        """Saves, dispatches and works until the run has ended."""
        made = await self.dispatch(document, **more)
        async with self.worker():
            return await self.until(made.run_id)


def document(*plan: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A definition around a plan."""
    return {
        "schema_version": "1.2",
        "name": more.pop("name", "a test"),
        "goal": "Show one promise.",
        "plan": list(plan),
        **more,
    }


def step(
    step_id: str, action: str, config: Mapping[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """One step of a plan."""
    return {"step_id": step_id, "action": action, "config": dict(config or {}), **more}


@pytest_asyncio.fixture
async def bench(database: Database, database_url: str, tmp_path: Path) -> AsyncIterator[Bench]:
    async with open_bench(database, database_url, tmp_path) as made:
        yield made


@asynccontextmanager
async def open_bench(database: Database, database_url: str, home: Path) -> AsyncIterator[Bench]:
    """An application over the test's own database, with leases that no busy machine outlasts.

    A test in which a worker is lost says so in the table of workers.
    """
    settings = Settings(
        home=home,
        database_url=database_url,
        poll_seconds=0.2,
        stop_seconds=1.0,
        lease_seconds=12.0,
        heartbeat_seconds=0.5,
    )
    outside = Outside()
    vault = Vault(database, settings.key_file, Limits())
    script_runner = ScriptRunner(Limits(), address=settings.address, warm=0, database=database)
    registry = build_registry(
        Limits(),
        vault=vault,
        database=database,
        capabilities=outside.capabilities(),
        script_runner=script_runner,
    )
    application = build_application(settings, Limits(), registry, database, script_runner)
    await prepare_database(application)
    try:
        yield Bench(application, outside)
    finally:
        await script_runner.aclose()
        await application.gate.aclose()
        await application.run_waiter.aclose()
        await application.hints.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
