"""The OAuth token endpoint: codes and refresh tokens become access tokens.

Each works once. Reuse means that it leaked, and which use was legitimate is unknown, so everything
issued from it is revoked. A client holds one access token; refreshing replaces its text and expiry,
and the previous text stops working at once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.roles import Role, min_role
from mainspring.store.audit import AuditRecord, append_audit
from mainspring.workspace.oauth.clients import RegisteredClient, hash_of, note_use
from mainspring.workspace.oauth.errors import OAuthError
from mainspring.workspace.oauth.scopes import format_scope
from mainspring.workspace.tokens import (
    TokenLimits,
    hash_token,
    make_token,
    renew_token,
    revoke_token,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

_CODE = """
    SELECT workspace_id, client_id, member_id, role, redirect_uri, challenge, token_id,
        used_at IS NOT NULL AS used, expires_at > now() AS in_time
    FROM client_codes WHERE hash = $1 FOR UPDATE
"""
_USE_CODE = (
    "UPDATE client_codes SET used_at = now(), token_id = $3 WHERE workspace_id = $1 AND hash = $2"
)
_RENEWAL = """
    SELECT r.workspace_id, r.client_id, r.token_id, r.used_at IS NOT NULL AS used,
        r.expires_at > now() AS in_time, t.member_id, t.role, t.revoked_at IS NULL AS alive
    FROM client_renewals r
    JOIN access_tokens t ON t.workspace_id = r.workspace_id AND t.id = r.token_id
    WHERE r.hash = $1 FOR UPDATE OF r
"""
_USE_RENEWAL = "UPDATE client_renewals SET used_at = now() WHERE workspace_id = $1 AND hash = $2"
_ADD_RENEWAL = """
    INSERT INTO client_renewals (workspace_id, hash, client_id, token_id, expires_at)
    VALUES ($1, $2, $3, $4, now() + $5)
"""
_TIDY_RENEWALS = """
    DELETE FROM client_renewals WHERE hash IN (
        SELECT hash FROM client_renewals WHERE expires_at < now()
        LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""
# Former or disabled members and withdrawn consents get no tokens. The consent row is locked until
# the token exists, so that a concurrent reduction or revocation sees the token.
_STANDING = """
    SELECT m.role AS own, o.role AS agreed
    FROM members m JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
    JOIN client_consents o ON o.workspace_id = m.workspace_id AND o.member_id = m.user_id
    WHERE m.workspace_id = $1 AND m.user_id = $2 AND o.client_id = $3 FOR SHARE OF o
"""
_HELD = """
    SELECT workspace_id, id, member_id FROM access_tokens WHERE client_id = $1 AND hash = $2
    UNION ALL
    SELECT t.workspace_id, t.id, t.member_id FROM client_renewals r
    JOIN access_tokens t ON t.workspace_id = r.workspace_id AND t.id = r.token_id
    WHERE r.client_id = $1 AND r.hash = $2
"""

TOKEN_LIFETIME: Final = timedelta(hours=1)
RENEWAL_LIFETIME: Final = timedelta(days=30)
_VERIFIER: Final = re.compile(r"[A-Za-z0-9._~-]{43,128}")
# The same error for every reason, so that it reveals nothing.
_NO_CODE: Final = OAuthError("invalid_grant", "This code is not good, or not any more.")
_NO_RENEWAL: Final = OAuthError("invalid_grant", "This refresh token is not good, or not any more.")


class CodeVerdict(Enum):
    """What to do with a code or a refresh token."""

    GOOD = auto()
    # Another client's, or expired; nothing changes.
    STRANGE = auto()
    # The client's own, but invalidated.
    SPOILT = auto()
    # Reused: everything issued from it is revoked.
    AGAIN = auto()


@dataclass(frozen=True, slots=True)
class AuthorizationCodeGrant:
    """A client's token request with an authorization code."""

    code: str
    redirect_uri: str | None
    verifier: str | None


@dataclass(frozen=True, slots=True)
class _MemberRoles:
    """A member's own role, and the role they granted to a client."""

    own: Role
    agreed: Role


@dataclass(frozen=True, slots=True)
class IssuedTokens:
    """The token response."""

    access: str
    renewal: str | None
    role: Role

    def as_dict(self) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "access_token": self.access,
            "token_type": "Bearer",
            "expires_in": int(TOKEN_LIFETIME.total_seconds()),
            "scope": format_scope(self.role),
        }
        return shown if self.renewal is None else {**shown, "refresh_token": self.renewal}


def is_verifier_valid(verifier: str | None, challenge: str) -> bool:
    """Verify the PKCE challenge (RFC 7636, S256)."""
    if verifier is None or not _VERIFIER.fullmatch(verifier):
        return False
    made = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=")
    return hmac.compare_digest(made, challenge.encode())


def check_code(row: Any, client_id: UUID, shown: AuthorizationCodeGrant) -> CodeVerdict:
    """A code is valid once, in time, for its client, redirect URI and verifier."""
    if row["client_id"] != client_id:
        return CodeVerdict.STRANGE
    if row["used"]:
        return CodeVerdict.AGAIN
    same = shown.redirect_uri in (None, row["redirect_uri"])
    good = row["in_time"] and same and is_verifier_valid(shown.verifier, row["challenge"])
    return CodeVerdict.GOOD if good else CodeVerdict.SPOILT


def check_refresh_token(row: Any, client_id: UUID) -> CodeVerdict:
    """A refresh token is valid once, in time, for its client, while its access token is."""
    if row["client_id"] != client_id or not row["alive"]:
        return CodeVerdict.STRANGE
    if row["used"]:
        return CodeVerdict.AGAIN
    return CodeVerdict.GOOD if row["in_time"] else CodeVerdict.SPOILT


async def exchange_code(
    database: Database, client: RegisteredClient, shown: AuthorizationCodeGrant, now: datetime
) -> IssuedTokens | OAuthError:
    """Exchange a code. A rejection is returned, not raised, so that its revocations commit."""
    hashed = hash_of(shown.code)
    async with database.transaction() as tx:
        row = await tx.fetchrow(_CODE, hashed)
        if row is None:
            return _NO_CODE
        verdict = check_code(row, client.id, shown)
        if verdict is CodeVerdict.AGAIN and row["token_id"] is not None:
            await _revoke_grant(tx, row, "code_again")
        if verdict is CodeVerdict.SPOILT:
            await tx.execute(_USE_CODE, row["workspace_id"], hashed, None)
        if verdict is not CodeVerdict.GOOD:
            return _NO_CODE
        standing = await _load_roles(tx, row)
        if standing is None:
            return _NO_CODE
        # The member may have reduced the role since the code was made.
        role = min_role(Role(row["role"]), standing.agreed)
        bounds = TokenLimits(role, None, now + TOKEN_LIFETIME)
        name = f"{client.name} (connected)"
        stored, plain = await make_token(
            tx, row["workspace_id"], row["member_id"], name, bounds, client_id=client.id
        )
        await tx.execute(_USE_CODE, row["workspace_id"], hashed, stored.id)
        await note_use(tx, client.id)
        renewal = await _issue_refresh_token(tx, client, row["workspace_id"], stored.id)
        await _tell(tx, row, stored.id, "client_connected", {"role": stored.role.value})
        return IssuedTokens(plain, renewal, min_role(stored.role, standing.own))


async def refresh_tokens(
    database: Database, client: RegisteredClient, renewal: str, now: datetime
) -> IssuedTokens | OAuthError:
    """Exchange a refresh token for a new access token and refresh token."""
    hashed = hash_of(renewal)
    async with database.transaction() as tx:
        row = await tx.fetchrow(_RENEWAL, hashed)
        if row is None:
            return _NO_RENEWAL
        verdict = check_refresh_token(row, client.id)
        if verdict is CodeVerdict.AGAIN:
            await _revoke_grant(tx, row, "renewal_again")
        standing = await _load_roles(tx, row) if verdict is CodeVerdict.GOOD else None
        if standing is None:
            return _NO_RENEWAL
        plain = await renew_token(tx, row["workspace_id"], row["token_id"], now + TOKEN_LIFETIME)
        if plain is None:
            return _NO_RENEWAL
        await tx.execute(_USE_RENEWAL, row["workspace_id"], hashed)
        await note_use(tx, client.id)
        made = await _issue_refresh_token(tx, client, row["workspace_id"], row["token_id"])
        return IssuedTokens(plain, made, min_role(Role(row["role"]), standing.own))


async def revoke_client_tokens(database: Database, client: RegisteredClient, token: str) -> None:
    """Revoke a client's tokens by either of them (RFC 7009); unknown tokens are ignored."""
    async with database.transaction() as tx:
        row = await tx.fetchrow(_HELD, client.id, hash_token(token))
        if row is not None:
            await revoke_token(tx, row["workspace_id"], row["id"])
            await _tell(tx, row, row["id"], "client_gave_up", {})


async def _issue_refresh_token(
    tx: Transaction, client: RegisteredClient, workspace_id: UUID, token_id: UUID
) -> str | None:
    if not client.renews:
        return None
    plain = "msn_" + secrets.token_urlsafe(32)
    await tx.execute(_TIDY_RENEWALS)
    await tx.execute(
        _ADD_RENEWAL, workspace_id, hash_of(plain), client.id, token_id, RENEWAL_LIFETIME
    )
    return plain


async def _load_roles(tx: Transaction, row: Any) -> _MemberRoles | None:
    found = await tx.fetchrow(_STANDING, row["workspace_id"], row["member_id"], row["client_id"])
    return None if found is None else _MemberRoles(Role(found["own"]), Role(found["agreed"]))


async def _revoke_grant(tx: Transaction, row: Any, why: str) -> None:
    await revoke_token(tx, row["workspace_id"], row["token_id"])
    await _tell(tx, row, row["token_id"], "client_cut_off", {"why": why})


async def _tell(
    tx: Transaction, row: Any, token_id: UUID, action: str, detail: dict[str, Any]
) -> None:
    entry = AuditRecord(
        row["workspace_id"], "client", row["member_id"], action, str(token_id), detail, token_id
    )
    await append_audit(tx, [entry])
