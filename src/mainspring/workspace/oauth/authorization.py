"""Authorization requests, codes, and members' consents to OAuth clients.

A consent covers one client, member and workspace, with the redirect URI it was given for: another
URI asks again. A reduced role applies at once to the client's tokens; a larger one needs consent
again.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Expired, Finding, Invalid, NotFound, PermissionDenied
from mainspring.contracts.roles import Role
from mainspring.workspace.oauth.clients import add_query, describe_redirect, hash_of
from mainspring.workspace.oauth.errors import OAuthError
from mainspring.workspace.oauth.scopes import (
    ROLES,
    is_role_sufficient,
    limit_of,
    list_role_choices,
    merge_agreed_role,
    parse_requested_role,
)
from mainspring.workspace.tokens import narrow_tokens_of_client, revoke_tokens_of_client

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Pending authorization requests: validated before they are stored, and answered once.

# SKIP LOCKED: a concurrent request may be deleting the same rows.
_TIDY = """
    DELETE FROM client_requests WHERE hash IN (
        SELECT hash FROM client_requests WHERE expires_at < now()
        LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""
_ADD = """
    INSERT INTO client_requests (hash, client_id, redirect_uri, state, role, challenge, issuer,
        expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8)
"""
_COLUMNS = """
    r.client_id, c.name AS client_name, c.created_at AS registered_at, r.redirect_uri, r.state,
    r.role, r.challenge, r.issuer, r.expires_at, c.scope AS registered
"""
_OPEN = f"""
    UPDATE client_requests r SET user_id = $2 FROM mcp_clients c
    WHERE r.hash = $1 AND c.id = r.client_id AND r.expires_at > now()
        AND (r.user_id IS NULL OR r.user_id = $2)
    RETURNING {_COLUMNS}
"""
_TAKE = f"""
    DELETE FROM client_requests r USING mcp_clients c
    WHERE r.hash = $1 AND c.id = r.client_id AND r.expires_at > now() AND r.user_id = $2
    RETURNING {_COLUMNS}
"""

LIFETIME: Final = timedelta(minutes=10)
LONGEST_STATE: Final = 4_096
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class AuthorizationParameters:
    """A valid authorization request of a client."""

    role: Role | None
    challenge: str
    state: str | None


@dataclass(frozen=True, slots=True)
class PendingAuthorization:
    """A pending request that a person has opened."""

    client_id: UUID
    client_name: str
    registered_at: datetime
    redirect_uri: str
    state: str | None
    role: Role | None
    challenge: str
    issuer: str
    expires_at: datetime
    # The largest role that can be granted.
    limit: Role = Role.EDITOR


def parse_parameters(
    given: Mapping[str, str | None], resources: frozenset[str]
) -> AuthorizationParameters:
    """Validate the parameters, or raise the error for the client; the client is known by now."""
    if given.get("response_type") != "code":
        raise OAuthError("unsupported_response_type", "The only response type is code.")
    if given.get("response_mode") not in (None, "query"):
        raise OAuthError("invalid_request", "The only response mode is query.")
    challenge = given.get("code_challenge")
    if challenge is None or given.get("code_challenge_method") != "S256":
        raise OAuthError("invalid_request", "PKCE is needed, with the method S256.")
    if not _CHALLENGE.fullmatch(challenge):
        raise OAuthError("invalid_request", "A code_challenge of S256 has 43 signs.")
    check_resource(given.get("resource"), resources)
    return AuthorizationParameters(
        parse_requested_role(given.get("scope")), challenge, given.get("state")
    )


def check_resource(given: str | None, resources: frozenset[str]) -> None:
    """Reject a token request for another resource (RFC 8707); omitted, it is for this server."""
    # The query of the address only chooses toolsets.
    if given is not None and given.partition("?")[0] not in resources:
        raise OAuthError("invalid_target", "Tokens for this resource are not given here.")


async def store_request(
    tx: Transaction, client_id: UUID, redirect_uri: str, asked: AuthorizationParameters, issuer: str
) -> str:
    """Store a request until a person answers it; return its handle for the URL."""
    plain = secrets.token_urlsafe(32)
    await tx.execute(_TIDY)
    await tx.execute(
        _ADD,
        hash_of(plain),
        client_id,
        redirect_uri,
        asked.state,
        None if asked.role is None else asked.role.value,
        asked.challenge,
        issuer,
        LIFETIME,
    )
    return plain


async def open_request(tx: Transaction, plain: str, user_id: UUID) -> PendingAuthorization:
    """Open a request, bound to the first person who opens it."""
    return _build_pending_authorization(await tx.fetchrow(_OPEN, hash_of(plain), user_id))


async def consume_request(tx: Transaction, plain: str, user_id: UUID) -> PendingAuthorization:
    """Consume a request, so that nobody can answer it again."""
    return _build_pending_authorization(await tx.fetchrow(_TAKE, hash_of(plain), user_id))


def _build_pending_authorization(row: Any) -> PendingAuthorization:
    if row is None:
        raise Expired(
            "This request has expired, was already answered, or is for another person.",
            code="client_request_over",
            suggestion="Begin again in the program that you want to connect.",
        )
    found = dict(row)
    role = None if found["role"] is None else Role(found["role"])
    scope = found.pop("registered")
    limit = limit_of(role, None if scope is None else ROLES[scope])
    return PendingAuthorization(**{**found, "role": role, "limit": limit})


_AGREE = """
    INSERT INTO client_consents (workspace_id, member_id, client_id, role, redirect_uri)
    VALUES ($1, $2, $3, $4, $5)
    ON CONFLICT (workspace_id, member_id, client_id) DO UPDATE
        SET role = EXCLUDED.role, redirect_uri = EXCLUDED.redirect_uri, agreed_at = now()
"""
_FIND = """
    SELECT role, redirect_uri, agreed_at FROM client_consents
    WHERE workspace_id = $1 AND member_id = $2 AND client_id = $3
"""
_ADD_CODE = """
    INSERT INTO client_codes (workspace_id, hash, client_id, member_id, role, redirect_uri,
        challenge, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, now() + $8)
"""
# Used codes are kept for a day, to detect reuse.
_TIDY_CODES = """
    DELETE FROM client_codes WHERE hash IN (
        SELECT hash FROM client_codes WHERE expires_at < now() - interval '1 day'
        LIMIT 1000 FOR UPDATE SKIP LOCKED)
"""
_LIST = """
    SELECT o.client_id, c.name, o.redirect_uri, o.role, o.agreed_at,
        max(t.last_used_at) AS last_used_at, count(t.id) AS held
    FROM client_consents o
    JOIN mcp_clients c ON c.id = o.client_id
    LEFT JOIN access_tokens t ON t.workspace_id = o.workspace_id AND t.client_id = o.client_id
        AND t.member_id = o.member_id AND t.revoked_at IS NULL
        AND (t.expires_at > now() OR EXISTS (
            SELECT FROM client_renewals r WHERE r.workspace_id = t.workspace_id
                AND r.token_id = t.id AND r.used_at IS NULL AND r.expires_at > now()))
    WHERE o.workspace_id = $1 AND o.member_id = $2
    GROUP BY o.client_id, c.name, o.redirect_uri, o.role, o.agreed_at
    ORDER BY o.agreed_at DESC
"""
_FORGET = """
    DELETE FROM client_consents WHERE workspace_id = $1 AND member_id = $2 AND client_id = $3
    RETURNING role
"""
_FORGET_CODES = """
    DELETE FROM client_codes WHERE workspace_id = $1 AND member_id = $2 AND client_id = $3
"""
_FORGET_ALL = "DELETE FROM client_consents WHERE workspace_id = $1 AND member_id = $2"
_FORGET_ALL_CODES = "DELETE FROM client_codes WHERE workspace_id = $1 AND member_id = $2"
# Across workspaces: a person is the same in all of them.
_FORGET_CODES_EVERYWHERE = "DELETE FROM client_codes WHERE member_id = $1"
_ANYBODY = "SELECT EXISTS (SELECT FROM client_consents WHERE client_id = $1) AS agreed"

CODE_LIFETIME: Final = timedelta(minutes=2)


@dataclass(frozen=True, slots=True)
class ClientConsent:
    """A member's earlier consent."""

    role: Role
    redirect_uri: str
    at: datetime


def check_role(role: Role | None, limit: Role, own: Role) -> Role:
    """Reject a role above the request's limit or the member's own."""
    if role is None:
        detail = "Say how much the client may do."
        raise Invalid(detail, findings=[Finding("/role", detail, "required")])
    if role in list_role_choices(limit, own):
        return role
    if role.rank > own.rank:
        detail = "A client cannot be given a higher role than you have here."
        raise PermissionDenied(
            detail, code="role_too_small", findings=[Finding("/role", detail, "role")]
        )
    detail = "This is more than the client asked or registered for, or than any client is given."
    raise Invalid(detail, findings=[Finding("/role", detail, "role")])


async def find_client_consent(
    tx: Transaction, workspace_id: UUID, member_id: UUID, client_id: UUID
) -> ClientConsent | None:
    """Load this member's consent for this client."""
    row = await tx.fetchrow(_FIND, workspace_id, member_id, client_id)
    if row is None:
        return None
    return ClientConsent(Role(row["role"]), row["redirect_uri"], row["agreed_at"])


async def is_trusted(tx: Transaction, client_id: UUID) -> bool:
    """Report whether any member here has consented to this client."""
    row = await tx.fetchrow(_ANYBODY, client_id)
    return row is not None and bool(row["agreed"])


def is_consent_sufficient(
    agreed: ClientConsent | None, waiting: PendingAuthorization, own_host: str
) -> bool:
    """Report whether an earlier consent covers this request: the role and the exact redirect URI.

    Always ask for loopback redirects, where any local program can claim to be this client, and for
    redirects that this server answers itself.
    """
    place = describe_redirect(waiting.redirect_uri)
    if agreed is None or place.kind != "web" or place.name.strip("[]") == own_host:
        return False
    return agreed.redirect_uri == waiting.redirect_uri and is_role_sufficient(
        agreed.role, waiting.role
    )


async def grant_authorization(
    tx: Transaction,
    workspace_id: UUID,
    member_id: UUID,
    waiting: PendingAuthorization,
    role: Role,
    own: Role,
) -> str:
    """Store the consent; return the redirect URL with the code."""
    plain = "msc_" + secrets.token_urlsafe(32)
    who = workspace_id, member_id, waiting.client_id
    before = await find_client_consent(tx, *who)
    most = list_role_choices(waiting.limit, own)[-1]
    agreed_role = merge_agreed_role(role, most, None if before is None else before.role)
    # A larger earlier role was given for the redirect URI of that time.
    where = waiting.redirect_uri if before is None or agreed_role is role else before.redirect_uri
    await tx.execute(_AGREE, *who, agreed_role.value, where)
    await narrow_tokens_of_client(tx, *who, agreed_role)
    await tx.execute(_TIDY_CODES)
    await tx.execute(
        _ADD_CODE,
        workspace_id,
        hash_of(plain),
        waiting.client_id,
        member_id,
        role.value,
        waiting.redirect_uri,
        waiting.challenge,
        CODE_LIFETIME,
    )
    return _build_redirect_answer(waiting, {"code": plain})


def deny_authorization(waiting: PendingAuthorization) -> str:
    """Return the redirect URL with the denial."""
    told = {"error": "access_denied", "error_description": "The member said no."}
    return _build_redirect_answer(waiting, told)


async def list_connected(
    tx: Transaction, workspace_id: UUID, member_id: UUID
) -> list[dict[str, Any]]:
    """List the clients that a member has consented to, latest first."""
    return [_format_connected_client(row) for row in await tx.fetch(_LIST, workspace_id, member_id)]


async def disconnect(tx: Transaction, workspace_id: UUID, member_id: UUID, client_id: UUID) -> None:
    """Delete a consent and revoke everything the client holds for this member."""
    who = workspace_id, member_id, client_id
    # Codes first: the exchange locks its code and then reads the consent.
    await tx.execute(_FORGET_CODES, *who)
    if await tx.fetchrow(_FORGET, *who) is None:
        raise NotFound("There is no such client connected.", code="no_client")
    await revoke_tokens_of_client(tx, *who)


async def delete_codes_everywhere(tx: Transaction, member_id: UUID) -> None:
    """Delete every code of a person, across workspaces."""
    await tx.execute(_FORGET_CODES_EVERYWHERE, member_id)


async def delete_client_consents(tx: Transaction, workspace_id: UUID, member_id: UUID) -> None:
    """Delete a member's consents, so that a returning member is asked again."""
    await tx.execute(_FORGET_ALL_CODES, workspace_id, member_id)
    await tx.execute(_FORGET_ALL, workspace_id, member_id)


def _format_connected_client(row: Any) -> dict[str, Any]:
    place = describe_redirect(row["redirect_uri"])
    return {
        "id": row["client_id"],
        "name": row["name"],
        "redirect": {"kind": place.kind, "name": place.name},
        "role": row["role"],
        "agreed_at": row["agreed_at"],
        "last_used_at": row["last_used_at"],
        "active": row["held"] > 0,
    }


def _build_redirect_answer(waiting: PendingAuthorization, answer: Mapping[str, str]) -> str:
    more = {"state": waiting.state, "iss": waiting.issuer}
    return add_query(waiting.redirect_uri, {**answer, **more})
