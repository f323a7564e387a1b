"""The reception: where members connect their accounts, test them and take them back.

Its capabilities are part of the registry, which is built before the house. So it is made with
the shelf alone and opened once everything stands; before that it can be described and not used.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.accounts.account_connections import AccountConnections
from mainspring.connections.accounts.connection_test import (
    InMemoryTokenProvider,
    fetch_account_name,
    ignore_values,
    reveal_no_secrets,
    sign_in_rejected_error,
)
from mainspring.connections.accounts.dependencies import (
    AccountConnectionDependencies,
    Changed,
    describe_connection_change,
    notify_nobody,
)
from mainspring.connections.accounts.member_access import MemberConnections
from mainspring.connections.accounts.problems import (
    already_shared_error,
    complete_reconnect_error,
    not_connected_error,
    unknown_integration_error,
)
from mainspring.connections.accounts.tokens import REFRESH, TOKEN, AccountTokenManager
from mainspring.connections.oauth.authorization_server import AuthorizationServerClient
from mainspring.contracts.errors import (
    Conflict,
    Finding,
    InternalError,
    Invalid,
    NotFound,
    Problem,
    ReconnectRequired,
)
from mainspring.contracts.ids import generate_id
from mainspring.contracts.manifest import get_source_name
from mainspring.contracts.roles import Permission, check_may
from mainspring.definition.strict_json import join_pointer
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.account_changes import (
    AccountChange,
    UsesAccount,
    Words,
    check_account_change,
    writes_instead_of,
    writes_over,
)
from mainspring.workspace.accounts import rows
from mainspring.workspace.accounts.rows import AccountRow
from mainspring.workspace.consent_rows import hold_agreements
from mainspring.workspace.sealing import SecretScope
from mainspring.workspace.vault import list_secrets

if TYPE_CHECKING:
    from mainspring.connections.accounts.sign_in import AccountOAuthFlow, AccountSignInResult
    from mainspring.contracts.clock import Clock
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.contracts.integration import Integration
    from mainspring.outbound.egress import Egress
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault


# What a person gives to be let in, judged by the fields that the manifest names.

_LONGEST: Final = 8_192
_KINDS: Final[Mapping[str, tuple[type, str]]] = {
    "string": (str, "text"),
    "integer": (int, "a whole number"),
    "boolean": (bool, "true or false"),
}


@dataclass(frozen=True, slots=True)
class ConnectionCredentials:
    """What lets a connection in, and what may be known of it."""

    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Any] = field(default_factory=dict)


def read_fields(integration: Integration, arguments: Mapping[str, Any]) -> ConnectionCredentials:
    """The fields of a manifest with what was given for them; Invalid names each that is wrong."""
    known = {one["name"]: one for one in integration.manifest["auth"].get("fields", ())}
    findings: list[Finding] = []
    if not known.keys() >= arguments.keys():
        # Whoever mistypes the name of a secret field may have written its value there.
        detail = f"There is a field that {integration.name} does not have."
        findings.append(
            Finding("/fields", detail, "unknown_field", f"It has {', '.join(known) or 'none'}.")
        )
    secrets: dict[str, str] = {}
    settings: dict[str, Any] = {}
    for name, one in known.items():
        value = arguments.get(name, one.get("default"))
        if value is None or value == "":
            if one.get("required", True):
                detail = f"{one['label']} is missing."
                findings.append(
                    Finding(join_pointer("/fields", name), detail, "required", one.get("help"))
                )
            continue
        wrong = _wrong(one, value)
        if wrong:
            findings.append(
                Finding(join_pointer("/fields", name), wrong, "bad_field", one.get("help"))
            )
        elif one.get("secret"):
            secrets[name] = str(value)
        else:
            settings[name] = value
    if findings:
        raise Invalid(findings[0].detail, code="bad_fields", findings=findings)
    return ConnectionCredentials(secrets, settings)


def _wrong(one: Mapping[str, Any], value: Any) -> str:
    """What is wrong with a value; it may be secret, so it is not repeated."""
    kind, called = _KINDS[one.get("type", "string")]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"{one['label']} must be {called}."
    if isinstance(value, str) and (len(value) > _LONGEST or any(ch in value for ch in "\0\r\n")):
        return f"{one['label']} must be one line of at most {_LONGEST} characters."
    return ""


# Where a browser comes back to from signing in. Each provider has its own place, which is
# registered there: what one of them hands out cannot be brought to another (RFC 9700, 4.4).
CALLBACK: Final = "/api/v1/integrations/callback/{provider}"


class AccountConnectionService:
    """Members' accounts as they connect and end them."""

    def __init__(
        self,
        shelf: Sequence[Integration],
        *,
        operated: Collection[str] = (),
        changed: Changed = notify_nobody,
        words: Words | None = None,
    ) -> None:
        self.shelf = tuple(shelf)
        self._operated = frozenset(operated)
        self._changed = changed
        # What tells which automations write over a connection.
        self._words = words
        self._named = {get_source_name(one.manifest): one for one in self.shelf}
        self._parts: AccountConnectionDependencies | None = None
        self._sign_ins: AccountOAuthFlow | None = None

    def open(
        self,
        database: Database,
        vault: Vault,
        egress: Egress,
        clock: Clock,
        address: str,
        allow: Iterable[str],
    ) -> AccountConnections:
        """Everything stands: from here on the capabilities work. Answers the ways for calls."""
        authority = AuthorizationServerClient(egress, allow)
        tokens = AccountTokenManager(database, vault, authority, clock)
        lines = AccountConnections(self.shelf, database, egress, tokens, self.known_to)
        self._parts = AccountConnectionDependencies(
            database, vault, clock, address, authority, lines, self._changed
        )
        return lines

    @property
    def parts(self) -> AccountConnectionDependencies:
        if self._parts is None:
            raise InternalError("This registry describes capabilities and cannot call this one.")
        return self._parts

    def named(self, source: str) -> Integration:
        """An integration by what it is asked for."""
        found = self._named.get(source)
        if found is None:
            raise unknown_integration_error(source, self._named)
        return found

    def providers(self) -> dict[str, list[str]]:
        """Every provider that somebody can sign in at, with the integrations that use it."""
        found: dict[str, list[str]] = {}
        for one in self.shelf:
            if one.manifest["auth"]["kind"] == "oauth":
                found.setdefault(one.manifest["auth"]["provider"], []).append(
                    get_source_name(one.manifest)
                )
        return found

    def callback(self, provider: str) -> str:
        """The address that has to be registered at a provider."""
        return self.parts.address.rstrip("/") + CALLBACK.format(provider=provider)

    async def known_to(self, workspace_id: UUID, owner_id: UUID) -> MemberConnections:
        """What decides what a member can use."""
        async with WorkspaceDatabase(self.parts.database, workspace_id).acquire() as tx:
            return await self.known_to_in(tx, workspace_id, owner_id)

    async def known_to_in(
        self, tx: Transaction, workspace_id: UUID, owner_id: UUID
    ) -> MemberConnections:
        """The same, within a transaction that is open already."""
        found = await rows.list_accounts(tx, workspace_id, owner_id)
        own = await list_secrets(tx, SecretScope(workspace_id, owner_id))
        return MemberConnections(
            {one.integration: one for one in found}, [one.name for one in own], self._operated
        )

    async def connect(
        self,
        actor: Actor,
        integration: Integration,
        arguments: Mapping[str, Any],
        label: str,
        *,
        share: bool = False,
    ) -> AccountRow:
        """A connection by fields: tried first, and kept only if it works.

        ``share``: the connection of the workspace is connected again, where others hold it.
        """
        fields = read_fields(integration, arguments)
        account = await self._tried(actor, integration, fields)
        parts = self.parts

        async def work(tx: Transaction) -> AccountRow:
            at = (actor.workspace_id, actor.id, integration.id)
            row = await rows.find_reconnectable_account(tx, *at) if share else None
            row = row or await rows.begin_connection(tx, *at, label, "token")
            row = await rows.lock_account(tx, row.workspace_id, row.id)
            await rows.delete_secrets(tx, row)
            for name, value in fields.secrets.items():
                await parts.vault.put(tx, row.secret_scope, name, value)
            await rows.mark_connected(
                tx, row, label=label, account=account, auth="token", settings=fields.settings
            )
            if row.owner_id != actor.id:
                await rows.transfer_account(tx, row, actor.id)
            made = await rows.find(tx, row.workspace_id, row.id)
            how = describe_connection_change(row, made)
            if how == "replaced":
                over = writes_over(integration.id)
                # A shared account is written with by the automations of everybody.
                owner = None if made.shared_at is not None else made.owner_id
                await self._check_replacing(tx, actor, integration, owner, over)
            await parts.changed(tx, made, how)
            return made

        return await WorkspaceDatabase(parts.database, actor.workspace_id).run_retrying(work)

    async def _check_removing(
        self, tx: Transaction, actor: Actor, integration: Integration, row: AccountRow
    ) -> None:
        """Refuses a program that removes an account where another one would be used instead.

        That is the connection of the workspace, or a secret that does as well. A person may, but
        nobody agrees to an automation meanwhile: the agreement would name an account that is gone.
        """
        if row.state == "sign_in":
            return
        if actor.is_person:
            await hold_agreements(tx, row.workspace_id)
            return
        if row.shared_at is not None:
            # Each member has secrets of their own.
            instead = writes_instead_of(integration.id, None)
            await self._check_replacing(tx, actor, integration, None, instead)
            return
        there = await rows.find_shared_account(tx, row.workspace_id, integration.id)
        if there is None:
            own = await list_secrets(tx, SecretScope(row.workspace_id, row.owner_id))
            names = [one.name for one in own]
            instead = writes_instead_of(integration.id, names)
            await self._check_replacing(tx, actor, integration, row.owner_id, instead)
        elif describe_connection_change(row, there) == "replaced":
            over = writes_over(integration.id)
            await self._check_replacing(tx, actor, integration, row.owner_id, over)

    async def _check_replacing(
        self,
        tx: Transaction,
        actor: Actor,
        integration: Integration,
        owner: UUID | None,
        uses: UsesAccount,
    ) -> None:
        """Refuses a program after which agreed automations would write with another account."""
        if self._words is None:
            return
        change = AccountChange(
            f"The connection to {integration.name}",
            uses,
            self._words,
            actor.workspace_id,
            owner,
            f"/integrations/{get_source_name(integration.manifest)}",
        )
        await check_account_change(tx, actor, change)

    async def settle(
        self, actor: Actor, integration: Integration, arguments: Mapping[str, Any]
    ) -> bool:
        """What a member says of an account that they have signed in for, such as what to follow;
        False when they have not signed in yet."""
        fields = read_fields(integration, arguments)
        async with WorkspaceDatabase(self.parts.database, actor.workspace_id).acquire() as tx:
            found = await rows.find_member_account(tx, actor.workspace_id, actor.id, integration.id)
        if found is None or found.state == "sign_in":
            return False
        declared = {one["name"] for one in integration.manifest["auth"].get("fields", ())}
        async with WorkspaceDatabase(self.parts.database, actor.workspace_id).transaction() as tx:
            row = await rows.lock_account(tx, found.workspace_id, found.id)
            others = {name: one for name, one in row.settings.items() if name not in declared}
            await rows.store_settings(tx, row, {**others, **fields.settings})
        return True

    async def begin_sign_in(
        self, actor: Actor, integration: Integration, *, share: bool = False
    ) -> str:
        """The address at which a member signs in; ``share`` is that of ``connect``."""
        auth = integration.manifest["auth"]
        if auth["kind"] != "oauth":
            raise Conflict(
                f"{integration.name} has no sign-in: connect it in another way.",
                code="no_sign_in",
                suggestion=str(auth["how"]),
            )
        signing = await self._signing()
        back = self.callback(auth["provider"])
        return await signing.begin(actor, integration, back, share=share)

    async def finish_sign_in(
        self, actor: Actor, provider: str, *, state: str, code: str | None, error: str | None
    ) -> AccountSignInResult:
        """Takes what a member came back with; they must be the one who left, for this provider."""
        return await (await self._signing()).finish(actor, provider, state, code, error)

    async def test(
        self, actor: Actor, integration: Integration
    ) -> tuple[AccountRow, Problem | None]:
        """Asks who the connection is over there; one that is let in again is ready again."""
        row = await self._row(actor, integration)
        lines = self.parts.lines
        hosts = frozenset(integration.manifest["hosts"])
        way = lines.over(integration, row, hosts, own=reveal_no_secrets, learn=ignore_values)
        problem: Problem | None = None
        try:
            account = await fetch_account_name(way, actor, self.parts.clock)
        except Problem as caught:
            problem = caught
            if isinstance(caught, ReconnectRequired) and way.ended is None:
                problem = complete_reconnect_error(caught, integration, row)
            waits = isinstance(problem, ReconnectRequired)
            await lines.mark(way.row, problem, reconnect=waits)
        else:
            await lines.mark(way.row, None, mended=True)
            async with WorkspaceDatabase(self.parts.database, row.workspace_id).transaction() as tx:
                await rows.name_account(tx, row, account)
        return await self._row(actor, integration), problem

    async def share(self, actor: Actor, integration: Integration) -> bool:
        """Shares a member's own connection with the workspace; False: it was shared already."""
        space = actor.workspace_id

        async def work(tx: Transaction) -> bool:
            row = await rows.find_member_account(tx, space, actor.id, integration.id)
            if row is None and await rows.find_reconnectable_account(
                tx, space, actor.id, integration.id
            ):
                # It signs in to the connection that is shared already.
                return False
            if row is None:
                raise not_connected_error(integration, own=True)
            row = await rows.lock_account(tx, space, row.id)
            there = await rows.find_shared_account(tx, space, integration.id)
            if there is not None and there.id != row.id:
                raise already_shared_error(integration, there)
            await rows.set_shared(tx, row, shared=True)
            return there is None

        return await WorkspaceDatabase(self.parts.database, space).run_retrying(work)

    async def withdraw(self, actor: Actor, integration: Integration) -> bool:
        """The connection is its holder's alone again; False: the workspace had none."""
        space = actor.workspace_id

        async def work(tx: Transaction) -> bool:
            there = await rows.find_shared_account(tx, space, integration.id)
            if there is None:
                return False
            if there.owner_id != actor.id:
                check_may(actor.role, Permission.CONNECT)
            await self._check_removing(tx, actor, integration, there)
            await rows.set_shared(tx, there, shared=False)
            return True

        return await WorkspaceDatabase(self.parts.database, space).run_retrying(work)

    async def disconnect(self, actor: Actor, integration: Integration) -> tuple[bool, str | None]:
        """Forgets a connection here, and asks the provider to forget it too.

        Whether there was one, and what the member should know.
        """
        parts = self.parts
        inside = WorkspaceDatabase(parts.database, actor.workspace_id)
        async with inside.acquire() as tx:
            row = await rows.find_member_account(tx, actor.workspace_id, actor.id, integration.id)
        if row is None:
            return False, None
        note = None

        async def work(tx: Transaction) -> bool:
            await self._check_removing(tx, actor, integration, row)
            await parts.changed(tx, row, "disconnected")
            return await rows.remove(tx, row)

        # A renewal under way ends first: otherwise its new token is lost here and stays valid at
        # the provider.
        async with parts.lines.tokens.held(row):
            token = await self._last_token(row)
            gone = await inside.run_retrying(work)
        if token is not None and row.auth == "oauth":
            note = await (await self._signing()).revoke(integration, row, token)
        return gone and row.state != "sign_in", note

    async def _last_token(self, row: AccountRow) -> str | None:
        for name in (REFRESH, TOKEN):
            try:
                return (await self.parts.vault.reveal(row.secret_scope, [name]))[name]
            except NotFound:
                continue
            except Problem:
                # One that does not open is forgotten all the same.
                return None
        return None

    async def _tried(
        self, actor: Actor, integration: Integration, given: ConnectionCredentials
    ) -> str:
        row = _not_yet(actor, integration, given, self.parts.clock)
        way = self.parts.lines.over(
            integration,
            row,
            frozenset(integration.manifest["hosts"]),
            own=reveal_no_secrets,
            learn=ignore_values,
            tokens=InMemoryTokenProvider(given.secrets),
        )
        try:
            return await fetch_account_name(way, actor, self.parts.clock)
        except ReconnectRequired as problem:
            raise sign_in_rejected_error(integration, problem) from None

    async def _row(self, actor: Actor, integration: Integration) -> AccountRow:
        async with WorkspaceDatabase(self.parts.database, actor.workspace_id).acquire() as tx:
            row = await rows.find_member_account(tx, actor.workspace_id, actor.id, integration.id)
            if row is None or row.state == "sign_in":
                row = await rows.find_shared_account(tx, actor.workspace_id, integration.id)
        if row is None:
            raise not_connected_error(integration, own=True)
        if row.owner_id != actor.id:
            # The account of the workspace is looked after by those who may connect it.
            check_may(actor.role, Permission.CONNECT)
        return row

    async def _signing(self) -> AccountOAuthFlow:
        """Its library is read when the first member signs in, and the loop goes on meanwhile."""
        if self._sign_ins is None:
            name = "mainspring.connections.accounts.sign_in"
            module = await asyncio.to_thread(importlib.import_module, name)
            self._sign_ins = module.AccountOAuthFlow(self.parts)
        return self._sign_ins


def _not_yet(
    actor: Actor, integration: Integration, given: ConnectionCredentials, clock: Clock
) -> AccountRow:
    """A connection that stands in no table."""
    return AccountRow(
        actor.workspace_id,
        generate_id(),
        actor.id,
        integration.id,
        integration.name,
        "",
        "token",
        given.settings,
        frozenset(),
        None,
        None,
        None,
        None,
        "ready",
        None,
        None,
        None,
        None,
        0,
        clock.now(),
    )
