"""What somebody may do about models who looks after the installation.

The installation's connections are for every workspace, and may lead to a server in the
operator's own network. Prices count everywhere. None of it can be granted to an automation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    Effect,
    build_capability,
    require_part,
)
from mainspring.contracts.model import Price
from mainspring.contracts.outcome import Unchanged
from mainspring.contracts.roles import Permission
from mainspring.gate import model_schemas as schemas
from mainspring.gate.model_capabilities import describe_model_connection, normalize_connection
from mainspring.store.audit import tell_installation
from mainspring.workspace.model_connections import (
    ModelConnectionSpec,
    connect,
    disconnect,
    list_connection_users,
)
from mainspring.workspace.model_prices import OperatorPrice, forget_price, list_prices, set_price

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext
    from mainspring.store.database import Database
    from mainspring.workspace.vault import Vault

_READS: Final = Annotations(audience=Audience.ADMINISTRATORS, permission=Permission.ACCOUNT)
_KEEPS: Final = Annotations(
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
            "Connect every workspace to models",
            "Every workspace can ask there. Its address may be in a private network. The key goes "
            "into the vault; another address takes it again.",
            schemas.CONNECT,
            schemas.CONNECTED,
            office.connect,
            _KEEPS,
        ),
        build_capability(
            "admin_disconnect_model",
            "Disconnect every workspace from models",
            "The connection and its key are forgotten. A name that is not there is no error.",
            schemas.ONE_NAME,
            schemas.DISCONNECTED,
            office.disconnect,
            _KEEPS,
        ),
        build_capability(
            "admin_list_model_prices",
            "List the prices that were set for models",
            "They count above the price list that comes with the product.",
            schemas.NOTHING,
            schemas.PRICES,
            office.list_prices,
            _READS,
        ),
        build_capability(
            "admin_set_model_price",
            "Set the price of a model",
            "In dollars for a million tokens. It counts from the next ask on, for a model alone "
            "or, as name/model, for one connection.",
            schemas.SET_PRICE,
            schemas.PRICE,
            office.set_price,
            _OF_MODEL,
        ),
        build_capability(
            "admin_delete_model_price",
            "Forget the price that was set for a model",
            "The price list counts again; a model that it does not know is not asked any more.",
            schemas.ONE_MODEL,
            schemas.DELETED,
            office.delete_price,
            _OF_MODEL,
        ),
    )


@dataclass(frozen=True, slots=True)
class _ModelAdminHandlers:
    """The handlers, over the whole database."""

    database: Database | None
    vault: Vault | None

    async def connect(self, ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        wish = ModelConnectionSpec(
            None,
            given["name"],
            normalize_connection(given),
            given.get("key"),
            ctx.actor.id,
            ctx.actor,
        )
        async with require_part(self.database).transaction() as tx:
            made, new = await connect(tx, require_part(self.vault), wish)
            await tell_installation(
                tx, ctx.actor, "admin_connect_model", made.name, {"base_url": made.base_url}
            )
        return {"connection": describe_model_connection(made), "created": new}

    async def disconnect(
        self, ctx: CallContext, given: Mapping[str, Any]
    ) -> dict[str, Any] | Unchanged:
        async with require_part(self.database).transaction() as tx:
            gone = await disconnect(tx, None, given["name"])
            if gone:
                await tell_installation(tx, ctx.actor, "admin_disconnect_model", given["name"])
            # Whoever looks after the installation is not told what stands in other workspaces.
            users = (
                await list_connection_users(tx, ctx.actor.workspace_id, given["name"])
                if gone
                else []
            )
        answer = {"disconnected": gone, "needed_by": users}
        return answer if gone else Unchanged(answer)

    async def list_prices(self, ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        del ctx, given
        return {
            "prices": [
                _describe_price(one) for one in await list_prices(require_part(self.database))
            ]
        }

    async def set_price(self, ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        price = Price(
            _usd(given, "input") or _FREE,
            _usd(given, "output") or _FREE,
            _usd(given, "cached"),
            _usd(given, "stored"),
        )
        async with require_part(self.database).transaction() as tx:
            stored = await set_price(tx, given["model"], price, ctx.actor.id)
            await tell_installation(
                tx, ctx.actor, "admin_set_model_price", stored.model, price.as_dict()
            )
        return {"price": _describe_price(stored)}

    async def delete_price(
        self, ctx: CallContext, given: Mapping[str, Any]
    ) -> dict[str, Any] | Unchanged:
        async with require_part(self.database).transaction() as tx:
            gone = await forget_price(tx, given["model"])
            if gone:
                await tell_installation(tx, ctx.actor, "admin_delete_model_price", given["model"])
        return {"deleted": True} if gone else Unchanged({"deleted": False})


def _usd(given: Mapping[str, Any], what: str) -> Decimal | None:
    """A number of JSON as a person wrote it: 0.3 is three tenths."""
    usd = given.get(f"{what}_usd_per_million")
    return None if usd is None else Decimal(str(usd))


def _describe_price(stored: OperatorPrice) -> dict[str, Any]:
    return {"model": stored.model, **stored.price.as_dict(), "set_at": stored.set_at.isoformat()}
