"""A served application with an integration of its own, and a provider on loopback behind it.

``notebook`` and ``diary`` sign in with OAuth at one provider, ``keyed`` takes a key, ``open_data``
needs nothing.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import httpx2

from mainspring.app import Application, build_application, prepare_database
from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext, HttpRequest
from mainspring.contracts.errors import ReconnectRequired, UpstreamError
from mainspring.contracts.integration import Integration
from mainspring.contracts.limits import Limits
from mainspring.contracts.object_schema import build_object_schema
from mainspring.contracts.secret import CONNECTION_TOKEN, SecretText
from mainspring.registry import build_registry
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.workspace.vault import Vault
from tests.kit.api import Api, served
from tests.kit.bench import Bench
from tests.kit.capabilities import Outside
from tests.kit.doubles.oauth_provider import (
    CLIENT,
    CLIENT_SECRET,
    OAuthProvider,
    UnknownProvider,
    oauth_provider,
    stranger,
)

SCOPES = ("notes.read", "notes.write")
_BEARER = SecretText(("Bearer ", CONNECTION_TOKEN))
_NOTES = build_object_schema(
    {
        "notes": {"type": "array", "items": {"type": "string"}},
        "who": {"type": ["string", "null"]},
        "echo": {"type": "string"},
    },
    ["notes"],
    [{"notes": ["one"]}],
    [({"notes": "one"}, "several")],
)
_NOTHING = build_object_schema(
    {"text": {"type": "string"}}, [], [{}], [({"texts": []}, "no such argument")]
)


async def ask_api(ctx: CallContext, url: str) -> Mapping[str, Any]:
    """What the API answers, mapped as a client of an integration maps it."""
    answer = await ctx.http.send(HttpRequest("GET", url, {"Authorization": _BEARER}, {}))
    if answer.status != 200:
        raise UpstreamError(f"The notebook answered with status {answer.status}.", code="status")
    found: Mapping[str, Any] = json.loads(answer.body)
    return found


def _auth(base: str) -> dict[str, Any]:
    return {
        "kind": "oauth",
        "how": "Sign in at the notebook.",
        "provider": "acme",
        "authorize_url": f"{base}/authorize",
        "token_url": f"{base}/token",
        "revoke_url": f"{base}/revoke",
        "scopes": list(SCOPES),
        "extra": {"access_type": "offline"},
        "fields": [{"name": "shelves", "label": "Shelves to follow", "required": False}],
    }


def _reader(
    name: str, integration: str, hosts: frozenset[str], url: str, **more: Any
) -> Capability:
    async def read(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        if given.get("text") == "refuse":
            raise ReconnectRequired("Too little was agreed to.", code="scope_missing")
        found = await ask_api(ctx, url)
        return {**found, "who": None if ctx.account is None else ctx.account.account}

    return Capability(
        name,
        "Read notes\n\nAll of them.",
        _NOTHING,
        _NOTES,
        read,
        annotations=Annotations(route=ConnectionRoute(integration, hosts), hosts=hosts, **more),
    )


def _poster(name: str, integration: str, hosts: frozenset[str], url: str) -> Capability:
    send = _reader(name, integration, hosts, url, effect=Effect.SEND)
    return Capability(
        send.id,
        send.description,
        send.input_schema,
        send.output_schema,
        send.handler,
        Write(preview=lambda given: f"Post {given.get('text', '')}", editable=("text",)),
        send.annotations,
    )


async def _named(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    del ctx
    return {"notes": [arguments["source"]]}


# Its list of sources is each caller's own.
PICK = Capability(
    "test.pick",
    "Pick a source\n\nOne that is connected.",
    build_object_schema(
        {"source": {"type": "string"}}, ["source"], [{"source": "notebook"}], [({}, "which one?")]
    ),
    _NOTES,
    _named,
    annotations=Annotations(connected={"source": "act"}),
)


def notebook(base: str, pair: str) -> Integration:
    hosts = frozenset({pair})
    post = _poster("notebook.post", "notebook", hosts, f"{base}/api/post")

    async def account(ctx: CallContext) -> str:
        return str((await ask_api(ctx, f"{base}/api/me"))["account"])

    return Integration(
        manifest={
            "id": "notebook",
            "name": "Notebook",
            "description": "Notes.",
            "tier": "bronze",
            "auth": _auth(base),
            "hosts": [pair],
            "capabilities": [],
        },
        capabilities=(
            _reader("notebook.read", "notebook", hosts, f"{base}/api/notes"),
            _reader("notebook.away", "notebook", hosts, f"{base}/api/away"),
            post,
        ),
        account=account,
    )


def diary(base: str, pair: str) -> Integration:
    """Another product of the notebook's provider, behind the same client."""
    own = notebook(base, pair)
    hosts = frozenset({pair})
    return Integration(
        manifest={**own.manifest, "id": "diary", "name": "Diary"},
        capabilities=(_reader("diary.read", "diary", hosts, f"{base}/api/notes"),),
        account=own.account,
    )


def keyed(base: str, pair: str) -> Integration:
    async def account(ctx: CallContext) -> str:
        return str((await ask_api(ctx, f"{base}/api/me"))["account"])

    fields = [
        {"name": "token", "label": "Key", "secret": True},
        {"name": "team", "label": "Team", "required": False, "default": "ours"},
    ]
    return Integration(
        manifest={
            "id": "keyed",
            "name": "Keyed",
            "description": "Notes by a key.",
            "tier": "bronze",
            "auth": {"kind": "token", "how": "Make a key in its settings.", "fields": fields},
            "hosts": [pair],
            "capabilities": [],
        },
        capabilities=(
            _reader("keyed.read", "keyed", frozenset({pair}), f"{base}/api/notes"),
            _poster("keyed.post", "keyed", frozenset({pair}), f"{base}/api/post"),
        ),
        account=account,
    )


def open_data(pair: str) -> Integration:
    return Integration(
        manifest={
            "id": "open_data",
            "name": "Open data",
            "description": "For anybody.",
            "tier": "bronze",
            "auth": {"kind": "none", "how": "Nobody signs in."},
            "hosts": [pair],
            "capabilities": [],
        }
    )


@dataclass(slots=True)
class Accounts:
    """The application, the provider, and another provider that must receive nothing."""

    api: Api
    bench: Bench
    provider: OAuthProvider
    unknown_provider: UnknownProvider

    @property
    def application(self) -> Application:
        return self.bench.application

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """What the owner is answered, which is no problem."""
        answer = await self.api.client.request(method, f"/api/v1{path}", json=body)
        assert answer.status_code < 400, answer.text
        return answer.json()

    async def refused(self, method: str, path: str, body: Any = None) -> Any:
        """The problem that the owner is answered; never one of ours."""
        answer = await self.api.client.request(method, f"/api/v1{path}", json=body)
        assert 400 <= answer.status_code != 500, answer.text
        return answer.json()

    async def call(self, capability: str, **arguments: Any) -> httpx2.Response:
        return await self.api.client.post(f"/api/v1/capabilities/{capability}", json=arguments)

    async def shown(self, name: str) -> dict[str, Any]:
        found = await self.ask("GET", "/integrations")
        return next(one for one in found["integrations"] if one["name"] == name)

    async def be_client(self) -> str:
        """The workspace is known to the provider; answers the address to come back to."""
        given = {"client_id": CLIENT, "client_secret": CLIENT_SECRET}
        made = await self.ask("PUT", "/oauth-clients/acme", given)
        self.provider.redirect_uri = made["redirect_url"]
        return str(made["redirect_url"])

    async def left(self, name: str = "notebook") -> tuple[str, dict[str, str]]:
        """Somebody begins and agrees over there; where they are sent, and with what."""
        link = (await self.ask("POST", f"/integrations/{name}/sign-in"))["sign_in_url"]
        async with httpx2.AsyncClient(verify=False) as away:
            answer = await away.get(link)
        assert answer.status_code == 302, answer.text
        place = urlsplit(answer.headers["location"])
        return place.path, dict(parse_qsl(place.query))

    async def expire_here(self) -> None:
        """The access ends in a moment, as far as we know."""
        await self.application.database.execute(
            "UPDATE integration_connections SET expires_at = now() + interval '5 seconds'"
        )

    async def run(self, document: Mapping[str, Any]) -> dict[str, Any]:
        made = await self.ask("POST", "/automations", document)
        started = await self.ask("POST", f"/automations/{made['id']}/run", {})
        return await self.bench.until(UUID(started["run_id"]))


@asynccontextmanager
async def house_of(settings: Settings, provider: OAuthProvider) -> AsyncIterator[Application]:
    """The whole product with these integrations in addition to its own."""
    database = await Database.open(settings)
    catalog = (
        notebook(provider.url, provider.pair),
        diary(provider.url, provider.pair),
        keyed(provider.url, provider.pair),
        open_data(provider.pair),
    )
    vault = Vault(database, settings.key_file, Limits())
    registry = build_registry(
        Limits(),
        settings=settings,
        vault=vault,
        database=database,
        integrations=catalog,
        capabilities=[PICK],
    )
    application = build_application(settings, Limits(), registry, database)
    try:
        await prepare_database(application)
        yield application
    finally:
        await application.gate.aclose()
        await application.wakeup_sender.aclose()
        await application.mcp_clients.aclose()
        await application.providers.aclose()
        await application.egress.aclose()
        await application.blobs.aclose()
        await database.close()


@asynccontextmanager
async def accounts(url: str, home: Path) -> AsyncIterator[Accounts]:
    """A served application with a worker in it, until the block ends."""
    async with oauth_provider() as provider, stranger() as other:
        provider.elsewhere = other.url
        settings = Settings(
            home=home,
            database_url=url,
            poll_seconds=0.2,
            stop_seconds=1.0,
            lease_seconds=12.0,
            heartbeat_seconds=0.5,
            egress_allow=frozenset({provider.pair, other.pair}),
        )
        async with house_of(settings, provider) as application:
            bench = Bench(application, Outside())
            async with served(application, own_app=True) as api, bench.worker():
                yield Accounts(api, bench, provider, other)
