"""What somebody may do about models who looks after the installation.

The installation's connections are for every workspace, and may lead to a server in the
operator's own network. Prices count everywhere. None of it can be granted to an automation.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.connections.models.connection_test import try_out
from mainspring.connections.models.schemas import (
    AdminDeleteModelPriceArguments,
    AdminDeleteModelPriceResult,
    AdminListModelPricesResult,
    AdminSetModelPriceArguments,
    AdminSetModelPriceResult,
    ConnectModelArguments,
    ConnectModelResult,
    DisconnectModelResult,
    ListModelsResult,
    ModelNameArguments,
    NoModelArguments,
    TestModelResult,
)
from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
    require_part,
)
from mainspring.contracts.errors import NotFound
from mainspring.contracts.model import Price
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.contracts.toolset import Toolset
from mainspring.outbound.models.endpoint_url import read_base_url
from mainspring.outbound.models.model_names import TAKES, offering, usual
from mainspring.outbound.models.prices import price_of
from mainspring.store.audit import audit_installation
from mainspring.workspace.model_connections import (
    KIND,
    MODELS,
    URL,
    USUAL,
    ModelConnection,
    ModelConnectionSpec,
    OperatorPrice,
    connect,
    delete_price,
    disconnect,
    list_connection_users,
    list_prices,
    list_reachable_connections,
    load_operator_prices,
    set_price,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, CallContext
    from mainspring.outbound.models.model_registry import ProviderModels
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault


# Models as capabilities: what can be asked here, and what the workspace connects itself to.

NO_CONNECTION: Final = (
    "No model is connected yet. Connect one with `mainspring models connect anthropic`, or with "
    "openai, groq or the address of any OpenAI-compatible server; it asks for the key."
)
_NO_PRICE: Final = (
    "What it costs is not known; the operator sets a price with `mainspring models price {name} "
    "--input USD --output USD`."
)


def model_capabilities(
    database: Database | None, vault: Vault | None, provider_models: ProviderModels | None
) -> tuple[Capability, ...]:
    """What members may do about models. Without a house they can be described and not called."""
    counter = _ModelHandlers(database, vault, provider_models)
    return (
        build_capability(
            "list_models",
            "List available models",
            "Returns the connections of workspace and installation, prices, the default model, "
            "and why a model is unavailable.",
            NoModelArguments,
            ListModelsResult,
            counter.list_models,
            Annotations(
                toolset=Toolset.MODELS,
                audience=Audience.PEOPLE,
                permission=Permission.READ,
                seconds=0.5,
            ),
        ),
        build_capability(
            "connect_model",
            "Connect language models for the workspace",
            "Prompts of automations are sent to this address. Stores the key in the vault. "
            "Omitted fields of an existing connection stay. If you change the address, give the "
            "key again.",
            ConnectModelArguments,
            ConnectModelResult,
            counter.connect,
            KEEPS_KEY,
        ),
        build_capability(
            "disconnect_model",
            "Disconnect language models from the workspace",
            "Deletes the connection and its key. Automations that need it fail until it is "
            "connected again. An unknown name is not an error.",
            ModelNameArguments,
            DisconnectModelResult,
            counter.disconnect,
            Annotations(
                toolset=Toolset.MODELS,
                effect=Effect.KEEP,
                transactional=True,
                seconds=0.1,
                audience=Audience.PEOPLE,
                permission=Permission.CONNECT,
            ),
        ),
        build_capability(
            "test_model",
            "Test a model connection",
            "Lists the provider's models, free of charge, to check the address and the key.",
            ModelNameArguments,
            TestModelResult,
            counter.try_out,
            Annotations(
                toolset=Toolset.MODELS,
                audience=Audience.PEOPLE,
                permission=Permission.CONNECT,
                seconds=2.0,
            ),
        ),
    )


KEEPS_KEY: Final = Annotations(
    toolset=Toolset.MODELS,
    effect=Effect.KEEP,
    transactional=True,
    seconds=0.1,
    audience=Audience.PEOPLE,
    permission=Permission.CONNECT,
    hidden_arguments=frozenset({"key"}),
)


@dataclass(frozen=True, slots=True)
class _ModelHandlers:
    """The handlers."""

    database: Database | None
    vault: Vault | None
    desk: ProviderModels | None

    async def list_models(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del arguments
        connections = await list_reachable_connections(
            require_part(self.database), ctx.actor.workspace_id
        )
        asked = usual(connections)
        return {
            "connections": [
                describe_model_connection(one, address=not _is_address_hidden(one, ctx.actor))
                for one in connections
            ],
            "models": await self._offered(connections),
            "usual_model": None if asked is None else asked.name,
            "note": None if connections else NO_CONNECTION,
        }

    async def connect(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, said = ctx.actor.workspace_id, normalize_connection(arguments)
        spec = ModelConnectionSpec(
            space, arguments["name"], said, arguments.get("key"), ctx.actor.id, ctx.actor
        )
        made, new = await connect(ctx.tx, require_part(self.vault), spec)
        if self.desk is not None:
            # What it refuses is undone with the transaction.
            self.desk.check_public(made)
        return {"connection": describe_model_connection(made), "created": new}

    async def disconnect(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | Unchanged:
        space, name = ctx.actor.workspace_id, arguments["name"]
        gone = await disconnect(ctx.tx, space, name, ctx.actor)
        users = await list_connection_users(ctx.tx, space, name) if gone else []
        answer = {"disconnected": gone, "needed_by": users}
        return answer if gone else Unchanged(answer)

    async def try_out(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        found = await self._called(ctx.actor.workspace_id, arguments["name"])
        hidden = _is_address_hidden(found, ctx.actor)
        tried = await try_out(found, require_part(self.desk).way_to(found), hidden=hidden)
        return {"works": tried.works, "detail": tried.detail, "models": list(tried.models)}

    async def _called(self, workspace_id: UUID, name: str) -> ModelConnection:
        found = {
            one.name: one
            for one in await list_reachable_connections(require_part(self.database), workspace_id)
        }
        if name in found:
            return found[name]
        raise NotFound(
            f"There is no model connection called {name!r} here.",
            code="no_connection",
            suggestion=f"There is {', '.join(found)}." if found else NO_CONNECTION,
        )

    async def _offered(self, connections: Sequence[ModelConnection]) -> list[dict[str, Any]]:
        """Every model that somebody has named, with its price; more may be asked for."""
        database = require_part(self.database)
        set_for = [one.model for one in await list_prices(database)]
        pairs = [
            (one, model)
            for one in connections
            for model in _list_shown_models(one, connections, set_for)
        ]
        names = [name for one, model in pairs for name in (f"{one.name}/{model}", model)]
        operator = await load_operator_prices(database, names)
        return await asyncio.to_thread(_describe_prices, pairs, operator)


def _is_address_hidden(connection: ModelConnection, actor: Actor) -> bool:
    """Whether somebody may not know where a connection leads."""
    return connection.workspace_id is None and not actor.administrator


def _list_shown_models(
    one: ModelConnection, connections: Sequence[ModelConnection], priced: Sequence[str]
) -> list[str]:
    """The models of a connection that are worth showing."""
    found = [*([one.usual_model] if one.usual_model else []), *one.offers]
    asked = usual(connections)
    if asked is not None and asked.connection is one:
        found.append(asked.model)
    for model in [] if one.offers else priced:
        before, _, alone = model.partition("/")
        if before == one.name and alone:
            found.append(alone)
        # What stands before a slash may be the name of another workspace's connection.
        elif not alone and offering(model, connections) is one:
            found.append(model)
    return list(dict.fromkeys(found))


def _describe_prices(
    pairs: Sequence[tuple[ModelConnection, str]], operator: Mapping[str, Price]
) -> list[dict[str, Any]]:
    shown = []
    for one, model in pairs:
        priced, name = price_of(one.name, one.kind, model, operator), f"{one.name}/{model}"
        shown.append(
            {
                "name": name,
                "connection": one.name,
                "model": model,
                "price": None if priced is None else priced.price.as_dict(),
                "price_from": None if priced is None else priced.source,
                "can_be_asked": priced is not None,
                "why_not": None if priced is not None else _NO_PRICE.format(name=name),
            }
        )
    return shown


def normalize_connection(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What is said of a connection, with its address in the one spelling."""
    said = {name: arguments[name] for name in (KIND, URL, MODELS, USUAL) if name in arguments}
    if URL in said:
        said[URL] = read_base_url(said[URL])
    return said


def describe_model_connection(
    connection: ModelConnection, *, address: bool = True
) -> dict[str, Any]:
    """A connection as it is shown: everything but its key."""
    return {
        "name": connection.name,
        "kind": connection.kind,
        "scope": "installation" if connection.workspace_id is None else "workspace",
        "base_url": connection.base_url if address else None,
        "has_key": connection.has_key,
        "models": list(connection.offers),
        "takes": None if connection.offers else TAKES[connection.kind],
        "usual_model": connection.usual_model,
        "created_at": connection.created_at.isoformat(),
        "updated_at": connection.updated_at.isoformat(),
    }


_READS: Final = Annotations(
    toolset=Toolset.ADMIN, audience=Audience.ADMINISTRATORS, permission=Permission.ACCOUNT
)
_KEEPS: Final = Annotations(
    toolset=Toolset.ADMIN,
    effect=Effect.KEEP,
    audience=Audience.ADMINISTRATORS,
    permission=Permission.ACCOUNT,
    hidden_arguments=frozenset({"key"}),
)
_FREE: Final = Decimal(0)
_OF_MODEL: Final = replace(_KEEPS, subject=lambda given, _: given.get("model"))


def model_administration(database: Database | None, vault: Vault | None) -> tuple[Capability, ...]:
    """Connections for everybody, and prices. Without a house they can only be described."""
    office = _ModelAdminHandlers(database, vault)
    return (
        build_capability(
            "admin_connect_model",
            "Connect language models for every workspace",
            "Stores the API key in the vault. The address may be in a private network. If you "
            "change the address, give the key again.",
            ConnectModelArguments,
            ConnectModelResult,
            office.connect,
            _KEEPS,
        ),
        build_capability(
            "admin_disconnect_model",
            "Disconnect language models from every workspace",
            "Deletes the connection and its key. An unknown name is not an error.",
            ModelNameArguments,
            DisconnectModelResult,
            office.disconnect,
            _KEEPS,
        ),
        build_capability(
            "admin_list_model_prices",
            "List the prices set for models",
            "They override the built-in price list.",
            NoModelArguments,
            AdminListModelPricesResult,
            office.list_prices,
            _READS,
        ),
        build_capability(
            "admin_set_model_price",
            "Set the price of a model",
            "In dollars per million tokens, from the next request on. Give model, or name/model "
            "for one connection.",
            AdminSetModelPriceArguments,
            AdminSetModelPriceResult,
            office.set_price,
            _OF_MODEL,
        ),
        build_capability(
            "admin_delete_model_price",
            "Delete the price set for a model",
            "The built-in price list applies again. A model without a price cannot be used.",
            AdminDeleteModelPriceArguments,
            AdminDeleteModelPriceResult,
            office.delete_price,
            _OF_MODEL,
        ),
    )


@dataclass(frozen=True, slots=True)
class _ModelAdminHandlers:
    """The handlers, over the whole database."""

    database: Database | None
    vault: Vault | None

    async def connect(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        spec = ModelConnectionSpec(
            None,
            arguments["name"],
            normalize_connection(arguments),
            arguments.get("key"),
            ctx.actor.id,
            ctx.actor,
        )
        async with require_part(self.database).transaction() as tx:
            made, new = await connect(tx, require_part(self.vault), spec)
            await audit_installation(
                tx, ctx.actor, "admin_connect_model", made.name, {"base_url": made.base_url}
            )
        return {"connection": describe_model_connection(made), "created": new}

    async def disconnect(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | Unchanged:
        async with require_part(self.database).transaction() as tx:
            gone = await disconnect(tx, None, arguments["name"], ctx.actor)
            if gone:
                await audit_installation(tx, ctx.actor, "admin_disconnect_model", arguments["name"])
            # Whoever looks after the installation is not told what stands in other workspaces.
            users = (
                await list_connection_users(tx, ctx.actor.workspace_id, arguments["name"])
                if gone
                else []
            )
        answer = {"disconnected": gone, "needed_by": users}
        return answer if gone else Unchanged(answer)

    async def list_prices(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        del ctx, arguments
        return {
            "prices": [
                _describe_price(one) for one in await list_prices(require_part(self.database))
            ]
        }

    async def set_price(self, ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        price = Price(
            _usd(arguments, "input") or _FREE,
            _usd(arguments, "output") or _FREE,
            _usd(arguments, "cached"),
            _usd(arguments, "stored"),
        )
        async with require_part(self.database).transaction() as tx:
            stored = await set_price(tx, arguments["model"], price, ctx.actor)
            await audit_installation(
                tx, ctx.actor, "admin_set_model_price", stored.model, price.as_dict()
            )
        return {"price": _describe_price(stored)}

    async def delete_price(
        self, ctx: CallContext, arguments: Mapping[str, Any]
    ) -> dict[str, Any] | Unchanged:
        async with require_part(self.database).transaction() as tx:
            gone = await delete_price(tx, arguments["model"], ctx.actor)
            if gone:
                await audit_installation(
                    tx, ctx.actor, "admin_delete_model_price", arguments["model"]
                )
        return {"deleted": True} if gone else Unchanged({"deleted": False})


def _usd(arguments: Mapping[str, Any], what: str) -> Decimal | None:
    """A number of JSON as a person wrote it: 0.3 is three tenths."""
    usd = arguments.get(f"{what}_usd_per_million")
    return None if usd is None else Decimal(str(usd))


def _describe_price(stored: OperatorPrice) -> dict[str, Any]:
    return {"model": stored.model, **stored.price.as_dict(), "set_at": stored.set_at.isoformat()}
