"""OAuth clients registered at providers, per installation or per workspace.

A workspace's own client takes precedence over the installation's. Its secret is encrypted in the
vault and write-only. Changing the client id requires the secret again, because the old secret
belongs to another client.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.workspace.automations import FIRST_WORKSPACE
from mainspring.workspace.sealing import SecretScope, connection_scope
from mainspring.workspace.vault import Vault, delete_secret

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import QueryExecutor

CLIENT_SECRET: Final = "client_secret"  # noqa: S105
_COLUMNS = "id, workspace_id, provider, client_id, has_secret, created_at, updated_at"
_FIND = f"SELECT {_COLUMNS} FROM oauth_clients WHERE id = $1"
# A workspace's own client sorts before the installation's.
_FOR = f"""
    SELECT {_COLUMNS} FROM oauth_clients
    WHERE provider = $2 AND (workspace_id = $1 OR workspace_id IS NULL)
    ORDER BY workspace_id NULLS LAST LIMIT 1
"""
_REACHED = f"""
    SELECT {_COLUMNS} FROM oauth_clients WHERE workspace_id = $1 OR workspace_id IS NULL
    ORDER BY provider, workspace_id NULLS LAST
"""
_EXACT = f"""
    SELECT {_COLUMNS} FROM oauth_clients
    WHERE workspace_id IS NOT DISTINCT FROM $1 AND provider = $2 FOR UPDATE
"""
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('oauth clients ' || $1, 0))"
_ADD = f"""
    INSERT INTO oauth_clients (id, workspace_id, provider, client_id, has_secret, created_by)
    VALUES ($1, $2, $3, $4, $5, $6) RETURNING {_COLUMNS}
"""
_CHANGE = f"""
    UPDATE oauth_clients SET has_secret = $2, updated_at = now()
    WHERE id = $1 RETURNING {_COLUMNS}
"""
_REMOVE = "DELETE FROM oauth_clients WHERE id = $1"


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """An OAuth client registered at a provider."""

    id: UUID
    # None: the installation's client, used by every workspace.
    workspace_id: UUID | None
    provider: str
    client_id: str
    has_secret: bool
    created_at: datetime
    updated_at: datetime

    @property
    def secret_scope(self) -> SecretScope:
        """The secret scope that holds the client secret."""
        return connection_scope(self.workspace_id or FIRST_WORKSPACE, self.id)

    async def secret(self, vault: Vault) -> str | None:
        """Return the client secret, or None for a public client."""
        if not self.has_secret:
            return None
        return (await vault.reveal(self.secret_scope, [CLIENT_SECRET]))[CLIENT_SECRET]

    def method(self, auth: Mapping[str, Any]) -> dict[str, str]:
        """Return the client authentication in the method that the provider expects."""
        basic = auth.get("client_auth", "post") == "basic"
        name = "client_secret_basic" if basic else "client_secret_post"
        return {"id": self.client_id, "method": name if self.has_secret else "none"}


async def find(database: QueryExecutor, client: UUID) -> OAuthClient | None:
    """Load a client by id, across workspaces: it may belong to the installation."""
    row = await database.fetchrow(_FIND, client)
    return None if row is None else _build_client(row)


async def find_client(
    database: QueryExecutor, workspace_id: UUID, provider: str
) -> OAuthClient | None:
    """Find the client that members of a workspace sign in with."""
    row = await database.fetchrow(_FOR, workspace_id, provider)
    return None if row is None else _build_client(row)


async def list_reachable_clients(
    database: QueryExecutor, workspace_id: UUID
) -> tuple[OAuthClient, ...]:
    """List the clients that a workspace can use, by provider, its own first."""
    return tuple(map(_build_client, await database.fetch(_REACHED, workspace_id)))


async def put_client(
    tx: Transaction,
    vault: Vault,
    workspace_id: UUID | None,
    provider: str,
    client_id: str,
    secret: str | None,
    by: UUID | None,
) -> OAuthClient:
    """Set a client. The same client id keeps its connections; a new id discards them."""
    await tx.execute(_LOCK, str(workspace_id or "installation"))
    found = await tx.fetchrow(_EXACT, workspace_id, provider)
    before = None if found is None else _build_client(found)
    if before is not None and before.client_id != client_id:
        await _forget(tx, before)
        before = None
    if before is None:
        row = await tx.fetchrow(
            _ADD, generate_id(), workspace_id, provider, client_id, secret is not None, by
        )
    else:
        row = await tx.fetchrow(_CHANGE, before.id, before.has_secret or secret is not None)
    made = _build_client(row)
    if secret is not None:
        await vault.put(tx, made.secret_scope, CLIENT_SECRET, secret)
    return made


async def remove_client(tx: Transaction, workspace_id: UUID | None, provider: str) -> bool:
    """Delete a client and its secret; False when there was none."""
    found = await tx.fetchrow(_EXACT, workspace_id, provider)
    if found is None:
        return False
    await _forget(tx, _build_client(found))
    return True


async def _forget(tx: Transaction, client: OAuthClient) -> None:
    await delete_secret(tx, client.secret_scope, CLIENT_SECRET)
    await tx.execute(_REMOVE, client.id)


def _build_client(row: Any) -> OAuthClient:
    return OAuthClient(**dict(row))
