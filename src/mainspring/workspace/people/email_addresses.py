"""Verifying a member's email address with a mailed code.

Mail to "myself" goes to a verified address. While a new address is pending, the old one stays in
use, and it is notified once it is replaced. Without a mail server nothing can be verified: the
address is then only a sign-in name.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.context import Mail
from mainspring.contracts.errors import Conflict, Expired, Finding, LimitExceeded, Problem
from mainspring.store.rate_limit import LeakyBucket, clear_bucket, fill_bucket
from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.users import (
    PLACEHOLDER,
    User,
    check_email_free,
    clean_email,
    describe_user,
    read_user,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import Mailer, Transaction
    from mainspring.store.database import Database


# Mail about an automation goes to its author only.

_REACHED = """
    FROM users u JOIN members m ON m.user_id = u.id
    WHERE m.workspace_id = $1 AND u.disabled_at IS NULL
"""
_OF_MEMBER: Final = f"SELECT u.id, u.email, u.email_state {_REACHED} AND u.id = $2"
_OF_MAKER: Final = f"""
    SELECT u.id, u.email, u.email_state {_REACHED} AND u.id = (
        SELECT a.created_by FROM automations a WHERE a.workspace_id = $1 AND a.id = $2)
"""


@dataclass(frozen=True, slots=True)
class MailAddressState:
    """A person's mail address, and whether it is verified."""

    email: str
    verified: bool


async def find_member_address(
    tx: Transaction, workspace_id: UUID, user_id: UUID, first: str | None
) -> str | None:
    """Return a member's address; ``first`` is the configured one for the first member."""
    found = await load_member_mail_address(tx, workspace_id, user_id, first)
    return None if found is None else found.email


async def load_member_mail_address(
    tx: Transaction, workspace_id: UUID, user_id: UUID, first: str | None
) -> MailAddressState | None:
    """Return a member's address, and whether it is verified."""
    return get_mail_address(await tx.fetchrow(_OF_MEMBER, workspace_id, user_id), first)


async def find_author_address(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, first: str | None
) -> str | None:
    """Return the address of an automation's author, while they are a member."""
    found = await load_author_mail_address(tx, workspace_id, automation_id, first)
    return None if found is None else found.email


async def load_author_mail_address(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, first: str | None
) -> MailAddressState | None:
    """Return the author's address, and whether it is verified."""
    return get_mail_address(await tx.fetchrow(_OF_MAKER, workspace_id, automation_id), first)


def get_mail_address(row: Any, first: str | None) -> MailAddressState | None:
    """Return the mail address of a user row: ``id``, ``email`` and ``email_state``."""
    if row is None or row["email"] is None:
        return None
    email, state = str(row["email"]), row["email_state"]
    if state != "unverified" and email.lower() != PLACEHOLDER:
        return MailAddressState(email, state == "verified")
    # The operator configured this one, for the first member only.
    return (
        MailAddressState(first, True) if first is not None and row["id"] == FIRST_MEMBER else None
    )


log = logging.getLogger(__name__)

LIFETIME: Final = timedelta(hours=1)
# Five codes in a burst, then one per ten minutes; ten attempts, then one per minute.
_CODES: Final = LeakyBucket(5, 1 / 600)
_TRIES: Final = LeakyBucket(10, 1 / 60)
# No easily confused characters; ten of them have 50 bits.
_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_GROUP: Final = 5

_PENDING = "SELECT email FROM email_verifications WHERE user_id = $1 AND expires_at > now()"
_ADD = """
    INSERT INTO email_verifications (user_id, email, hash, expires_at)
    VALUES ($1, $2, $3, now() + $4)
    ON CONFLICT (user_id) DO UPDATE SET email = excluded.email, hash = excluded.hash,
        created_at = now(), expires_at = excluded.expires_at
"""
_DROP = "DELETE FROM email_verifications WHERE user_id = $1"
_USE = """
    DELETE FROM email_verifications WHERE user_id = $1 AND hash = $2 AND expires_at > now()
    RETURNING email
"""
_VERIFIED = """
    UPDATE users SET email = $2, email_state = 'verified', email_verified_at = now() WHERE id = $1
"""


@dataclass(frozen=True, slots=True)
class VerificationCode:
    """A code and the address it is mailed to; the code itself is not stored."""

    email: str
    text: str


@dataclass(frozen=True, slots=True)
class VerifiedUser:
    """A verified person, and the address that was replaced, if any."""

    user: User
    replaced: str | None


async def request_change(
    tx: Transaction, user_id: UUID, email: str, *, has_mail: bool
) -> VerificationCode | None:
    """Set a new address, or leave it pending while the old one gets mail; None: no code needed."""
    email, user = clean_email(email), await read_user(tx, user_id)
    await check_email_free(tx, user_id, email)
    same = email.lower() == user.email.lower()
    if same and can_receive_mail(user):
        await tx.execute(_DROP, user_id)
        await describe_user(tx, user_id, email=email)
        return None
    if not has_mail or not can_receive_mail(user):
        await describe_user(tx, user_id, email=email)
    if not has_mail or email.lower() == PLACEHOLDER:
        await tx.execute(_DROP, user_id)
        return None
    return await _create_code(tx, user_id, email)


async def request_code(tx: Transaction, user_id: UUID) -> VerificationCode:
    """Issue a new code for the pending address; earlier codes expire."""
    user, waiting = await read_user(tx, user_id), await load_pending_email(tx, user_id)
    email = waiting or user.email
    if waiting is None and (user.email_state == "verified" or email.lower() == PLACEHOLDER):
        raise Conflict(
            "There is no address to verify.",
            code="nothing_to_verify",
            suggestion="Set a new email first.",
        )
    return await _create_code(tx, user_id, email)


async def load_pending_email(tx: Transaction, user_id: UUID) -> str | None:
    """Return the address that waits for its code."""
    row = await tx.fetchrow(_PENDING, user_id)
    return None if row is None else str(row["email"])


async def count_code(database: Database, user_id: UUID) -> None:
    """Rate-limit issuing codes; call before making one."""
    await _count(database, f"email-code/{user_id}", _CODES, "Too many codes were requested.")


async def count_try(database: Database, user_id: UUID) -> None:
    """Rate-limit attempts; call before checking a code."""
    await _count(database, _build_attempts_key(user_id), _TRIES, "Too many codes were tried.")


async def verify(tx: Transaction, user_id: UUID, text: str) -> VerifiedUser:
    """Accept a mailed code: the address is verified and in use from now on.

    The caller has counted the attempt.
    """
    before = await read_user(tx, user_id)
    row = await tx.fetchrow(_USE, user_id, _hash(user_id, text))
    if row is None:
        detail = "This code is wrong, was used, or has expired."
        raise Expired(
            detail,
            code="wrong_code",
            findings=[Finding("/code", detail, "wrong_code")],
            suggestion="Use the newest mail, or ask for a new code.",
        )
    email = str(row["email"])
    await check_email_free(tx, user_id, email)
    await tx.execute(_VERIFIED, user_id, email)
    await clear_bucket(tx, _build_attempts_key(user_id))
    replaced = can_receive_mail(before) and before.email.lower() != email.lower()
    return VerifiedUser(await read_user(tx, user_id), before.email if replaced else None)


def can_receive_mail(user: User) -> bool:
    """Report whether mail can be sent to a person's address."""
    return user.email_state != "unverified" and user.email.lower() != PLACEHOLDER


async def mail_code(mailer: Mailer, address: str, code: VerificationCode) -> None:
    """Mail a code with the link to the page that accepts it."""
    text = (
        f"Your code is {code.text}\n\n"
        "Enter it in Mainspring under Settings, or with `mainspring email verify`. This link opens "
        f"the page with the code filled in:\n{address.rstrip('/')}/settings/you#verify={code.text}"
        "\n\nThe code works once, within an hour. If you did not set this address in Mainspring, "
        "ignore this mail: nothing is sent to you without the code.\n"
    )
    mail = Mail(
        to=(code.email,),
        subject="Verify your email address for Mainspring",
        text=text,
        headers={"Auto-Submitted": "auto-generated"},
    )
    await mailer.send(mail, key=_build_idempotency_key(code.text))


async def mail_change(mailer: Mailer, done: VerifiedUser) -> None:
    """Notify the replaced address; a failure is only logged."""
    if done.replaced is None:
        return
    text = (
        f"Mail from your automations in Mainspring now goes to {done.user.email} and no longer to "
        "this address.\n\nIf you did not change it, sign in, change it back, and set a new "
        "password; or ask the person who runs this installation.\n"
    )
    mail = Mail(
        to=(done.replaced,),
        subject="Your email address in Mainspring was changed",
        text=text,
        headers={"Auto-Submitted": "auto-generated"},
    )
    try:
        await mailer.send(mail, key=secrets.token_hex(16))
    except Problem as problem:
        log.warning("A replaced address could not be notified: %s", problem.detail)


async def _create_code(tx: Transaction, user_id: UUID, email: str) -> VerificationCode:
    groups = ("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(2))
    text = "-".join(groups)
    await tx.execute(_ADD, user_id, email, _hash(user_id, text), LIFETIME)
    return VerificationCode(email, text)


async def _count(database: Database, key: str, bucket: LeakyBucket, sentence: str) -> None:
    wait = await fill_bucket(database, key, bucket)
    if wait is not None:
        raise LimitExceeded(
            sentence,
            code="too_many_tries",
            suggestion="Wait a few seconds, then try again.",
            retry_after=round(wait, 1),
        )


def _build_attempts_key(user_id: UUID) -> str:
    return f"email-try/{user_id}"


def _hash(user_id: UUID, text: str) -> bytes:
    plain = "".join(sign for sign in text.upper() if sign.isalnum())
    return hashlib.sha256(user_id.bytes + plain.encode()).digest()


def _build_idempotency_key(text: str) -> str:
    return hashlib.sha256(f"mail {text}".encode()).hexdigest()
