"""The models that a workspace can reach, over whatever it is connected to.

Connections and prices are read anew for each ask, so what a person changes counts at once in
every process. A key is revealed at the very end, into a header, and goes to the host and port
of its connection alone, which must still be where the ask found it: a key that was given for
another address meanwhile stays here. A workspace's connection leads to public addresses, like
all that a workspace does; the installation's may lead to a server in the operator's own network.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound, PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.contracts.model import ModelReply, ModelRequest, Price
from mainspring.outbound.egress import CallHttp, Egress, parse_url
from mainspring.outbound.egress.dial import check_literal_address
from mainspring.outbound.models import model_client
from mainspring.outbound.models.endpoint_url import host_and_port
from mainspring.outbound.models.model_names import ModelReference, resolve_model_name
from mainspring.outbound.models.prices import SourcedPrice, price_of
from mainspring.workspace.automations import FIRST_WORKSPACE
from mainspring.workspace.model_connections import (
    ModelConnection,
    list_reachable_connections,
    load_operator_prices,
)
from mainspring.workspace.vault import Vault

if TYPE_CHECKING:
    from mainspring.store.database import Database

_WAY_IN: Final = (
    "An administrator can connect it for everyone (--for-everyone), or an operator adds {pair} "
    "to MAINSPRING_EGRESS_ALLOW."
)


@dataclass(frozen=True, slots=True)
class ProviderModel:
    """One model at one connection."""

    named: ModelReference
    priced: SourcedPrice | None
    desk: ProviderModels

    @property
    def name(self) -> str:
        return self.named.name

    @property
    def price(self) -> Price | None:
        return None if self.priced is None else self.priced.price

    async def complete(self, request: ModelRequest, *, key: str) -> ModelReply:
        asked = replace(request, model=self.named.model)
        desk, connection = self.desk, self.named.connection
        endpoint = endpoint_of(connection, self.named.model)
        return await model_client.ask(
            endpoint, asked, desk.way_to(connection), desk.limits, key=key
        )


class ProviderModels:
    """Every connection of the installation and of its workspaces."""

    def __init__(
        self, database: Database, vault: Vault, limits: Limits, allow: Iterable[str] = ()
    ) -> None:
        self._database = database
        self._vault = vault
        self._allow = frozenset(allow)
        self._ways: dict[str, Egress] = {}
        self.limits = replace(
            limits,
            http_seconds=limits.model_seconds,
            http_request_bytes=limits.model_request_bytes,
            http_response_bytes=limits.model_response_bytes,
        )

    async def prepare(self, workspace_id: UUID) -> None:
        """Loads the providers' libraries if the workspace can reach a model.

        Done before the time of a run begins: the first ask would otherwise spend seconds of it.
        What goes wrong here goes wrong again when a model is asked, and is reported there.
        """
        if model_client.is_loaded():
            return
        with contextlib.suppress(Exception):
            if await self.connected(workspace_id):
                await model_client.load()

    async def connected(self, workspace_id: UUID) -> bool:
        return bool(await list_reachable_connections(self._database, workspace_id))

    async def find(self, workspace_id: UUID, name: str) -> ProviderModel:
        found = resolve_model_name(
            name, await list_reachable_connections(self._database, workspace_id)
        )
        return ProviderModel(found, await self.priced(found.connection, found.model), self)

    async def priced(self, connection: ModelConnection, model: str) -> SourcedPrice | None:
        """What a model costs there, and who says so."""
        names = (f"{connection.name}/{model}", model)
        operator = await load_operator_prices(self._database, names)
        # The price list is large, and is read from the disk when it is first asked.
        return await asyncio.to_thread(price_of, connection.name, connection.kind, model, operator)

    def check_public(self, connection: ModelConnection) -> None:
        """Refuses a workspace's connection that leads to a private address, or bares its key."""
        target = parse_url(connection.base_url)
        if connection.has_key and target.scheme == "http" and target.pair not in self._allow:
            sentence = "Over http the key is readable in transit; give an https address."
            raise Invalid(
                sentence,
                code="key_over_http",
                findings=[Finding("/base_url", sentence, "key_over_http")],
                suggestion=_WAY_IN.format(pair=target.pair),
            )
        try:
            check_literal_address(target, self._allow)
        except PermissionDenied as refused:
            raise PermissionDenied(
                refused.detail,
                code=refused.code,
                findings=[Finding("/base_url", refused.detail, refused.code)],
                suggestion=_WAY_IN.format(pair=target.pair),
            ) from None

    def way_to(self, connection: ModelConnection) -> CallHttp:
        """The way out to one connection and to nowhere else, with its key and no other."""
        place = host_and_port(connection.base_url)
        private = connection.workspace_id is None
        way = self._ways.get(place if private else "")
        if way is None:
            allow = self._allow | {place} if private else self._allow
            way = self._ways[place if private else ""] = Egress(self.limits, allow)

        async def reveal(names: frozenset[str]) -> Mapping[str, str]:
            try:
                values = await self._vault.reveal(connection.secret_scope, names)
            except NotFound:
                raise Conflict(
                    f"The key of the connection {connection.name} is gone.",
                    code="no_key",
                    suggestion="Connect it again with its key.",
                ) from None
            # After the key was read: one that was sealed with another address is found out.
            await self._check_unmoved(connection)
            return values

        return way.bound(frozenset({place}), reveal)

    async def _check_unmoved(self, connection: ModelConnection) -> None:
        there = await list_reachable_connections(
            self._database, connection.workspace_id or FIRST_WORKSPACE
        )
        if any((one.id, one.base_url) == (connection.id, connection.base_url) for one in there):
            return
        raise Conflict(
            f"The connection {connection.name} was changed at the same time, so it was not called.",
            code="connection_changed",
            retryable=True,
            suggestion="Try it again.",
        )

    async def aclose(self) -> None:
        """Closes what was opened on the way."""
        ways, self._ways = list(self._ways.values()), {}
        for way in ways:
            await way.aclose()


def endpoint_of(connection: ModelConnection, model: str) -> model_client.ModelEndpoint:
    """A connection as the wire needs it."""
    return model_client.ModelEndpoint(
        connection.kind,
        connection.base_url,
        connection.name,
        model,
        connection.has_key,
        hidden=connection.workspace_id is None,
    )
