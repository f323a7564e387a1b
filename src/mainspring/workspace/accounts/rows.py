"""Members' connections to integrations: owner, authentication and health.

Rows hold no secrets. Credentials are in the connection's secret scope of the vault and are deleted
with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.errors import NotFound, Problem
from mainspring.contracts.ids import generate_id
from mainspring.workspace.sealing import SecretScope, connection_scope
from mainspring.workspace.vault import delete_secret, list_secrets

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# The automation that polls this connection, stored with it.

_REMEMBER = """
    UPDATE integration_connections SET automation_id = $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""


async def set_watcher(
    tx: Transaction, workspace_id: UUID, connection_id: UUID, automation_id: UUID | None
) -> None:
    """Store which automation polls this connection; None when none does."""
    await tx.execute(_REMEMBER, workspace_id, connection_id, automation_id)


AccountAuth = Literal["none", "token", "oauth"]
AccountState = Literal["ready", "sign_in", "reconnect"]

_COLUMNS = """
    c.workspace_id, c.id, c.owner_id, c.integration, c.label, c.account, c.auth, c.settings,
    c.scopes, c.client_id, c.expires_at, c.sign_in_id, c.renewing_at, c.state, c.automation_id,
    c.last_ok_at, c.last_failed_at, c.last_error, c.failures_in_row, c.created_at, c.shared_at
"""
_FIND = f"""
    SELECT {_COLUMNS} FROM integration_connections c WHERE c.workspace_id = $1 AND c.id = $2
"""
_HOLD = f"{_FIND} FOR UPDATE"
_OF = f"""
    SELECT {_COLUMNS} FROM integration_connections c
    WHERE c.workspace_id = $1 AND c.owner_id = $2 AND c.integration = $3
"""
# A member's own connection takes precedence over the workspace's, unless it was never completed.
# Accounts of former members are unusable except for the ones they shared.
_USABLE = f"""
    SELECT {_COLUMNS} FROM integration_connections c
    WHERE c.workspace_id = $1 AND c.integration = $3 AND (
        ($4 AND c.shared_at IS NOT NULL AND c.state <> 'sign_in')
        OR (c.owner_id = $2 AND EXISTS (
            SELECT 1 FROM members m JOIN users u ON u.id = m.user_id
            WHERE m.workspace_id = c.workspace_id AND m.user_id = c.owner_id
                AND u.disabled_at IS NULL))
    )
    ORDER BY c.owner_id = $2 AND c.state <> 'sign_in' DESC, c.state <> 'sign_in' DESC LIMIT 1
"""
_LIST = f"""
    SELECT DISTINCT ON (c.integration) {_COLUMNS} FROM integration_connections c
    WHERE c.workspace_id = $1
        AND (c.owner_id = $2 OR (c.shared_at IS NOT NULL AND c.state <> 'sign_in'))
    ORDER BY c.integration, c.owner_id = $2 AND c.state <> 'sign_in' DESC,
        c.state <> 'sign_in' DESC
"""
_SHARED_HERE = f"""
    SELECT {_COLUMNS} FROM integration_connections c
    WHERE c.workspace_id = $1 AND c.integration = $2 AND c.shared_at IS NOT NULL FOR UPDATE
"""
_SHARE = """
    UPDATE integration_connections
    SET shared_at = CASE WHEN $3 THEN coalesce(shared_at, now()) END, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_HAND = """
    UPDATE integration_connections SET owner_id = $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_READY = """
    SELECT integration FROM integration_connections
    WHERE workspace_id = $1 AND owner_id = $2 AND state = 'ready'
"""
_ADD = """
    INSERT INTO integration_connections
        (workspace_id, id, owner_id, integration, label, auth, state)
    VALUES ($1, $2, $3, $4, $5, $6, 'sign_in')
    ON CONFLICT (workspace_id, owner_id, integration) DO NOTHING
"""
_CONNECTED = """
    UPDATE integration_connections SET label = $3, account = $4, auth = $5, settings = $6,
        scopes = '{}', client_id = NULL, expires_at = NULL, sign_in_id = $7, renewing_at = NULL,
        state = 'ready', last_ok_at = now(), last_error = NULL, failures_in_row = 0,
        updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_SIGNED_IN = """
    UPDATE integration_connections SET auth = 'oauth', scopes = $3, client_id = $4,
        expires_at = $5, sign_in_id = $6, renewing_at = NULL, state = 'ready', last_error = NULL,
        failures_in_row = 0, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_RENEWED = """
    UPDATE integration_connections SET expires_at = $3, renewing_at = NULL,
        scopes = coalesce($4, scopes), updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_RENEWING = """
    UPDATE integration_connections SET renewing_at = now() WHERE workspace_id = $1 AND id = $2
"""
_NAMED = """
    UPDATE integration_connections SET account = $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2 AND account <> $3
"""
# At most one write per minute. A successful call also clears the need to reconnect.
_OK = """
    UPDATE integration_connections SET last_ok_at = now(), failures_in_row = 0,
        last_error = NULL, state = 'ready'
    WHERE workspace_id = $1 AND id = $2 AND sign_in_id IS NOT DISTINCT FROM $3
        AND (state = 'ready' OR $4) AND state <> 'sign_in'
        AND (failures_in_row > 0 OR last_ok_at IS NULL OR state <> 'ready'
            OR last_ok_at < now() - interval '1 minute')
"""
# A failure observed with earlier credentials says nothing about the current ones.
_FAILED = """
    UPDATE integration_connections
    SET last_failed_at = now(), last_error = $3, failures_in_row = failures_in_row + 1,
        state = CASE WHEN $4 THEN 'reconnect' ELSE state END,
        renewing_at = CASE WHEN $4 THEN NULL ELSE renewing_at END
    WHERE workspace_id = $1 AND id = $2 AND state = 'ready'
        AND sign_in_id IS NOT DISTINCT FROM $5
        AND ($4 OR failures_in_row = 0 OR last_failed_at < now() - interval '10 seconds')
"""
_SETTINGS = """
    UPDATE integration_connections SET settings = $3, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_WITH = f"""
    SELECT {_COLUMNS} FROM integration_connections c
    WHERE c.workspace_id = $1 AND c.integration = $2 AND c.settings ->> $3 = $4 FOR UPDATE
"""
_REMOVE = """
    DELETE FROM integration_connections WHERE workspace_id = $1 AND id = $2 RETURNING id
"""
# Across all workspaces: a provider knows only the client and the account. An unnamed account may be
# any account.
_SHARED = """
    SELECT EXISTS (
        SELECT 1 FROM integration_connections c
        JOIN oauth_clients theirs ON theirs.id = c.client_id
        JOIN oauth_clients ours ON ours.id = $1
        WHERE (theirs.provider, theirs.client_id) = (ours.provider, ours.client_id)
            AND c.id <> $2
            AND (lower(c.account) = lower($3) OR c.account = '' OR $3 = '')
    ) AS found
"""


@dataclass(frozen=True, slots=True)
class AccountRow:
    """A member's connection to an integration, without secrets."""

    workspace_id: UUID
    id: UUID
    owner_id: UUID
    # The integration id, such as gmail.
    integration: str
    label: str
    account: str
    auth: AccountAuth
    settings: Mapping[str, Any]
    scopes: frozenset[str]
    client_id: UUID | None
    expires_at: datetime | None
    sign_in_id: UUID | None
    renewing_at: datetime | None
    state: AccountState
    automation_id: UUID | None
    last_ok_at: datetime | None
    last_failed_at: datetime | None
    last_error: Mapping[str, Any] | None
    failures_in_row: int
    created_at: datetime
    # When it was shared with the workspace; None when it is the owner's alone.
    shared_at: datetime | None = None

    @property
    def secret_scope(self) -> SecretScope:
        """The secret scope that holds its credentials."""
        return connection_scope(self.workspace_id, self.id)

    @property
    def shown_name(self) -> str:
        """The display name: the connection's label and the account name at the provider."""
        return f"{self.label} ({self.account})" if self.account else self.label


async def find(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> AccountRow:
    """Load a connection by id."""
    row = await tx.fetchrow(_FIND, workspace_id, connection_id)
    if row is None:
        raise _account_missing_error()
    return _read(row)


async def lock_account(tx: Transaction, workspace_id: UUID, connection_id: UUID) -> AccountRow:
    """Load and lock a connection until the transaction ends."""
    row = await tx.fetchrow(_HOLD, workspace_id, connection_id)
    if row is None:
        raise _account_missing_error()
    return _read(row)


async def find_member_account(
    tx: Transaction, workspace_id: UUID, owner_id: UUID, integration: str
) -> AccountRow | None:
    """Find a member's connection to an integration, in any state."""
    row = await tx.fetchrow(_OF, workspace_id, owner_id, integration)
    return None if row is None else _read(row)


async def find_usable_account(
    database: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    integration: str,
    *,
    shared: bool = True,
) -> AccountRow | None:
    """Find the connection that a current member uses; queried across workspaces.

    That is their own connection, or else the workspace's unless ``shared`` is false.
    """
    row = await database.fetchrow(_USABLE, workspace_id, owner_id, integration, shared)
    return None if row is None else _read(row)


async def list_accounts(
    tx: Transaction, workspace_id: UUID, owner_id: UUID
) -> tuple[AccountRow, ...]:
    """List the connections that a member has or uses, one per integration."""
    return tuple(_read(row) for row in await tx.fetch(_LIST, workspace_id, owner_id))


async def find_shared_account(
    tx: Transaction, workspace_id: UUID, integration: str
) -> AccountRow | None:
    """Load and lock the workspace's connection until the transaction ends."""
    row = await tx.fetchrow(_SHARED_HERE, workspace_id, integration)
    return None if row is None else _read(row)


async def set_shared(tx: Transaction, row: AccountRow, *, shared: bool) -> None:
    """Shares a connection with the workspace, or withdraws it."""
    await tx.execute(_SHARE, row.workspace_id, row.id, shared)


async def find_reconnectable_account(
    tx: Transaction, workspace_id: UUID, member_id: UUID, integration: str
) -> AccountRow | None:
    """Find the workspace's connection for a member without one who may reconnect it.

    None: the member has a connection of their own, or the workspace has no shared one. An
    uncompleted sign-in of the member is deleted.
    """
    there = await find_shared_account(tx, workspace_id, integration)
    if there is None or there.owner_id == member_id:
        return None
    own = await find_member_account(tx, workspace_id, member_id, integration)
    if own is not None and own.state != "sign_in":
        return None
    if own is not None:
        await remove(tx, own)
    return there


async def transfer_account(tx: Transaction, row: AccountRow, member_id: UUID) -> None:
    """Transfer the workspace's connection to the member who reconnected it."""
    await tx.execute(_HAND, row.workspace_id, row.id, member_id)


async def list_connected_integrations(
    tx: Transaction, workspace_id: UUID, owner_id: UUID
) -> frozenset[str]:
    """List the integrations that a member can use now."""
    rows = await tx.fetch(_READY, workspace_id, owner_id)
    return frozenset(row["integration"] for row in rows)


async def begin_connection(
    tx: Transaction,
    workspace_id: UUID,
    owner_id: UUID,
    integration: str,
    label: str,
    auth: AccountAuth,
) -> AccountRow:
    """Get or create a member's connection; a new one is pending until the sign-in completes."""
    await tx.execute(_ADD, workspace_id, generate_id(), owner_id, integration, label, auth)
    found = await find_member_account(tx, workspace_id, owner_id, integration)
    assert found is not None
    return found


async def mark_connected(
    tx: Transaction,
    row: AccountRow,
    *,
    label: str,
    account: str,
    auth: AccountAuth,
    settings: Mapping[str, Any],
) -> None:
    """Mark it connected after a successful test of the given credentials."""
    await tx.execute(
        _CONNECTED, row.workspace_id, row.id, label, account, auth, dict(settings), generate_id()
    )


async def mark_signed_in(
    tx: Transaction,
    row: AccountRow,
    scopes: frozenset[str],
    client_id: UUID,
    expires_at: datetime | None,
) -> None:
    """Mark it signed in and clear the health observed before."""
    await tx.execute(
        _SIGNED_IN, row.workspace_id, row.id, sorted(scopes), client_id, expires_at, generate_id()
    )


async def mark_renewed(
    tx: Transaction, row: AccountRow, expires_at: datetime | None, scopes: frozenset[str] | None
) -> None:
    """Record a new token and its expiry."""
    known = None if scopes is None else sorted(scopes)
    await tx.execute(_RENEWED, row.workspace_id, row.id, expires_at, known)


async def mark_renewing(tx: Transaction, row: AccountRow) -> None:
    """Record that a token refresh started; a leftover mark means that its response was lost."""
    await tx.execute(_RENEWING, row.workspace_id, row.id)


async def mark_ok(tx: Transaction, row: AccountRow, *, mended: bool = False) -> None:
    """Record a successful response; ``mended`` after an explicit test by a person."""
    await tx.execute(_OK, row.workspace_id, row.id, row.sign_in_id, mended)


async def mark_failed(
    tx: Transaction, row: AccountRow, problem: Problem, *, reconnect: bool
) -> None:
    """Record a failure; ``reconnect`` when only a person can fix it."""
    told = problem.as_dict()
    await tx.execute(_FAILED, row.workspace_id, row.id, told, reconnect, row.sign_in_id)


async def name_account(tx: Transaction, row: AccountRow, account: str) -> None:
    """Store the account name at the provider."""
    await tx.execute(_NAMED, row.workspace_id, row.id, account)


async def store_settings(tx: Transaction, row: AccountRow, settings: Mapping[str, Any]) -> None:
    """Store the connection's settings, none of which are secret."""
    await tx.execute(_SETTINGS, row.workspace_id, row.id, dict(settings))


async def find_account_by_setting(
    tx: Transaction, workspace_id: UUID, integration: str, name: str, value: str
) -> AccountRow | None:
    """Find and lock the connection that has this setting, until the transaction ends."""
    row = await tx.fetchrow(_WITH, workspace_id, integration, name, value)
    return None if row is None else _read(row)


async def remove(tx: Transaction, row: AccountRow) -> bool:
    """Delete a connection and its credentials; False when it was already gone."""
    await delete_secrets(tx, row)
    return await tx.fetchrow(_REMOVE, row.workspace_id, row.id) is not None


async def is_grant_shared(database: Transaction, row: AccountRow) -> bool:
    """Report whether another connection uses the same account through the same client."""
    found = await database.fetchrow(_SHARED, row.client_id, row.id, row.account)
    return bool(found["found"])


async def delete_secrets(
    tx: Transaction, row: AccountRow, keep: frozenset[str] = frozenset()
) -> None:
    """Delete a connection's credentials except for the ones just written."""
    for secret in await list_secrets(tx, row.secret_scope):
        if secret.name not in keep:
            await delete_secret(tx, row.secret_scope, secret.name)


def _read(row: Any) -> AccountRow:
    values = dict(row)
    values["scopes"] = frozenset(values["scopes"])
    return AccountRow(**values)


def _account_missing_error() -> NotFound:
    return NotFound("There is no such connection here.", code="connection_missing")
