"""Preflight: what the steps of a definition need and would not get here.

Addresses that the egress guard refuses, mail without a server or without the owner's address, and
integrations that nobody has connected. No name is looked up and nobody outside is asked: a host
name that leads to a private address is found by the guard when it is called.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.connections.accounts.tokens import missing_scopes
from mainspring.connections.ingestion.sources import route_to
from mainspring.contracts.errors import Finding, Problem
from mainspring.contracts.manifest import get_source_name
from mainspring.contracts.preflight import REFUSED, DefinitionOwner
from mainspring.definition.hosts import parse_host_entry, parse_template_host
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.tool_patterns import read_fixed_params, read_tool_name
from mainspring.outbound.egress.dial import check_literal_address, not_public_error
from mainspring.outbound.egress.url import parse_url
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.accounts import rows
from mainspring.workspace.people.email_addresses import (
    MailAddressState,
    load_author_mail_address,
    load_member_mail_address,
)

if TYPE_CHECKING:
    from uuid import UUID

    from mainspring.connections.accounts.account_connections import AccountConnections
    from mainspring.contracts.capability import Capability, ConnectionRoute
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.integration import Integration
    from mainspring.contracts.registry import Vocabulary
    from mainspring.store.database import Database

_MOST_STEPS: Final = 1_000
_TEMPLATE: Final = re.compile(r"\{[{%#]")
# Names that lead to this machine or to a cloud's metadata service wherever they are looked up.
_LOCAL_NAMES: Final = ("localhost", "metadata.google.internal", "metadata.goog")
# Reserved for private networks (RFC 6762, RFC 8375, ICANN): no public address has such a name.
_LOCAL_ENDINGS: Final = (".localhost", ".local", ".internal", ".home.arpa")
_PLAIN_URL: Final = "Write the URL as https://host/path, with a host name or a plain IP address."
_MAKER: Final = "SELECT created_by FROM automations WHERE workspace_id = $1 AND id = $2"
_SECRETS: Final = """
    SELECT name FROM secrets
    WHERE workspace_id = $1 AND kind = 'automation' AND owner_id = $2 AND name = ANY($3)
"""
_NO_SERVER: Final = "Mail is not set up here, so this mail cannot be sent."
_SET_SERVER: Final = (
    "An operator sets MAINSPRING_SMTP_URL; `mainspring doctor` shows whether it is."
)
_NO_ADDRESS: Final = "The owner has no verified mail address, so this cannot be mailed."
_SET_ADDRESS: Final = (
    "The owner sets and verifies an email on the page under Settings, or with `mainspring email "
    "set`; for the first person an operator may set MAINSPRING_OWNER_MAIL."
)
_NOT_VERIFIED: Final = "This mail goes to an address that its owner has not verified yet."
_VERIFY: Final = (
    "The owner verifies it on the page under Settings, or with `mainspring email verify`."
)

# A place in a definition, the capability that is called there, and what it is given.
Call = tuple[str, str, Mapping[str, Any]]


class InstallationPreflight:
    """The preflight of this installation."""

    def __init__(
        self,
        database: Database,
        allow: frozenset[str],
        lines: AccountConnections | None,
        *,
        has_mail: bool,
        owner_mail: str | None,
    ) -> None:
        self._database = database
        self._allow = allow
        self._lines = lines
        self._has_mail = has_mail
        self._owner_mail = owner_mail

    async def findings(
        self, document: Mapping[str, Any], vocabulary: Vocabulary, whose: DefinitionOwner
    ) -> tuple[Finding, ...]:
        """What its steps would not find if they ran now, each with its place and a remedy."""
        calls = await asyncio.to_thread(list, _calls(document))
        found = [one for call in calls for one in self._addresses(call)]
        found += await self._mail(calls, vocabulary, whose)
        found += await self._connections(calls, vocabulary, whose)
        return tuple(found)

    def _addresses(self, call: Call) -> Iterator[Finding]:
        at, _, config = call
        for pointer, url in _urls(at, config):
            problem = self._refused(url)
            if problem is not None:
                way = problem.suggestion or _PLAIN_URL
                yield Finding(pointer, problem.detail, problem.code, way)

    def _refused(self, url: str) -> Problem | None:
        spelt = _without_templates(url)
        if spelt is None:
            return None
        try:
            target = parse_url(spelt)
            check_literal_address(target, self._allow)
        except Problem as problem:
            return problem if problem.code in REFUSED else None
        host = target.host
        local = host in _LOCAL_NAMES or host.endswith(_LOCAL_ENDINGS)
        return (
            not_public_error(host, target.pair)
            if local and target.pair not in self._allow
            else None
        )

    async def _mail(
        self, calls: list[Call], words: Vocabulary, whose: DefinitionOwner
    ) -> list[Finding]:
        mails = [call for call in calls if _sends_mail(words.capabilities.get(call[1]))]
        if not mails:
            return []
        if not self._has_mail:
            return [Finding(at, _NO_SERVER, "mail_not_set_up", _SET_SERVER) for at, _, _ in mails]
        mine = [at for at, name, _ in mails if _reaches_owner(words.capabilities[name])]
        if not mine or (whose.automation_id is None and whose.author_id is None):
            return []
        found = await self._owner_reached(whose)
        if found is None:
            return [Finding(at, _NO_ADDRESS, "owner_mail_missing", _SET_ADDRESS) for at in mine]
        if not found.verified:
            return [Finding(at, _NOT_VERIFIED, "owner_mail_unverified", _VERIFY) for at in mine]
        return []

    async def _owner_reached(self, whose: DefinitionOwner) -> MailAddressState | None:
        space = whose.workspace_id
        async with WorkspaceDatabase(self._database, space).acquire() as tx:
            if whose.automation_id is not None:
                return await load_author_mail_address(
                    tx, space, whose.automation_id, self._owner_mail
                )
            assert whose.author_id is not None
            return await load_member_mail_address(tx, space, whose.author_id, self._owner_mail)

    async def _connections(
        self, calls: list[Call], vocabulary: Vocabulary, whose: DefinitionOwner
    ) -> list[Finding]:
        """Integrations that a step goes over and that its owner has not connected."""
        needs = [need for call in calls if (need := self._need(vocabulary, *call)) is not None]
        if not needs:
            return []
        space = whose.workspace_id
        named = frozenset().union(*(need.route.secrets for need in needs))
        async with WorkspaceDatabase(self._database, space).acquire() as tx:
            owner = await _owner(tx, whose)
            if owner is None:
                return []
            kept = {row["name"] for row in await tx.fetch(_SECRETS, space, owner, sorted(named))}
        # The connection is back in its pool: this takes one of the other pool.
        pairs = {(need.route.owner_id or owner, need.integration.id) for need in needs}
        accounts = {
            one: await rows.find_usable_account(self._database, space, *one) for one in pairs
        }
        found = [
            _check_connection(
                need, accounts[need.route.owner_id or owner, need.integration.id], kept
            )
            for need in needs
        ]
        return [one for one in found if one is not None]

    def _need(
        self, vocabulary: Vocabulary, at: str, name: str, config: Mapping[str, Any]
    ) -> _ConnectionNeed | None:
        """The integration that a call goes over with a connection; None where it needs none."""
        known = vocabulary.capabilities.get(name)
        route = None if known is None else known.annotations.route
        if known is None or self._lines is None:
            return None
        if route is None:
            return self._read(known, at, config)
        if route.connection == "none":
            return None
        if known.annotations.secret_arguments & config.keys():
            # The step names the secret that it authenticates with.
            return None
        integration = self._lines.shelf.get(route.integration)
        if integration is None or integration.manifest["auth"]["kind"] == "none":
            return None
        return _ConnectionNeed(at, route, integration)

    def _read(
        self, known: Capability, at: str, config: Mapping[str, Any]
    ) -> _ConnectionNeed | None:
        """The integration that a call names as its source, such as one that is read again."""
        assert self._lines is not None
        named = {config.get(argument) for argument in known.annotations.connected}
        for integration in self._lines.shelf.values():
            sources = {
                get_source_name(integration.manifest),
                *(one.name for one in integration.sources),
            }
            route = route_to(integration)
            if named & sources and route.connection != "none":
                return _ConnectionNeed(at, route, integration)
        return None


@dataclass(frozen=True, slots=True)
class _ConnectionNeed:
    """A place in a definition, and the integration that its call goes over."""

    at: str
    route: ConnectionRoute
    integration: Integration


def _check_connection(
    need: _ConnectionNeed, row: rows.AccountRow | None, kept: set[str]
) -> Finding | None:
    """What is missing, given the owner's connection and the names of the secrets they keep."""
    route, integration = need.route, need.integration
    if row is not None and row.state != "sign_in":
        if row.state != "reconnect":
            return _without_scopes(need, row)
        detail = f"{integration.name} has to be connected again before this step can run."
        return Finding(need.at, detail, "reconnect", _connect(integration.id))
    if route.connection == "used" and route.secrets <= kept:
        return None
    detail = f"{integration.name} is not connected, so this step would fail."
    return Finding(need.at, detail, "not_connected", _connect(integration.id, route.secrets))


def _without_scopes(need: _ConnectionNeed, row: rows.AccountRow) -> Finding | None:
    """A sign-in that lacks scopes which the integration asks for today.

    Without one that the call itself needs it fails; without another it may succeed.
    """
    asked = frozenset(need.integration.manifest["auth"].get("scopes", ()))
    lacking = missing_scopes(asked, row.scopes) if row.auth == "oauth" else frozenset()
    if not lacking:
        return None
    name, needed = need.integration.name, lacking & need.route.scopes
    way = f"Connect {name} again and agree to every permission. {_connect(need.integration.id)}"
    if needed:
        said = ", ".join(sorted(needed))
        detail = f"The connection to {name} lacks a permission that this step needs ({said})."
        return Finding(need.at, detail, "scope_missing", way)
    detail = f"The connection to {name} lacks a permission ({', '.join(sorted(lacking))})."
    return Finding(need.at, detail, "scope_outdated", way)


def _connect(integration: str, secrets: frozenset[str] = frozenset()) -> str:
    command = f"`mainspring integrations connect {integration}`"
    way = f"Connect it on the page under Integrations, or with {command}"
    named = " and ".join(sorted(secrets))
    return f"{way}; or keep {named} with `mainspring secrets set`." if named else f"{way}."


async def _owner(tx: Transaction, whose: DefinitionOwner) -> UUID | None:
    if whose.automation_id is not None:
        row = await tx.fetchrow(_MAKER, whose.workspace_id, whose.automation_id)
        if row is not None:
            made_by: UUID = row["created_by"]
            return made_by
    return whose.author_id


def _calls(document: Mapping[str, Any]) -> Iterator[Call]:
    """Every call that the steps name, those of loops, failures and an agent's tools included."""
    execution = document.get("execution")
    failing = execution.get("on_failure") if isinstance(execution, Mapping) else None
    waiting: list[tuple[str, Any]] = [("/execution/on_failure", failing)]
    waiting.append(("/plan", document.get("plan")))
    seen = 0
    while waiting and seen < _MOST_STEPS:
        root, steps = waiting.pop()
        for place, step in enumerate(steps if isinstance(steps, list) else ()):
            seen += 1
            action = step.get("action") if isinstance(step, Mapping) else None
            config = step.get("config") if isinstance(step, Mapping) else None
            if not isinstance(action, str) or not isinstance(config, Mapping):
                continue
            at = join_pointer(root, place)
            yield at, action, config
            tools = config.get("tools")
            for number, tool in enumerate(tools if isinstance(tools, list) else ()):
                name = read_tool_name(tool)
                if name:
                    yield join_pointer(at, "config", "tools", number), name, read_fixed_params(tool)
            waiting.append((join_pointer(at, "config", "steps"), config.get("steps")))


def _without_templates(url: str) -> str | None:
    """What the egress guard would read of a URL; None where only a run knows the host."""
    scheme, found, rest = url.strip().partition("://")
    if not found or scheme.lower() not in ("http", "https"):
        return None
    if _TEMPLATE.search(rest) is None:
        return f"{scheme}://{rest}"
    site = parse_template_host(url.strip())
    return None if site is None else f"{scheme}://{site}/"


def _urls(at: str, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The addresses that a step spells out, and the hosts that its script is granted."""
    url = config.get("url")
    if isinstance(url, str):
        yield join_pointer(at, "config", "url"), url
    grants = config.get("grants")
    for number, grant in enumerate(grants if isinstance(grants, list) else ()):
        params = grant.get("params") if isinstance(grant, Mapping) else None
        hosts = params.get("hosts") if isinstance(params, Mapping) else None
        for place, host in enumerate(hosts if isinstance(hosts, list) else ()):
            site = parse_host_entry(host)
            if site is not None:
                pointer = join_pointer(at, "config", "grants", number, "params", "hosts", place)
                scheme = "http" if site.port == 80 else "https"
                yield pointer, f"{scheme}://{host}/"


def _sends_mail(capability: Capability | None) -> bool:
    """Whether it sends over the mail server of this installation, and not over a connection."""
    if capability is None or capability.write is None or capability.annotations.route is not None:
        return False
    return capability.write.family == "email"


def _reaches_owner(capability: Capability) -> bool:
    """Whether it reaches nobody but the owner."""
    return capability.write is not None and capability.write.safe
