"""The switchboard: what the capabilities about connections are given by whoever builds the house.

They are part of the registry, and they need to know its names, so that no alias can stand for
what is ours. So the switchboard is made empty and opened once everything stands. Before that
its capabilities can be described and not called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

from mainspring.connections.mcp_servers.tokens import ACCESS, CLIENT_SECRET
from mainspring.connections.mcp_servers.tool_discovery import McpToolDiscovery
from mainspring.connections.mcp_servers.tool_registry import McpToolRegistry
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    InternalError,
    Invalid,
    LimitExceeded,
    Problem,
)
from mainspring.outbound.egress import parse_url
from mainspring.store.database import WorkspaceDatabase
from mainspring.store.shield import run_to_completion
from mainspring.workspace.connections import rows, tool_rows
from mainspring.workspace.redaction import is_sensitive
from mainspring.workspace.sealing import connection_scope

if TYPE_CHECKING:
    from mainspring.connections.mcp_servers.client import McpClientPool
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.registry import Vocabulary
    from mainspring.store.database import Database
    from mainspring.workspace.connections.rows import ConnectionAuth, McpConnection
    from mainspring.workspace.vault import Vault

# Where a person's browser comes back to from signing in elsewhere. Each connection has its own
# place: what one server of tokens hands out cannot be brought to another (RFC 9700, 4.4).
CALLBACK: Final = "/api/v1/connections/{connection_id}/sign-in/callback"
# By which keys are called in an address, beside the names that are sensitive anywhere.
_KEYS: Final = frozenset(
    {"access-key", "auth", "auth-token", "bearer", "key", "sig", "signature", "token"}
)
# Words that mean something else where a tool is named.
_RESERVED: Final = frozenset(
    {
        "admin",
        "agent",
        "board",
        "constructor",
        "event",
        "inputs",
        "mainspring",
        "mcp",
        "prototype",
        "run",
        "secrets",
        "steps",
        "system",
        "then",
        "trigger",
    }
)


@dataclass(frozen=True, slots=True)
class McpConnectionDependencies:
    """What stands behind an open switchboard."""

    database: Database
    vault: Vault
    outside: McpClientPool
    clock: Clock
    limits: Limits
    address: str
    natives: Vocabulary
    harvester: McpToolDiscovery
    tools: McpToolRegistry


class McpConnectionService:
    """Connections as people make and end them."""

    def __init__(self) -> None:
        self._parts: McpConnectionDependencies | None = None

    def open(
        self,
        database: Database,
        vault: Vault,
        outside: McpClientPool,
        clock: Clock,
        limits: Limits,
        address: str,
        natives: Vocabulary,
    ) -> None:
        """Everything stands: from here on the capabilities work."""
        self._parts = McpConnectionDependencies(
            database,
            vault,
            outside,
            clock,
            limits,
            address,
            natives,
            McpToolDiscovery(database, outside, clock, limits),
            McpToolRegistry(database, outside, limits),
        )

    @property
    def is_open(self) -> bool:
        return self._parts is not None

    @property
    def parts(self) -> McpConnectionDependencies:
        if self._parts is None:
            raise InternalError("This registry describes capabilities and cannot call this one.")
        return self._parts

    def inside(self, workspace_id: UUID) -> WorkspaceDatabase:
        return WorkspaceDatabase(self.parts.database, workspace_id)

    async def connect(
        self, actor: Actor, arguments: Mapping[str, Any]
    ) -> tuple[McpConnection, str | None]:
        """A new connection with its tools, or with the address at which to sign in first.

        One that cannot be used at all is not kept: whoever connects is there to mend it.
        """
        check_alias(arguments["alias"], self.parts.natives)
        address = validate_server_url(arguments["server_url"])
        auth = _auth(arguments)
        inside = self.inside(actor.workspace_id)
        made = await inside.run_retrying(
            lambda tx: self._insert_connection(tx, actor, arguments, address, auth)
        )
        return await self.discover_tools(actor, made)

    async def connect_program(
        self, actor: Actor, alias: str, command: list[str], *, agree: bool
    ) -> McpConnection:
        """A program on this machine, for the operator's own command."""
        check_alias(alias, self.parts.natives)

        async def work(tx: Transaction) -> McpConnection:
            made = await rows.add_stdio(tx, actor.workspace_id, actor.id, alias, command)
            if not agree:
                await tool_rows.require_tool_review(tx, actor.workspace_id, made.id)
            return made

        made = await self.inside(actor.workspace_id).run_retrying(work)
        return (await self.discover_tools(actor, made))[0]

    async def discover_tools(
        self, actor: Actor, made: McpConnection
    ) -> tuple[McpConnection, str | None]:
        """The tools of a new connection, or where to sign in; one that fails is taken away."""
        link = None
        inside = self.inside(actor.workspace_id)
        try:
            if made.auth == "oauth":
                link = await self.parts.outside.begin_sign_in(
                    actor, made.id, self.callback(made.id)
                )
            else:
                await self.parts.harvester.harvest(actor.workspace_id, made.id, actor)
        except BaseException:
            # Also when whoever connects has gone away: an alias without tools helps nobody.
            await run_to_completion(self._remove_connection(made))
            raise
        async with inside.acquire() as connection:
            return await rows.find(connection, actor.workspace_id, made.id), link

    async def _remove_connection(self, made: McpConnection) -> None:
        space = made.workspace_id
        await self.inside(space).run_retrying(lambda tx: rows.remove(tx, space, made.id))

    def callback(self, connection_id: UUID) -> str:
        return self.parts.address.rstrip("/") + CALLBACK.format(connection_id=connection_id)

    async def finish_sign_in(
        self,
        actor: Actor,
        connection_id: UUID,
        *,
        state: str,
        code: str | None,
        iss: str | None,
        error: str | None,
    ) -> tuple[McpConnection, Problem | None]:
        """Takes in whoever comes back from signing in, and looks at the tools.

        A look that fails does not undo the signing in; why it failed is told.
        """
        made = await self.parts.outside.finish_sign_in(
            actor, connection_id, state=state, code=code, iss=iss, error=error
        )
        try:
            await self.parts.harvester.harvest(actor.workspace_id, made.id, actor)
        except Problem as problem:
            return made, problem
        self.parts.tools.stir(actor.workspace_id)
        return made, None

    async def take_token(self, tx: Transaction, found: McpConnection, token: str) -> None:
        """Another token for a server that is let in by one, or now asks for one."""
        if found.transport != "http" or found.auth == "oauth":
            signs_in = found.auth == "oauth"
            raise Conflict(
                f"{found.alias} does not use a token.",
                code="no_token_taken",
                suggestion=f"Sign in again: `mainspring connections sign-in {found.alias}`."
                if signs_in
                else "It is a program on this machine, which needs none.",
            )
        scope = connection_scope(found.workspace_id, found.id)
        await self.parts.vault.put(tx, scope, ACCESS, token)
        await rows.set_token(tx, found.workspace_id, found.id)

    async def _insert_connection(
        self,
        tx: Transaction,
        actor: Actor,
        arguments: Mapping[str, Any],
        address: str,
        auth: ConnectionAuth,
    ) -> McpConnection:
        space = actor.workspace_id
        there = await rows.list_connections(tx, space)
        if len(there) >= self.parts.limits.connections:
            raise LimitExceeded(
                f"A workspace has at most {self.parts.limits.connections} connections.",
                code="too_many_connections",
                suggestion="Remove one that is not used.",
                retryable=False,
            )
        known = None
        if "client_id" in arguments:
            known = {"client_id": arguments["client_id"], "client_given": True}
        made = await rows.add_http(
            tx, space, actor.id, arguments["alias"], address, auth=auth, oauth=known
        )
        scope = connection_scope(space, made.id)
        for name, argument in ((ACCESS, "token"), (CLIENT_SECRET, "client_secret")):
            if argument in arguments:
                await self.parts.vault.put(tx, scope, name, arguments[argument])
        if not arguments.get("agree", True):
            await tool_rows.require_tool_review(tx, space, made.id)
        return made


def check_alias(alias: str, natives: Vocabulary) -> None:
    """Refuses a name that would stand before names of ours."""
    heads = {name.partition(".")[0] for name in (*natives.capabilities, *natives.actions)}
    if alias in heads or alias in _RESERVED or alias.startswith("admin_"):
        detail = f"{alias} is the beginning of names that are known already."
        raise Conflict(
            detail,
            code="alias_reserved",
            findings=[Finding("/alias", detail, "alias_reserved")],
            suggestion=f"Choose another alias, such as my_{alias}.",
        )


def validate_server_url(url: str) -> str:
    """The address of a server over HTTP; nothing else can be connected from here."""
    scheme = url.partition(":")[0].lower()
    if scheme not in ("http", "https"):
        detail = "A server of tools is reached over https. Files, sockets and programs are not."
        raise _wrong_url(
            detail,
            "not_http",
            "Programs are connected on the machine itself, by its operator: "
            "mainspring connections add-stdio.",
        )
    try:
        found = parse_url(url).url
    except Invalid as problem:
        raise _wrong_url(
            problem.detail, "bad_url", "Write it like https://example.com/mcp."
        ) from None
    for name, _ in parse_qsl(urlsplit(found).query, keep_blank_values=True):
        if is_sensitive(name) or name.lower().replace("_", "-") in _KEYS:
            raise _wrong_url(
                f"{name} looks like a key, and all members can see the URL.",
                "key_in_url",
                "Enter the key as the token, which is encrypted, and remove it from the URL.",
            )
    return found


def _wrong_url(detail: str, code: str, suggestion: str) -> Invalid:
    finding = Finding("/server_url", detail, code, suggestion)
    return Invalid(detail, code=code, findings=[finding], suggestion=suggestion)


def _auth(arguments: Mapping[str, Any]) -> ConnectionAuth:
    """How it is signed in to; what is given for another way is a mistake."""
    auth: ConnectionAuth = arguments.get("auth") or ("bearer" if "token" in arguments else "none")
    needed = {"bearer": {"token"}}.get(auth, set())
    taken = {"bearer": {"token"}, "oauth": {"client_id", "client_secret"}}.get(auth, set())
    for name in ("token", "client_id", "client_secret"):
        detail = ""
        if name in arguments and name not in taken:
            detail = f"{name} is not used with auth {auth}."
        elif name in needed and name not in arguments:
            detail = f"With auth {auth} a {name} is needed."
        if detail:
            raise Invalid(detail, code="auth", findings=[Finding(f"/{name}", detail, "auth")])
    if "client_secret" in arguments and "client_id" not in arguments:
        detail = "A client_secret needs a client_id."
        raise Invalid(detail, code="auth", findings=[Finding("/client_id", detail, "auth")])
    return auth
