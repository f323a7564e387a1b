"""User accounts: a unique email, a name, perhaps a password."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.workspace.departed_members import stop_member_resources
from mainspring.workspace.people.workspaces import add_workspace

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

# pre_existing: set before addresses were verified; mail still goes there.
EmailState = Literal["unverified", "pre_existing", "verified"]

_COLUMNS = """
    id, email, name, administrator, default_workspace_id, created_at, disabled_at,
    password_hash IS NOT NULL AS has_password, email_state
"""
_FIRST = """
    INSERT INTO users (id, email, name, administrator, default_workspace_id)
    VALUES ($1, $3, 'Owner', true, $2) ON CONFLICT DO NOTHING
"""
_JOIN_FIRST = """
    INSERT INTO members (workspace_id, user_id, role)
    SELECT $2, $1, 'owner' WHERE NOT EXISTS (SELECT FROM members WHERE workspace_id = $2)
    ON CONFLICT DO NOTHING
"""
_ADD = """
    INSERT INTO users (id, email, name, administrator) VALUES ($1, $2, $3, $4)
    ON CONFLICT ((lower(email))) DO NOTHING RETURNING id
"""
_BY_ID = f"SELECT {_COLUMNS} FROM users WHERE id = $1"
_BY_EMAIL = f"SELECT {_COLUMNS} FROM users WHERE lower(email) = lower($1)"
_HASH_OF = """
    SELECT id, password_hash FROM users WHERE lower(email) = lower($1) AND disabled_at IS NULL
"""
_OWN_HASH = "SELECT password_hash FROM users WHERE id = $1 FOR NO KEY UPDATE"
_SET_HASH = "UPDATE users SET password_hash = $2 WHERE id = $1"
# An invited email is reserved before its person has joined.
_TAKEN = """
    SELECT 1 FROM users WHERE lower(email) = lower($2) AND id <> $1
    UNION ALL
    SELECT 1 FROM invitations
    WHERE lower(email) = lower($2) AND invited_by <> $1 AND expires_at > now()
        AND NOT EXISTS (SELECT FROM users WHERE id = $1 AND lower(email) = lower($2))
"""
_DESCRIBE = """
    UPDATE users SET name = coalesce($2, name), email = coalesce($3, email),
        email_state = CASE WHEN lower($3) <> lower(email) THEN 'unverified' ELSE email_state END,
        default_workspace_id = coalesce($4, default_workspace_id)
    WHERE id = $1
"""
_SET_DEFAULT = "UPDATE users SET default_workspace_id = $2 WHERE id = $1"
_DISABLE = "UPDATE users SET disabled_at = coalesce(disabled_at, now()) WHERE id = $1"
_ENABLE = "UPDATE users SET disabled_at = NULL WHERE id = $1"
_LIST = f"SELECT {_COLUMNS} FROM users WHERE id > $1 ORDER BY id LIMIT $2"
# Changes of administrators are serialized.
_ADMINISTRATORS = """
    SELECT id FROM users WHERE administrator AND disabled_at IS NULL ORDER BY id FOR UPDATE
"""
# Of two concurrent creations with the same email, one is rejected.
_HOLD_EMAILS = "SELECT pg_advisory_xact_lock(hashtextextended('mainspring email', 0))"

# The email of the first person until they set one.
PLACEHOLDER: Final = "owner@localhost"
LONGEST_EMAIL: Final = 254
LONGEST_NAME: Final = 200
_EMAIL: Final = re.compile(r"[^\s@<>\"(),:;\\\[\]]{1,64}@[^\s@<>\"(),:;\\/?#]{1,189}")


@dataclass(frozen=True, slots=True)
class User:
    """A person, without credentials."""

    id: UUID
    email: str
    name: str
    administrator: bool
    default_workspace_id: UUID | None
    created_at: datetime
    disabled_at: datetime | None
    has_password: bool
    email_state: EmailState = "unverified"


async def ensure_first_person(tx: Transaction, user_id: UUID, workspace_id: UUID) -> None:
    """Create the first person, who owns the first workspace and is administrator."""
    await tx.execute(_FIRST, user_id, workspace_id, PLACEHOLDER)
    await tx.execute(_JOIN_FIRST, user_id, workspace_id)


async def create_user(
    tx: Transaction, email: str, name: str = "", *, administrator: bool = False
) -> User:
    """Create a person with a default workspace of their own."""
    email, name = clean_email(email), clean_name(name)
    made = await tx.fetchrow(_ADD, generate_id(), email, name, administrator)
    if made is None:
        raise email_taken_error()
    workspace_id = await add_workspace(tx, made["id"], _build_home_name(name, email), Role.OWNER)
    await tx.execute(_SET_DEFAULT, made["id"], workspace_id)
    return await read_user(tx, made["id"])


async def read_user(tx: Transaction, user_id: UUID) -> User:
    """Load a person by id."""
    row = await tx.fetchrow(_BY_ID, user_id)
    if row is None:
        raise NotFound("There is no such person.", code="no_user")
    return _build_user(row)


async def find_user(tx: Transaction, email: str) -> User | None:
    """Find a person by email, case-insensitively."""
    row = await tx.fetchrow(_BY_EMAIL, email)
    return None if row is None else _build_user(row)


async def list_users(tx: Transaction, after: UUID | None, most: int) -> list[User]:
    """List everybody in the installation, in creation order."""
    return [_build_user(row) for row in await tx.fetch(_LIST, after or UUID(int=0), most)]


async def load_password_hash(tx: Transaction, email: str) -> tuple[UUID | None, str | None]:
    """Load the user and password hash of an email, unless disabled."""
    row = await tx.fetchrow(_HASH_OF, normalize_email(email))
    return (None, None) if row is None else (row["id"], row["password_hash"])


async def load_own_password_hash(tx: Transaction, user_id: UUID) -> str | None:
    """Load and lock a person's password hash."""
    row = await tx.fetchrow(_OWN_HASH, user_id)
    if row is None:
        raise NotFound("There is no such person.", code="no_user")
    found: str | None = row["password_hash"]
    return found


async def set_password(tx: Transaction, user_id: UUID, hashed: str | None) -> None:
    """Store the hash of a new password, or remove the old one."""
    await tx.execute(_SET_HASH, user_id, hashed)


async def describe_user(
    tx: Transaction,
    user_id: UUID,
    *,
    name: str | None = None,
    email: str | None = None,
    default_workspace_id: UUID | None = None,
) -> User:
    """Update the given fields. The caller has checked membership of the workspace."""
    if email is not None:
        email = clean_email(email)
        await check_email_free(tx, user_id, email)
    named = None if name is None else clean_name(name)
    await tx.execute(_DESCRIBE, user_id, named, email, default_workspace_id)
    return await read_user(tx, user_id)


async def check_email_free(tx: Transaction, user_id: UUID, email: str) -> None:
    """Reject an email in use; it is reserved until the transaction ends."""
    await tx.execute(_HOLD_EMAILS)
    if await tx.fetchrow(_TAKEN, user_id, email) is not None:
        raise email_taken_error()


async def disable_user(tx: Transaction, user_id: UUID) -> User:
    """Disable a person: sign-ins, sessions and tokens stop working at once.

    Their automations and webhook tokens stop until they, or others, take them over.
    """
    looking_after = [row["id"] for row in await tx.fetch(_ADMINISTRATORS)]
    if looking_after == [user_id]:
        raise Conflict(
            "This is the only administrator of this installation.",
            code="last_administrator",
            suggestion="Make another administrator first.",
        )
    await stop_member_resources(tx, user_id, why="was disabled")
    await tx.execute(_DISABLE, user_id)
    return await read_user(tx, user_id)


async def enable_user(tx: Transaction, user_id: UUID) -> User:
    """Enable a disabled person."""
    await tx.execute(_ENABLE, user_id)
    return await read_user(tx, user_id)


def normalize_email(email: str) -> str:
    """Normalize an email, so that equal-looking ones match across keyboards."""
    return unicodedata.normalize("NFC", email.strip())


def clean_email(text: str, pointer: str = "/email") -> str:
    """Validate and normalize an email for storage."""
    email = normalize_email(text)
    if len(email) > LONGEST_EMAIL or not email.isprintable() or not _EMAIL.fullmatch(email):
        detail = "This is not an email address."
        raise Invalid(detail, findings=[Finding(pointer, detail, "email")])
    return email


def clean_name(text: str, pointer: str = "/name") -> str:
    """Validate a person's name: one line of visible text."""
    check_plain_name(text, pointer)
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if len(name) > LONGEST_NAME or not name.isprintable():
        detail = f"A name is one line of at most {LONGEST_NAME} visible characters."
        way = "Write it without control characters and marks of the text direction."
        raise Invalid(detail, findings=[Finding(pointer, detail, "name", way)], suggestion=way)
    return name


def email_taken_error() -> Conflict:
    return Conflict(
        "Another person already has this email, or was invited with it.",
        code="email_taken",
        suggestion="If you were invited, use the link of the invitation.",
    )


def _build_home_name(name: str, email: str) -> str:
    return f"{name or email.partition('@')[0]}'s workspace"


def _build_user(row: Any) -> User:
    return User(**dict(row))
