"""Sessions of browsers and terminals.

A session token has 32 random bytes; only its hash is stored. A session ends on sign-out, after
inactivity, at its expiry, or when its person is disabled or leaves the workspace: every request
checks.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.contracts.terminal_session import SESSION_FORM
from mainspring.workspace.push_subscriptions import end_pushes_of_others, end_pushes_of_session

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_ADD = """
    INSERT INTO sessions (hash, id, user_id, workspace_id, label, expires_at, kind)
    VALUES ($1, $2, $3, $4, $5, now() + $6, $7)
"""
_ALIVE = "s.expires_at > now() AND s.seen_at > now() - $2::interval"
_FIND = f"""
    SELECT s.id, s.user_id, s.workspace_id, m.role, u.administrator,
        s.seen_at < now() - interval '1 minute' AS stale
    FROM sessions s
    JOIN users u ON u.id = s.user_id AND u.disabled_at IS NULL
    JOIN members m ON m.workspace_id = s.workspace_id AND m.user_id = s.user_id
    WHERE s.hash = $1 AND s.kind = $3 AND {_ALIVE}
"""
_LIST = f"""
    SELECT s.id, s.workspace_id, s.kind, s.label, s.created_at, s.seen_at, s.expires_at
    FROM sessions s WHERE s.user_id = $1 AND {_ALIVE} ORDER BY s.id
"""
_TOUCH = "UPDATE sessions SET seen_at = now() WHERE id = $1"
_MOVE = "UPDATE sessions SET workspace_id = $2 WHERE id = $1"
_END = "DELETE FROM sessions WHERE user_id = $1 AND id = $2 RETURNING id"
_END_ALL = "DELETE FROM sessions WHERE user_id = $1 AND id <> $2"
_ANY = "SELECT 1 FROM sessions WHERE user_id = $1 AND kind = 'browser' LIMIT 1"
_SWEEP = "DELETE FROM sessions WHERE expires_at < now() OR seen_at < now() - $1::interval"

IDLE: Final = timedelta(days=3)
LIFETIME: Final = timedelta(days=30)
# Shorter: a file on disk is read more easily than a browser's cookie.
TERMINAL_LIFETIME: Final = timedelta(days=7)
SessionKind = Literal["browser", "terminal"]
# Terminal tokens have their own format, so that neither kind can be used as the other.
_FORMS: Final[Mapping[SessionKind, re.Pattern[str]]] = {
    "browser": re.compile(r"[A-Za-z0-9_-]{43}"),
    "terminal": SESSION_FORM,
}
_LONGEST_LABEL: Final = 120
_NOBODY: Final = UUID(int=0)


@dataclass(frozen=True, slots=True)
class LoginSession:
    """A valid session, and the person's role in its current workspace."""

    id: UUID
    user_id: UUID
    workspace_id: UUID
    role: Role
    administrator: bool
    # Whether its last use should be recorded again.
    stale: bool


async def start_session(
    tx: Transaction, user_id: UUID, workspace_id: UUID, label: str, *, kind: SessionKind = "browser"
) -> tuple[UUID, str]:
    """Start a new session; return it with its token. Sessions are never reused."""
    plain, made = secrets.token_urlsafe(32), generate_id()
    lasts = LIFETIME
    if kind == "terminal":
        plain, lasts = f"mst_{plain}", TERMINAL_LIFETIME
    shown = "".join(sign for sign in label if sign.isprintable())[:_LONGEST_LABEL]
    await tx.execute(
        _ADD, hash_session_token(plain), made, user_id, workspace_id, shown, lasts, kind
    )
    return made, plain


async def find_session(
    tx: Transaction, plain: str, *, idle: timedelta = IDLE, kind: SessionKind = "browser"
) -> LoginSession | None:
    """Find the valid session of a token."""
    if _FORMS[kind].fullmatch(plain) is None:
        return None
    row = await tx.fetchrow(_FIND, hash_session_token(plain), idle, kind)
    return None if row is None else LoginSession(**{**dict(row), "role": Role(row["role"])})


async def touch_session(tx: Transaction, session_id: UUID) -> None:
    """Record activity."""
    await tx.execute(_TOUCH, session_id)


async def move_session(tx: Transaction, session_id: UUID, workspace_id: UUID) -> None:
    """Switch the current workspace. The caller has checked membership."""
    await tx.execute(_MOVE, session_id, workspace_id)


async def list_sessions(tx: Transaction, user_id: UUID) -> list[dict[str, Any]]:
    """List a person's sessions."""
    return [dict(row) for row in await tx.fetch(_LIST, user_id, IDLE)]


async def end_session(tx: Transaction, user_id: UUID, session_id: UUID) -> None:
    """End one of a person's sessions; others' are reported as not found.

    Its browser's push subscription ends too.
    """
    if await tx.fetchrow(_END, user_id, session_id) is None:
        raise NotFound("There is no such session.", code="no_session")
    await end_pushes_of_session(tx, user_id, session_id)


async def end_sessions(tx: Transaction, user_id: UUID, *, but: UUID | None = None) -> None:
    """End a person's sessions, optionally except one."""
    await tx.execute(_END_ALL, user_id, but or _NOBODY)
    await end_pushes_of_others(tx, user_id, but or _NOBODY)


async def has_session(tx: Transaction, user_id: UUID) -> bool:
    """Whether somebody has signed in at a browser and may still be."""
    return await tx.fetchrow(_ANY, user_id) is not None


async def delete_expired_sessions(tx: Transaction) -> None:
    """Delete expired sessions."""
    await tx.execute(_SWEEP, IDLE)


def build_csrf_token(plain: str) -> str:
    """Derive the CSRF token that the page must send with changes.

    It is derived from the HttpOnly cookie, so only our own response can have revealed it.
    """
    return hashlib.sha256(b"mainspring csrf\0" + plain.encode()).hexdigest()


def is_csrf_token(plain: str, shown: str) -> bool:
    return hmac.compare_digest(build_csrf_token(plain).encode(), shown.encode("utf-8", "replace"))


def hash_session_token(plain: str) -> bytes:
    """Hash a session token for storage."""
    return hashlib.sha256(plain.encode()).digest()
