"""A served application in which one workspace is connected to tools, and another is not.

The tools are ``acme.lookup``, which reads, and ``acme.send``, which a person agrees to. What a
workspace has can be changed while the application runs, as in production.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx2

from mainspring.actions.script.runner import ScriptRunner
from mainspring.app import build_application, prepare_database
from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.registry import build_registry
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_WORKSPACE
from mainspring.workspace.vault import Vault
from tests.kit.api import Api, served
from tests.kit.bench import PATIENCE, Bench
from tests.kit.capabilities import Outside
from tests.kit.tenants import NEIGHBOUR, Person, add_person, add_workspace

LOOKUP: Final = "acme.lookup"
SEND: Final = "acme.send"


class Connected(Registry):
    """Natives for everybody, and for each workspace the tools that it has at the moment."""

    def __init__(self, natives: Registry) -> None:
        super().__init__(
            actions=natives.actions.values(),
            capabilities=natives.capabilities.values(),
            triggers=natives.triggers.values(),
            events=natives.events.values(),
        )
        self.tools: dict[UUID, dict[str, Capability]] = {}
        # How often the tools of a workspace were looked up.
        self.asked = 0

    async def of(self, workspace_id: UUID, *, needing: Iterable[str] = ()) -> Vocabulary:
        del needing
        self.asked += 1
        await asyncio.sleep(0)
        more = self.tools.get(workspace_id, {})
        return Registry(
            actions=self.actions.values(),
            capabilities=(*self.capabilities.values(), *more.values()),
            triggers=self.triggers.values(),
            events=self.events.values(),
        )


@dataclass(slots=True)
class Acme:
    """The other side: who was looked up, and what was sent."""

    looked_up: list[str] = field(default_factory=list)
    sent: list[Mapping[str, Any]] = field(default_factory=list)

    def tools(self, *, field: str = "name", pin: str = "1") -> dict[str, Capability]:
        """Its tools as they are agreed to; ``field`` is what they call their one argument."""
        takes = {
            "type": "object",
            "properties": {field: {"type": "string", "minLength": 1}},
            "required": [field],
            "additionalProperties": False,
        }
        found = {"type": "object", "properties": {"found": {"type": "string"}}}

        async def lookup(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
            self.looked_up.append(arguments[field])
            return {"found": f"{arguments[field]} in {ctx.actor.workspace_id}"}

        async def send(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
            self.sent.append(dict(arguments))
            return {"found": arguments[field]}

        def preview(arguments: Mapping[str, Any]) -> str:
            return f"Send {arguments[field]} to Acme."

        made = (
            Capability(
                LOOKUP, "Look somebody up", takes, found, lookup, annotations=Annotations(pin=pin)
            ),
            Capability(
                SEND,
                "Send to somebody",
                takes,
                found,
                send,
                Write(preview=preview),
                Annotations(effect=Effect.SEND, pin=pin),
            ),
        )
        return {one.id: one for one in made}


@dataclass(slots=True)
class ToolIsolation:
    """The application, its two workspaces, and how to call it."""

    api: Api
    bench: Bench
    registry: Connected
    acme: Acme
    other_tenant: Person

    @property
    def client(self) -> httpx2.AsyncClient:
        return self.api.client

    def connect(self, **how: str) -> dict[str, Capability]:
        """The first workspace has the tools, as new ones."""
        self.registry.tools = {FIRST_WORKSPACE: self.acme.tools(**how)}
        return self.registry.tools[FIRST_WORKSPACE]

    def disconnect(self) -> None:
        self.registry.tools = {}

    async def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """What the first workspace's owner is answered, which is no problem."""
        answer = await self.client.request(method, f"/api/v1{path}", json=body, **more)
        assert answer.status_code < 400, answer.text
        return answer.json()

    async def refused(self, method: str, path: str, body: Any = None) -> Any:
        answer = await self.client.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code >= 400, answer.text
        return answer.json()

    async def as_other_tenant(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """What the other tenant's owner is answered."""
        known = {"Authorization": f"Bearer {self.other_tenant.token}"}
        return await self.client.request(method, f"/api/v1{path}", json=body, headers=known)

    async def run(self, automation_id: str) -> dict[str, Any]:
        made = await self.ask("POST", f"/automations/{automation_id}/run", {})
        return await self.ended(made["run_id"])

    async def ended(self, run_id: str) -> dict[str, Any]:
        return await self.bench.until(UUID(run_id), patience=PATIENCE)


@asynccontextmanager
async def office(url: str, home: Path) -> AsyncIterator[ToolIsolation]:
    """A served application with a worker in it, until the block ends."""
    settings = Settings(
        home=home,
        database_url=url,
        poll_seconds=0.2,
        stop_seconds=1.0,
        lease_seconds=12.0,
        heartbeat_seconds=0.5,
    )
    limits, outside = Limits(), Outside()
    database = await Database.open(settings)
    script_runner = ScriptRunner(limits, address=settings.address, warm=0, database=database)
    natives = build_registry(
        limits,
        vault=Vault(database, settings.key_file, limits),
        database=database,
        script_runner=script_runner,
        capabilities=outside.capabilities(),
    )
    words = Connected(natives)
    application = build_application(settings, limits, words, database, script_runner)
    natives.studio.open(
        words, database, application.dispatcher, settings.address, None, script_runner
    )
    try:
        await prepare_database(application)
        await add_workspace(database, NEIGHBOUR, "Next door")
        other_person = await add_person(database, NEIGHBOUR)
        bench = Bench(application, outside)
        async with served(application) as api, bench.worker():
            yield ToolIsolation(api, bench, words, Acme(), other_person)
    finally:
        await script_runner.aclose()
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
        await database.close()
