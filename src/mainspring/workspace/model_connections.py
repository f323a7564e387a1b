"""Connections to model providers, per workspace and per installation.

A connection has a name, a protocol and a base URL. Its API key is encrypted in the vault and
write-only. A key is bound to the URL it was given for: a new URL requires it again, so that nobody
can redirect it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import Conflict, Finding, Invalid
from mainspring.contracts.ids import generate_id
from mainspring.contracts.model import Price
from mainspring.workspace.account_changes import (
    AccountChange,
    asks_model,
    check_account_change,
)
from mainspring.workspace.automations import FIRST_WORKSPACE
from mainspring.workspace.sealing import SecretScope, connection_scope
from mainspring.workspace.vault import Vault, delete_secret

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.store.database import QueryExecutor


# Model prices set by the operator; they override every price list.

_PRICE_COLUMNS: Final = """
    model, input_usd_per_million, output_usd_per_million, cached_usd_per_million,
    stored_usd_per_million, set_at
"""
_OF = f"SELECT {_PRICE_COLUMNS} FROM model_prices WHERE model = ANY($1::text[])"
_LIST = f"SELECT {_PRICE_COLUMNS} FROM model_prices ORDER BY model LIMIT 1000"
_SET = f"""
    INSERT INTO model_prices (model, input_usd_per_million, output_usd_per_million,
        cached_usd_per_million, stored_usd_per_million, set_by)
    VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (model) DO UPDATE SET
        input_usd_per_million = excluded.input_usd_per_million,
        output_usd_per_million = excluded.output_usd_per_million,
        cached_usd_per_million = excluded.cached_usd_per_million,
        stored_usd_per_million = excluded.stored_usd_per_million,
        set_by = excluded.set_by, set_at = now()
    RETURNING {_PRICE_COLUMNS}
"""
_FORGET = "DELETE FROM model_prices WHERE model = $1 RETURNING model"


@dataclass(frozen=True, slots=True)
class OperatorPrice:
    """A price that the operator set."""

    model: str
    price: Price
    set_at: datetime


async def load_operator_prices(database: QueryExecutor, models: Sequence[str]) -> dict[str, Price]:
    """Load the prices set for any of these models."""
    rows = await database.fetch(_OF, list(models))
    return {row["model"]: _build_price(row).price for row in rows}


async def list_prices(database: QueryExecutor) -> list[OperatorPrice]:
    """List every price that is set, by name."""
    return [_build_price(row) for row in await database.fetch(_LIST)]


async def set_price(tx: Transaction, model: str, price: Price, actor: Actor) -> OperatorPrice:
    """Set the price of a model, replacing an earlier one.

    Budgets of consented automations are counted with it, so a program may only raise it.
    """
    before = await tx.fetchrow(_OF, [model])
    if before is None or not _is_at_least(price, _build_price(before).price):
        await check_account_change(tx, actor, _price_change(model))
    row = await tx.fetchrow(
        _SET,
        model,
        price.input_usd_per_million,
        price.output_usd_per_million,
        price.cached_usd_per_million,
        price.stored_usd_per_million,
        actor.id,
    )
    return _build_price(row)


async def delete_price(tx: Transaction, model: str, actor: Actor) -> bool:
    """Delete a price, so that the price list applies again; False when none was set."""
    if await tx.fetchrow(_FORGET, model) is None:
        return False
    await check_account_change(tx, actor, _price_change(model))
    return True


def _price_change(model: str) -> AccountChange:
    return AccountChange(
        f"The price of {model}",
        asks_model,
        None,
        workspace_id=None,
        owner_id=None,
        page="/models",
        decides="how far the budgets of {users} go",
    )


def _is_at_least(price: Price, before: Price) -> bool:
    """Report whether every kind of token costs at least what it did before."""
    kinds = ((1, 0), (0, 1), (1, 0, 1), (1, 0, 0, 1))
    return all(price.cost(*kind) >= before.cost(*kind) for kind in kinds)


def _build_price(row: Any) -> OperatorPrice:
    price = Price(
        row["input_usd_per_million"],
        row["output_usd_per_million"],
        row["cached_usd_per_million"],
        row["stored_usd_per_million"],
    )
    return OperatorPrice(row["model"], price, row["set_at"])


ModelKind = Literal["anthropic", "openai", "groq", "compatible"]
# Fields of a connection; an omitted one is not changed.
KIND, URL, MODELS, USUAL = "kind", "base_url", "models", "usual_model"

API_KEY: Final = "api_key"
MOST_CONNECTIONS: Final = 50
HOME_URLS: Final[Mapping[ModelKind, str]] = {
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "groq": "https://api.groq.com/openai/v1",
}
_COLUMNS: Final = """
    id, workspace_id, name, kind, base_url, offers, usual_model, has_key, created_at, updated_at
"""
# A workspace's own connections first, then the installation's, oldest first.
_REACHED = f"""
    SELECT {_COLUMNS} FROM model_connections
    WHERE workspace_id = $1 OR workspace_id IS NULL
    ORDER BY workspace_id NULLS LAST, created_at, id
"""
_ALL = f"SELECT {_COLUMNS} FROM model_connections ORDER BY created_at, id"
_FIND = f"""
    SELECT {_COLUMNS} FROM model_connections
    WHERE workspace_id IS NOT DISTINCT FROM $1 AND name = $2 FOR UPDATE
"""
_COUNT = "SELECT count(*) FROM model_connections WHERE workspace_id IS NOT DISTINCT FROM $1"
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('model connections ' || $1, 0))"
_ADD = f"""
    INSERT INTO model_connections
        (id, workspace_id, name, kind, base_url, offers, usual_model, has_key, created_by)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    RETURNING {_COLUMNS}
"""
_CHANGE = f"""
    UPDATE model_connections
    SET kind = $3, base_url = $4, offers = $5, usual_model = $6, has_key = $7, updated_at = now()
    WHERE workspace_id IS NOT DISTINCT FROM $1 AND id = $2
    RETURNING {_COLUMNS}
"""
_NEEDED_BY = """
    SELECT a.name FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id AND v.automation_id = a.id
        AND v.version = a.version
    JOIN definitions d ON d.workspace_id = a.workspace_id AND d.hash = v.definition_hash
    WHERE a.workspace_id = $1 AND a.state = 'active'
        AND jsonb_path_exists(d.document::jsonb, '$.**.model ? (@ starts with $start)', $2::jsonb)
    ORDER BY a.name
"""
_REMOVE = """
    DELETE FROM model_connections
    WHERE workspace_id IS NOT DISTINCT FROM $1 AND name = $2
    RETURNING id, kind, base_url
"""
# Connections at other URLs, used when there is no other.
_OTHERS = """
    SELECT 1 AS there FROM model_connections
    WHERE ($1::uuid IS NULL OR workspace_id IS NULL OR workspace_id = $1)
        AND (kind, base_url) <> ($2, $3)
    LIMIT 1
"""


@dataclass(frozen=True, slots=True)
class ModelConnection:
    """A connection to a model provider."""

    id: UUID
    # None: the installation's connection, used by every workspace.
    workspace_id: UUID | None
    name: str
    kind: ModelKind
    base_url: str
    # Empty: the known models of its kind.
    offers: tuple[str, ...]
    usual_model: str | None
    has_key: bool
    created_at: datetime
    updated_at: datetime

    @property
    def secret_scope(self) -> SecretScope:
        """The secret scope that holds its API key."""
        return connection_scope(self.workspace_id or FIRST_WORKSPACE, self.id)


@dataclass(frozen=True, slots=True)
class ModelConnectionSpec:
    """The requested state of a connection."""

    # None: the installation's.
    workspace_id: UUID | None
    name: str
    # The given fields, by the names above; the URL is already parsed.
    said: Mapping[str, Any]
    key: str | None
    by: UUID | None
    # The requester; None: the installation's settings.
    actor: Actor | None = None


async def list_reachable_connections(
    database: QueryExecutor, workspace_id: UUID
) -> tuple[ModelConnection, ...]:
    """List the connections that a workspace can use, in the order in which they are tried."""
    return tuple(map(_build_connection, await database.fetch(_REACHED, workspace_id)))


async def list_all_connections(database: QueryExecutor) -> tuple[ModelConnection, ...]:
    """List every connection, for the operator."""
    return tuple(map(_build_connection, await database.fetch(_ALL)))


async def connect(
    tx: Transaction, vault: Vault, spec: ModelConnectionSpec
) -> tuple[ModelConnection, bool]:
    """Create or change a connection and encrypt its key; return whether it is new."""
    space = spec.workspace_id
    await tx.execute(_LOCK, str(space or "installation"))
    found = await tx.fetchrow(_FIND, space, spec.name)
    before = None if found is None else _build_connection(found)
    if before is None:
        await _check_connection_limit(tx, space)
    kind, url, offers, usual = _resolve_connection(spec, before)
    _check_usual(usual, offers)
    has_key = _check_key(spec, before, kind, url)
    was = before and (before.kind, before.base_url, before.offers, before.usual_model)
    if spec.actor is not None and was != (kind, url, tuple(offers), usual):
        # The endpoint decides what is sent where; a new key alone does not change that.
        await check_account_change(tx, spec.actor, _connection_change(space, spec.name))
    if before is None:
        row = await tx.fetchrow(
            _ADD, generate_id(), space, spec.name, kind, url, list(offers), usual, has_key, spec.by
        )
    else:
        row = await tx.fetchrow(_CHANGE, space, before.id, kind, url, list(offers), usual, has_key)
    made = _build_connection(row)
    if spec.key is not None:
        await vault.put(tx, made.secret_scope, API_KEY, spec.key)
    return made, before is None


async def disconnect(tx: Transaction, workspace_id: UUID | None, name: str, actor: Actor) -> bool:
    """Delete a connection and its key; False when there was none of that name."""
    row = await tx.fetchrow(_REMOVE, workspace_id, name)
    if row is None:
        return False
    if await tx.fetchrow(_OTHERS, workspace_id, row["kind"], row["base_url"]) is not None:
        # These would be used instead.
        await check_account_change(tx, actor, _connection_change(workspace_id, name))
    scope = connection_scope(workspace_id or FIRST_WORKSPACE, row["id"])
    await delete_secret(tx, scope, API_KEY)
    return True


async def list_connection_users(tx: Transaction, workspace_id: UUID, name: str) -> list[str]:
    """Name the active automations of a workspace that use a connection."""
    rows = await tx.fetch(_NEEDED_BY, workspace_id, {"start": f"{name}/"})
    return [row["name"] for row in rows]


async def _check_connection_limit(tx: Transaction, workspace_id: UUID | None) -> None:
    row = await tx.fetchrow(_COUNT, workspace_id)
    if row["count"] >= MOST_CONNECTIONS:
        raise Conflict(
            f"There are {MOST_CONNECTIONS} model connections already, and no more are kept.",
            code="too_many_connections",
            suggestion="Disconnect one that is not needed.",
        )


def _resolve_connection(
    spec: ModelConnectionSpec, before: ModelConnection | None
) -> tuple[ModelKind, str, tuple[str, ...], str | None]:
    """Resolve a connection: the given fields, then the stored ones, then the defaults."""
    said = spec.said
    if before is None:
        known = spec.name if spec.name in HOME_URLS else "compatible"
        kind: ModelKind = said.get(KIND, known)
        url = said.get(URL) or HOME_URLS.get(kind)
    else:
        kind = said.get(KIND, before.kind)
        # Another kind has another default URL.
        home = HOME_URLS.get(kind) if kind != before.kind else before.base_url
        url = said.get(URL) or home
    if url is None:
        raise _invalid_connection_error(
            URL, "Say where the server is; its kind has no address of its own.", "no_url"
        )
    offers = tuple(dict.fromkeys(said.get(MODELS, () if before is None else before.offers)))
    return kind, url, offers, said.get(USUAL, None if before is None else before.usual_model)


def _connection_change(workspace_id: UUID | None, name: str) -> AccountChange:
    everyone = " --for-everyone" if workspace_id is None else ""
    return AccountChange(
        f"The model connection {name}",
        asks_model,
        None,
        workspace_id,
        None,
        "/models",
        f"mainspring models connect {name}{everyone}",
        decides="which model {users} {use}",
    )


def _check_usual(usual: str | None, offers: tuple[str, ...]) -> None:
    if usual is not None and offers and usual not in offers:
        sentence = f"The usual model {usual!r} is not among the models of this connection."
        raise _invalid_connection_error(USUAL, sentence, "usual_model")


def _check_key(
    spec: ModelConnectionSpec, before: ModelConnection | None, kind: ModelKind, url: str
) -> bool:
    """Check its key; a stored key is never sent to another URL."""
    if spec.key is not None:
        return True
    if before is not None and before.has_key:
        if (before.kind, before.base_url) != (kind, url):
            sentence = "The key was given for another address. Give it again for this one."
            raise _invalid_connection_error("key", sentence, "key_again")
        return True
    if url == HOME_URLS.get(kind):
        raise _invalid_connection_error("key", f"{url} rejects requests without a key.", "no_key")
    return False


def _invalid_connection_error(field: str, sentence: str, code: str) -> Invalid:
    return Invalid(sentence, code=code, findings=[Finding(f"/{field}", sentence, code)])


def _build_connection(row: Any) -> ModelConnection:
    return ModelConnection(
        row["id"],
        row["workspace_id"],
        row["name"],
        row["kind"],
        row["base_url"],
        tuple(row["offers"]),
        row["usual_model"],
        row["has_key"],
        row["created_at"],
        row["updated_at"],
    )
