"""Signing in at a terminal, by way of the browser (in the manner of RFC 8628).

The CLI asks for a sign-in and gets a device code, with which it polls, and a short code, which it
prints. A person who is signed in types the short code on the page and confirms it. The next poll
is answered with a session of the kind ``terminal``. Nothing is pasted into the terminal, and the
credential is never shown.

The session alone does not make a person: whatever program runs under the same account can read
the file that holds it. A call counts as a person's only if it carries the digest of itself, which
the CLI adds after its question was answered on a terminal.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Expired, LimitExceeded, PermissionDenied
from mainspring.store.audit import AuditRecord, append_audit
from mainspring.store.rate_limit import LeakyBucket, fill_bucket
from mainspring.workspace.people.sessions import hash_session_token, start_session
from mainspring.workspace.people.sign_in import SignInOrigin, build_address_key

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

WAITING: Final = timedelta(minutes=10)
# How long the CLI waits between two polls.
INTERVAL_SECONDS: Final = 2.0
# From one address: twenty requests at once, and then one in half a minute.
_REQUESTS: Final = LeakyBucket(20, 1 / 30)
# One person types ten codes at once, and then one in ten seconds.
_CODES: Final = LeakyBucket(10, 1 / 10)
# No vowels, so that no code spells a word, and nothing that looks like something else.
_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_LETTERS: Final = 8
_LONGEST_LABEL: Final = 120

_ADD = """
    INSERT INTO terminal_sign_ins (hash, code_hash, label, address, expires_at)
    VALUES ($1, $2, $3, $4, now() + $5) RETURNING expires_at
"""
_LOOK = """
    SELECT label, address, created_at, expires_at FROM terminal_sign_ins
    WHERE code_hash = $1 AND expires_at > now() AND user_id IS NULL
"""
_ANSWER = """
    UPDATE terminal_sign_ins SET user_id = $2, begins_in = $3, confirmed = $4
    WHERE code_hash = $1 AND expires_at > now() AND user_id IS NULL RETURNING label
"""
_POLL = """
    SELECT t.user_id, t.begins_in, t.confirmed, t.label, t.address
    FROM terminal_sign_ins t WHERE t.hash = $1 AND t.expires_at > now() FOR UPDATE
"""
_TAKE = "DELETE FROM terminal_sign_ins WHERE hash = $1"
_SWEEP = "DELETE FROM terminal_sign_ins WHERE expires_at < now()"


@dataclass(frozen=True, slots=True)
class DeviceAuthorization:
    """A request to sign in: what the CLI polls with, and what the person types."""

    device_code: str
    code: str
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class TerminalSession:
    """The session of a terminal; its text is handed over once."""

    user_id: UUID
    workspace_id: UUID
    session_id: UUID
    plain: str


async def begin_device_login(tx: Transaction, visit: SignInOrigin) -> DeviceAuthorization:
    """A new request, which a person has ten minutes to confirm."""
    wait = await fill_bucket(tx, f"terminal/{build_address_key(visit.address)}", _REQUESTS)
    if wait is not None:
        raise _too_many_attempts_error(wait)
    await tx.execute(_SWEEP)
    device = secrets.token_urlsafe(32)
    code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LETTERS))
    label = "".join(sign for sign in visit.label if sign.isprintable())[:_LONGEST_LABEL]
    row = await tx.fetchrow(
        _ADD, hash_session_token(device), _hash_code(code), label, visit.address, WAITING
    )
    return DeviceAuthorization(device, f"{code[:4]}-{code[4:]}", row["expires_at"])


async def look(tx: Transaction, code: str) -> dict[str, Any]:
    """What a person is shown before they confirm: which terminal asked, from where and when."""
    row = await tx.fetchrow(_LOOK, _hash_code(code))
    if row is None:
        raise _code_expired_error()
    return dict(row)


async def answer_login(
    tx: Transaction, user_id: UUID, workspace_id: UUID, code: str, *, confirm: bool
) -> None:
    """Keeps what a signed-in person says; the session begins in the workspace they look at."""
    if await tx.fetchrow(_ANSWER, _hash_code(code), user_id, workspace_id, confirm) is None:
        raise _code_expired_error()


async def collect(tx: Transaction, device_code: str) -> TerminalSession | None:
    """The session, once; None: nobody has answered yet."""
    hashed = hash_session_token(device_code)
    row = await tx.fetchrow(_POLL, hashed)
    if row is None:
        raise _code_expired_error()
    if row["user_id"] is None:
        return None
    await tx.execute(_TAKE, hashed)
    if not row["confirmed"]:
        raise PermissionDenied("The sign-in was declined on the page.", code="sign_in_declined")
    session_id, plain = await start_session(
        tx, row["user_id"], row["begins_in"], row["label"], kind="terminal"
    )
    detail = {"by": "terminal", "address": row["address"]}
    entry = AuditRecord(
        row["begins_in"], "member", row["user_id"], "sign_in", str(session_id), detail
    )
    await append_audit(tx, [entry])
    return TerminalSession(row["user_id"], row["begins_in"], session_id, plain)


async def count_code(database: Transaction, user_id: UUID) -> None:
    """Counts a code that somebody types; kept whether or not it is one, so in no transaction."""
    wait = await fill_bucket(database, f"terminal/person/{user_id}", _CODES)
    if wait is not None:
        raise _too_many_attempts_error(wait)


def _hash_code(code: str) -> bytes:
    """However it was typed: in small letters, without the dash."""
    typed = "".join(sign for sign in code.upper() if sign.isalnum())
    return hashlib.sha256(b"mainspring terminal code\0" + typed.encode()).digest()


def _code_expired_error() -> Expired:
    return Expired(
        "This code is not known, or its time is over.",
        code="code_over",
        suggestion="A code works once and for ten minutes. Run `mainspring login` again.",
    )


def _too_many_attempts_error(wait: float) -> LimitExceeded:
    return LimitExceeded(
        "There were too many tries to sign in at a terminal.",
        code="too_many_tries",
        suggestion="Wait a few seconds.",
        retry_after=round(wait, 1),
    )
