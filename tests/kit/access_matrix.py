"""Two served workspaces with one of everything each, and every way to ask for it.

The ways come from the routes of the application and from its description, the values from
the rows in the database. What is added to either joins by itself; what cannot be found there
is a failure that says what to teach this module.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx2
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from mainspring.app import Application, build_application, build_worker, prepare_database
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.contracts.roles import Role
from mainspring.runs.rows import FINAL
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.surfaces.rest.openapi import describe, operations
from mainspring.surfaces.rest.route_access import get_route_capability, is_public
from tests.kit.api import Api, served
from tests.kit.bench import document, step
from tests.kit.owner_session import session_headers
from tests.kit.tenants import (
    NEIGHBOUR,
    Person,
    add_person,
    add_workspace,
    furnish,
    walled_tables,
)

ROOT: Final = "/api/v1"
AN_ID: Final = "01900000-0000-7000-8000-0000000000ff"
# A place whose name ends so holds something that belongs to a workspace.
ID_LIKE: Final = re.compile(r"(?:^|_)(?:ids?|slugs?|names?|keys?|refs?|types?|actor|up_to|space)$")
# Names of places that are not the names of columns: the table and the column that are meant.
_MEANT: Final[Mapping[str, tuple[str, str]]] = {
    "actor": ("members", "user_id"),
    "connection_id": ("mcp_connections", "id"),
    "created_by": ("members", "user_id"),
    "event_type": ("event_types", "type"),
    "link_id": ("board_links", "id"),
    "member_id": ("members", "user_id"),
    "recipe_id": ("dataset_recipes", "id"),
    "token_id": ("access_tokens", "id"),
    "up_to": ("notifications", "id"),
}
# Places that look as if they held something of a workspace, and do not.
NOBODYS: Final[Mapping[str, str]] = {
    "capability_id": "capabilities are the same for everybody",
    "keys": "the keys of a browser's push subscription belong to no workspace",
    "ref": "what an adapter reads stands outside of every workspace",
}
# Bodies that are complete enough to be authorized by what they name; the rest get what the
# capability gives as its example, or an empty object.
_TYPE: Final = {"description": "Something was made.", "payload_schema": {"type": "object"}}


def a_document(name: str, mark: str = "") -> dict[str, Any]:
    """A definition with a webhook; the mark makes its id one that nobody else has."""
    hook = {"id": f"hook{mark}", "type": "webhook", "config": {}}
    config = {"title": "Done", "message_template": "It is done."}
    return document(step("tell", "notification", config), name=name, triggers=[hook])


BODIES: Final[Mapping[str, Any]] = {
    # Its example would be asked for outside.
    "adapter_query": {"kind": "nothing", "op": "nothing"},
    "create_automation": a_document("made in a matrix"),
    "update_automation": a_document("changed in a matrix"),
    "import_automations": a_document("imported in a matrix"),
    "validate_definition": a_document("judged in a matrix"),
    "roll_back": {"version": 1},
    "patch_trigger": {"enabled": True},
    "post_event": {"type": "matrix.asked", "payload": {}},
    "put_event_type": _TYPE,
    "test_filter": {"filter": {"a": {"equals": 1}}, "payload": {"a": 1}},
}


@dataclass(frozen=True, slots=True)
class Way:
    """One method of one route."""

    method: str
    path: str
    name: str
    endpoint: Callable[..., Any] | None
    # Names of its places, by where they are: path, query or body.
    places: tuple[tuple[str, str], ...] = ()

    @property
    def label(self) -> str:
        return f"{self.method} {self.path}"

    def body(self) -> Any:
        """A body that is as right as can be known from here; None for a method without one."""
        if self.method in {"GET", "HEAD", "DELETE", "OPTIONS"}:
            return None
        capability = get_route_capability(self.endpoint)
        if self.name in BODIES or capability is None:
            return BODIES.get(self.name, {})
        example = dict((capability.input_schema.get("examples") or [{}])[0])
        return {name: value for name, value in example.items() if ("path", name) not in self.places}


def ways(app: FastAPI) -> list[Way]:
    """Every way that is not open to everybody."""
    description = describe(app)
    shown = {(method.upper(), path): entry for path, method, entry in operations(description)}
    parts = description["components"]["schemas"]
    found = []
    for route in iter_route_contexts(app.routes):
        for method in sorted(route.methods or ()):
            path = route.path_format or route.path or ""
            if is_public(route.endpoint):
                continue
            entry = shown.get((method, path), {})
            name = getattr(route, "name", None) or entry.get("operationId", "")
            found.append(Way(method, path, name, route.endpoint, tuple(_places(entry, parts))))
    assert len(found) > 40
    return found


def _places(entry: Mapping[str, Any], parts: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = [(one["in"], one["name"]) for one in entry.get("parameters", ())]
    for content in entry.get("requestBody", {}).get("content", {}).values():
        schema = content.get("schema", {})
        schema = parts.get(schema.get("$ref", "").rpartition("/")[2], schema)
        found += [("body", name) for name in schema.get("properties", {})]
    return [place for place in found if place[0] != "header"]


@dataclass(slots=True)
class AccessMatrix:
    """Two workspaces behind one server, and what each of them has."""

    api: Api
    owner: Person
    other_tenant: Person
    ways: list[Way]
    # What each of them has, by the names of places for it; the other tenant's is theirs alone.
    own: Mapping[str, list[str]]
    others: Mapping[str, list[str]]
    _counterparts: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Database:
        return self.api.application.database

    def nobodys(self, value: str) -> str:
        """Something of the same form that nobody has; always the same for the same value.

        What is done with the one is then done with the other too, so that they differ
        in nothing but what the other tenant has.
        """
        return self._counterparts.setdefault(value, _missing(value))

    async def ask(
        self,
        token: str | None,
        way: Way,
        fill: Mapping[str, str],
        body: Any = None,
        query: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """The status and the text of the answer; of a stream, its status alone."""
        path = way.path
        for name, value in fill.items():
            path = path.replace("{" + name + "}", value)
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        more: dict[str, Any] = {} if body is None else {"json": body}
        async with self.api.anonymous.stream(
            way.method, path, headers=headers, params=dict(query or {}), **more
        ) as answer:
            if answer.headers.get("content-type", "").startswith("text/event-stream"):
                return answer.status_code, ""
            return answer.status_code, (await answer.aread()).decode("utf-8", "replace")


@asynccontextmanager
async def two_workspaces(database_url: str, home: Path) -> AsyncIterator[AccessMatrix]:
    """The whole product over one database, with two workspaces that have lived a little."""
    settings = Settings(
        home=home,
        database_url=database_url,
        poll_seconds=0.2,
        stop_seconds=1.0,
        lease_seconds=2.0,
        heartbeat_seconds=0.5,
    )
    database = await Database.open(settings)
    application = build_application(settings, Limits(), None, database)
    try:
        await prepare_database(application)
        # The vault's key is made before there are rows that look as if they needed an older one.
        await application.vault.derived_key(b"matrix")
        async with served(application) as api:
            yield await _inhabited(api)
    finally:
        if application.script_runner is not None:
            await application.script_runner.aclose()
        await application.wakeup_sender.aclose()
        await application.egress.aclose()
        await application.blobs.aclose()
        await database.close()


async def _inhabited(api: Api) -> AccessMatrix:
    application, people = api.application, []
    await add_workspace(application.database, NEIGHBOUR, "Next door")
    async with _working(application):
        for workspace_id in (application.workspace_id, NEIGHBOUR):
            # Somebody whom nobody needs, for routes that remove people and tokens.
            await add_person(application.database, workspace_id, Role.VIEWER, name="spare")
            owner = await add_person(application.database, workspace_id, Role.OWNER, name="owner")
            await _live(api, owner)
            people.append(owner)
    own, others = [await _values(application.database, owner) for owner in people]
    foreign = {
        name: [one for one in values if one not in own.get(name, ())]
        for name, values in others.items()
    }
    mine, theirs = people
    return AccessMatrix(api, mine, theirs, ways(api.app), own, foreign)


@asynccontextmanager
async def _working(application: Application) -> AsyncIterator[None]:
    worker = build_worker(application)
    task = asyncio.create_task(worker.run())
    try:
        yield
    finally:
        worker.stop()
        await task


async def _live(api: Api, owner: Person) -> None:
    """An automation with triggers, versions and a run, an event and its type, a message."""
    async with api.application.database.transaction() as tx:
        known = await session_headers(tx, owner.id, owner.workspace_id)
    # The last characters differ, so that nothing in another workspace is called the same.
    mark = secrets.token_hex(3)
    async with httpx2.AsyncClient(base_url=api.address + ROOT, headers=known) as client:

        async def done(answer: httpx2.Response) -> Any:
            assert answer.status_code < 300, answer.text
            return answer.json() if answer.content else None

        await done(await client.put(f"/event-types/lived.made_{mark}", json=_TYPE))
        event = {"type": f"lived.made_{mark}", "payload": {"n": 1}, "source_id": f"source-{mark}"}
        await done(await client.post("/events", json=event))
        made = await done(await client.post("/automations", json=a_document(f"lived {mark}", mark)))
        one = f"/automations/{made['id']}"
        again = {**a_document(f"lived {mark}", mark), "goal": "Live on."}
        await done(await client.put(one, json=again))
        await done(await client.post(f"{one}/triggers/hook{mark}/token"))
        await done(await client.post(f"{one}/activate"))
        asked = {"idempotency_key": f"key-{mark}"}
        run = await done(await client.post(f"{one}/run", json=asked))
        async with asyncio.timeout(60):
            while (await done(await client.get(f"/runs/{run['run_id']}")))["status"] not in FINAL:
                await asyncio.sleep(0.02)
    await furnish(api.application.database, owner.workspace_id)


async def _values(database: Database, owner: Person) -> dict[str, list[str]]:
    """What a workspace has, by the names that places for it may have."""
    found: dict[str, list[str]] = {}
    tables: dict[str, list[Any]] = {}
    for table in await walled_tables(database):
        tables[table] = await database.fetch(
            f"SELECT * FROM {table} WHERE workspace_id = $1 LIMIT 20", owner.workspace_id
        )
        for row in tables[table]:
            if "id" in row:
                _put(found, f"{_singular(table)}_id", str(row["id"]))
    for table, rows in tables.items():
        for name, value in (pair for row in rows for pair in row.items()):
            if isinstance(value, UUID | str) and name != "workspace_id":
                _put(found, name, str(value))
                _put(found, f"{table}.{name}", str(value))
    for name, (table, column) in _MEANT.items():
        found[name] = found[f"{table}.{column}"]
    found["workspace_id"] = [str(owner.workspace_id)]
    keys = await database.fetch(
        "SELECT key FROM firings WHERE workspace_id = $1 AND key LIKE 'key:%'", owner.workspace_id
    )
    found["idempotency_key"] = [row["key"].removeprefix("key:") for row in keys]
    # Nobody removes themselves here.
    gone = {str(owner.id), str(owner.token_id)}
    return {name: [one for one in values if one not in gone] for name, values in found.items()}


def _put(found: dict[str, list[str]], name: str, value: str) -> None:
    values = found.setdefault(name, [])
    if value and value not in values:
        values.append(value)


def _singular(table: str) -> str:
    return table[:-3] + "y" if table.endswith("ies") else table.removesuffix("s")


def values_for(found: Mapping[str, list[str]], way: Way, name: str) -> list[str]:
    """Values for a placeholder: of the table that the path is about there, if it says so."""
    head, held, _ = way.path.partition("/{" + name + "}")
    if held:
        table = head.rpartition("/")[2].replace("-", "_")
        for column in (name.removeprefix(f"{_singular(table)}_"), name):
            if f"{table}.{column}" in found:
                return found[f"{table}.{column}"]
    # Many of a kind are called as one of it is, and a longer name says whose it is.
    words = (name.removesuffix("s") if name.endswith("ids") else name).split("_")
    for start in range(len(words)):
        if "_".join(words[start:]) in found:
            return found["_".join(words[start:])]
    return []


def _missing(value: str) -> str:
    """Something of the same form that nobody has."""
    try:
        UUID(value)
    except ValueError:
        return value[:-6] + secrets.token_hex(3)
    return str(generate_id())
