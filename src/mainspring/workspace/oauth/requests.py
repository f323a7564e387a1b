"""Requests of clients that wait for a person: checked before, and answered once.

What stands in the address of the consent page is random and works for ten minutes. The first
person who opens it is the one who is asked; for everybody else there is no such request.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Expired
from mainspring.contracts.roles import Role
from mainspring.workspace.oauth.clients import hash_of
from mainspring.workspace.oauth.refusals import OAuthError
from mainspring.workspace.oauth.scopes import ROLES, limit_of, parse_requested_role

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# Whoever tidies leaves alone what somebody else is about to remove.
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
    """What a client asks for, found good."""

    role: Role | None
    challenge: str
    state: str | None


@dataclass(frozen=True, slots=True)
class PendingAuthorization:
    """A request that a person has opened."""

    client_id: UUID
    client_name: str
    registered_at: datetime
    redirect_uri: str
    state: str | None
    role: Role | None
    challenge: str
    issuer: str
    expires_at: datetime
    # The most that a person may give.
    limit: Role = Role.EDITOR


def read_asked(
    given: Mapping[str, str | None], resources: frozenset[str]
) -> AuthorizationParameters:
    """What is asked for, or the error that the client is told; who asks is known by now."""
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
    """Refuses a token for another server (RFC 8707); left out, it is for this one."""
    if given is not None and given not in resources:
        raise OAuthError("invalid_target", "Tokens for this resource are not given here.")


async def keep_request(
    tx: Transaction, client_id: UUID, redirect_uri: str, asked: AuthorizationParameters, issuer: str
) -> str:
    """Keeps a request until a person answers it; answers what stands in the address."""
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
    """The request, for the first person who opens it."""
    return _build_pending_authorization(await tx.fetchrow(_OPEN, hash_of(plain), user_id))


async def take_request(tx: Transaction, plain: str, user_id: UUID) -> PendingAuthorization:
    """The request, which nobody can answer again."""
    return _build_pending_authorization(await tx.fetchrow(_TAKE, hash_of(plain), user_id))


def _build_pending_authorization(row: Any) -> PendingAuthorization:
    if row is None:
        raise Expired(
            "This request is over, was answered, or is somebody else's.",
            code="client_request_over",
            suggestion="Begin again in the program that wants to connect.",
        )
    found = dict(row)
    role = None if found["role"] is None else Role(found["role"])
    scope = found.pop("registered")
    limit = limit_of(role, None if scope is None else ROLES[scope])
    return PendingAuthorization(**{**found, "role": role, "limit": limit})
