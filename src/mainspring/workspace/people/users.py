"""Who the people are: an email that is theirs alone, a name, perhaps a password."""

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
from mainspring.workspace.departed_members import stop_all_of
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
# An email that somebody was asked in by is theirs before they have come.
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
# Whoever changes who looks after the installation does so one after the other.
_ADMINISTRATORS = """
    SELECT id FROM users WHERE administrator AND disabled_at IS NULL ORDER BY id FOR UPDATE
"""
# Two at once, each for a new email of the same spelling, become one and a refusal.
_HOLD_EMAILS = "SELECT pg_advisory_xact_lock(hashtextextended('mainspring email', 0))"

# What the first person is called until they say what their address is.
PLACEHOLDER: Final = "owner@localhost"
LONGEST_EMAIL: Final = 254
LONGEST_NAME: Final = 200
_EMAIL: Final = re.compile(r"[^\s@<>\"(),:;\\\[\]]{1,64}@[^\s@<>\"(),:;\\/?#]{1,189}")


@dataclass(frozen=True, slots=True)
class User:
    """A person, without anything that lets anybody in."""

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
    """Whoever starts an installation owns its first workspace and looks after the rest."""
    await tx.execute(_FIRST, user_id, workspace_id, PLACEHOLDER)
    await tx.execute(_JOIN_FIRST, user_id, workspace_id)


async def create_user(
    tx: Transaction, email: str, name: str = "", *, administrator: bool = False
) -> User:
    """A new person, with a workspace of their own that is meant when none is named."""
    email, name = clean_email(email), clean_name(name)
    made = await tx.fetchrow(_ADD, generate_id(), email, name, administrator)
    if made is None:
        raise email_taken_error()
    workspace_id = await add_workspace(tx, made["id"], _build_home_name(name, email), Role.OWNER)
    await tx.execute(_SET_DEFAULT, made["id"], workspace_id)
    return await read_user(tx, made["id"])


async def read_user(tx: Transaction, user_id: UUID) -> User:
    """The person with this id."""
    row = await tx.fetchrow(_BY_ID, user_id)
    if row is None:
        raise NotFound("There is no such person.", code="no_user")
    return _build_user(row)


async def find_user(tx: Transaction, email: str) -> User | None:
    """The person with this email, however it is written in capitals."""
    row = await tx.fetchrow(_BY_EMAIL, email)
    return None if row is None else _build_user(row)


async def list_users(tx: Transaction, after: UUID | None, most: int) -> list[User]:
    """Everybody of the installation, in the order of their coming."""
    return [_build_user(row) for row in await tx.fetch(_LIST, after or UUID(int=0), most)]


async def load_password_hash(tx: Transaction, email: str) -> tuple[UUID | None, str | None]:
    """Whom an email belongs to and the hash of their password, unless they are shut out."""
    row = await tx.fetchrow(_HASH_OF, normalize_email(email))
    return (None, None) if row is None else (row["id"], row["password_hash"])


async def load_own_password_hash(tx: Transaction, user_id: UUID) -> str | None:
    """The hash of somebody's password, held until the transaction ends."""
    row = await tx.fetchrow(_OWN_HASH, user_id)
    if row is None:
        raise NotFound("There is no such person.", code="no_user")
    found: str | None = row["password_hash"]
    return found


async def set_password(tx: Transaction, user_id: UUID, hashed: str | None) -> None:
    """Keeps the hash of a new password, or forgets the old one."""
    await tx.execute(_SET_HASH, user_id, hashed)


async def describe_user(
    tx: Transaction,
    user_id: UUID,
    *,
    name: str | None = None,
    email: str | None = None,
    default_workspace_id: UUID | None = None,
) -> User:
    """Changes what is given. The caller has made sure that the workspace is one of theirs."""
    if email is not None:
        email = clean_email(email)
        await check_email_free(tx, user_id, email)
    named = None if name is None else clean_name(name)
    await tx.execute(_DESCRIBE, user_id, named, email, default_workspace_id)
    return await read_user(tx, user_id)


async def check_email_free(tx: Transaction, user_id: UUID, email: str) -> None:
    """Refuses an email of somebody else; it stays free until the transaction ends."""
    await tx.execute(_HOLD_EMAILS)
    if await tx.fetchrow(_TAKEN, user_id, email) is not None:
        raise email_taken_error()


async def disable_user(tx: Transaction, user_id: UUID) -> User:
    """Shuts somebody out: no sign-in, no session, no token works from now on.

    Their automations and webhook tokens stop until they, or others, take them over.
    """
    looking_after = [row["id"] for row in await tx.fetch(_ADMINISTRATORS)]
    if looking_after == [user_id]:
        raise Conflict(
            "Nobody else looks after this installation.",
            code="last_administrator",
            suggestion="Make another administrator first.",
        )
    await stop_all_of(tx, user_id, why="was disabled")
    await tx.execute(_DISABLE, user_id)
    return await read_user(tx, user_id)


async def enable_user(tx: Transaction, user_id: UUID) -> User:
    """Lets somebody in again."""
    await tx.execute(_ENABLE, user_id)
    return await read_user(tx, user_id)


def normalize_email(email: str) -> str:
    """One spelling for what looks the same, whatever keyboard it was typed on."""
    return unicodedata.normalize("NFC", email.strip())


def clean_email(text: str, pointer: str = "/email") -> str:
    """An email as it is kept; what cannot be one is refused."""
    email = normalize_email(text)
    if len(email) > LONGEST_EMAIL or not email.isprintable() or not _EMAIL.fullmatch(email):
        detail = "This is not an email address."
        raise Invalid(detail, findings=[Finding(pointer, detail, "email")])
    return email


def clean_name(text: str, pointer: str = "/name") -> str:
    """A person's name as it is kept: one line of text that shows itself."""
    check_plain_name(text, pointer)
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if len(name) > LONGEST_NAME or not name.isprintable():
        detail = f"A name is one line of at most {LONGEST_NAME} visible characters."
        way = "Write it without control characters and marks of the text direction."
        raise Invalid(detail, findings=[Finding(pointer, detail, "name", way)], suggestion=way)
    return name


def email_taken_error() -> Conflict:
    return Conflict(
        "Somebody else has this email, or was asked in by it.",
        code="email_taken",
        suggestion="If it was you who was asked, use the link of the invitation.",
    )


def _build_home_name(name: str, email: str) -> str:
    return f"{name or email.partition('@')[0]}'s workspace"


def _build_user(row: Any) -> User:
    return User(**dict(row))
