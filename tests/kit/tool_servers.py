"""A served application that may reach two MCP servers on loopback, and ways to use them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from mainspring.app import Application, build_application, prepare_database
from mainspring.contracts.context import Actor
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelCatalog
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.workspace.automations import FIRST_MEMBER
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.capabilities import Outside
from tests.kit.mcp_server import McpDouble, Script, mcp_server, tool
from tests.kit.tenants import NEIGHBOUR, Person, add_person, add_workspace

# What the first server has to begin with: one that reads, one that sends, one of neither.
LOOK = tool("search_notes", "Finds notes.", annotations={"readOnlyHint": True})
SEND = tool("send_note", "Sends a note.")
ODD = tool("weather", "Tells the weather.")


def three() -> list[dict[str, Any]]:
    return [dict(LOOK), dict(SEND), dict(ODD)]


@dataclass(slots=True)
class ToolServers:
    """The application, two servers, and another tenant."""

    api: Api
    bench: Bench
    notes: McpDouble
    other: McpDouble
    other_tenant: Person

    @property
    def client(self) -> httpx2.AsyncClient:
        return self.api.client

    @property
    def application(self) -> Application:
        return self.bench.application

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the owner is answered, which is no problem."""
        answer = await self.client.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code < 400, answer.text
        return answer.json()

    async def refused(
        self, method: str, path: str, body: Any = None, *, program: bool = False
    ) -> Any:
        """The problem that the owner, or a program of theirs, is answered; never one of ours."""
        client = self.api.program if program else self.client
        answer = await client.request(method, f"/api/v1{path}", json=body)
        assert 400 <= answer.status_code != 500, answer.text
        return answer.json()

    async def as_other_tenant(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        """What the other tenant's owner is answered."""
        known = {"Authorization": f"Bearer {self.other_tenant.token}"}
        return await self.client.request(method, f"/api/v1{path}", json=body, headers=known)

    async def connect(self, alias: str, server: McpDouble | None = None, **more: Any) -> str:
        """A new connection's id."""
        given = {"alias": alias, "server_url": (server or self.notes).url, **more}
        return str((await self.ask("POST", "/connections", given))["connection"]["id"])

    async def look(self, connection_id: str) -> dict[str, dict[str, Any]]:
        """The tools of a connection, by name."""
        found = await self.ask("GET", f"/connections/{connection_id}")
        return {one["name"]: one for one in found["tools"]}

    async def harvest(self, connection_id: str) -> dict[str, dict[str, Any]]:
        found = await self.ask("POST", f"/connections/{connection_id}/harvest")
        return {one["name"]: one for one in found["tools"]}

    async def agree(self, connection_id: str, *names: str) -> Any:
        """Agrees to tools as they are shown now, as a person who is here themselves."""
        tools = await self.look(connection_id)
        chosen = [{"name": name, "hash": tools[name]["hash"]} for name in names]
        owner = Actor(self.application.workspace_id, "member", FIRST_MEMBER, role=Role.OWNER)
        given = {"connection_id": connection_id, "tools": chosen}
        return await self.application.gate.direct(CapabilityCaller(owner), "agree_to_tools", given)

    async def call(self, capability: str, **arguments: Any) -> Any:
        return await self.ask("POST", f"/capabilities/{capability}", arguments)

    async def save(self, document: Any) -> str:
        made = await self.ask("POST", "/automations", document)
        return str(made["id"])

    async def run(self, automation_id: str) -> dict[str, Any]:
        """Starts an automation and waits for its end."""
        made = await self.ask("POST", f"/automations/{automation_id}/run", {})
        return await self.bench.until(UUID(made["run_id"]))

    async def messages(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = (await self.ask("GET", "/inbox"))["items"]
        return found

    async def reset(self) -> None:
        """No connections, and both servers as they were."""
        for one in (await self.ask("GET", "/connections"))["connections"]:
            await self.ask("DELETE", f"/connections/{one['id']}")
        # What was granted before would hold the tools of the next connection back.
        await self.application.database.execute("UPDATE automations SET state = 'archived'")
        await self.application.database.execute("UPDATE automation_versions SET grants = '[]'")
        for server in (self.notes, self.other):
            server.script = Script(tools=three())
            server.sent.clear()


def settings_for(home: Path, url: str, *servers: McpDouble) -> Settings:
    return Settings(
        home=home,
        database_url=url,
        poll_seconds=0.2,
        stop_seconds=1.0,
        lease_seconds=12.0,
        heartbeat_seconds=0.5,
        egress_allow=frozenset(server.pair for server in servers),
    )


@asynccontextmanager
async def opened(
    settings: Settings, models: ModelCatalog | None = None
) -> AsyncIterator[Application]:
    """The whole product as a process opens it; other models may be asked instead of its own."""
    database = await Database.open(settings)
    application = build_application(settings, Limits(), None, database, models=models)
    try:
        await prepare_database(application)
        yield application
    finally:
        if application.script_runner is not None:
            await application.script_runner.aclose()
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.mcp_clients.aclose()
        await application.providers.aclose()
        await application.egress.aclose()
        await application.blobs.aclose()
        await database.close()


@asynccontextmanager
async def toolshop(url: str, home: Path) -> AsyncIterator[ToolServers]:
    """A served application with a worker in it, until the block ends."""
    async with (
        mcp_server(McpDouble(Script(tools=three()))) as notes,
        mcp_server(McpDouble(Script(tools=three()))) as other,
        opened(settings_for(home, url, notes, other)) as application,
    ):
        await add_workspace(application.database, NEIGHBOUR, "Next door")
        other_person = await add_person(application.database, NEIGHBOUR)
        bench = Bench(application, Outside())
        async with served(application) as api, bench.worker():
            yield ToolServers(api, bench, notes, other, other_person)
