"""Sign-in by password or link, with rate limiting of failed attempts.

An unknown email and a wrong password give the same answer in the same time. Attempts are counted in
the database, so that more processes do not allow more: narrowly per email and address, so that an
attacker only locks out themselves, and widely per email and per address. A success is not counted,
and a valid link works regardless of others' attempts. Every sign-in is audited, failed ones too.
"""

from __future__ import annotations

import hashlib
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import (
    Expired,
    LimitExceeded,
    PermissionDenied,
    Problem,
    Unauthenticated,
)
from mainspring.store.audit import INSTALLATION, AuditRecord, append_audit
from mainspring.store.rate_limit import (
    LeakyBucket,
    clear_bucket,
    delete_empty_buckets,
    fill_bucket,
    refund_bucket,
)
from mainspring.workspace.people.credential_reset import reset_credentials
from mainspring.workspace.people.invitations import (
    find_invitation,
    is_unsettled,
    use_invitation,
)
from mainspring.workspace.people.sessions import (
    delete_expired_sessions,
    end_session,
    find_session,
    start_session,
)
from mainspring.workspace.people.sign_in_links import delete_expired_links, is_link, use_link
from mainspring.workspace.people.users import (
    create_user,
    describe_user,
    find_user,
    load_own_password_hash,
    load_password_hash,
    normalize_email,
    set_password,
)
from mainspring.workspace.people.workspaces import find_home_workspace, join_workspace
from mainspring.workspace.push_subscriptions import move_pushes

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database
    from mainspring.workspace.people.invitations import Invitation
    from mainspring.workspace.people.passwords import PasswordVerifier

# Burst and sustained rate per email and address: ten, then one per minute.
PER_PAIR: Final = LeakyBucket(10, 1 / 60)
# From any address: a hundred per quarter of an hour.
PER_EMAIL: Final = LeakyBucket(100, 100 / 900)
# Many people may share an address; only failures count.
PER_ADDRESS: Final = LeakyBucket(30, 1 / 10)
_PERSON: Final = "sign-in/person/"
_PAIR: Final = "sign-in/pair/"
_EMAIL: Final = "sign-in/email/"
_ADDRESS: Final = "sign-in/address/"


@dataclass(frozen=True, slots=True)
class SignInOrigin:
    """Origin of a sign-in: client address, user agent, previous session."""

    address: str
    label: str = ""
    # The browser's session token; a new sign-in never continues it.
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class NewSession:
    """A new session and its token."""

    user_id: UUID
    workspace_id: UUID
    session_id: UUID
    plain: str


async def sign_in(
    database: Database, passwords: PasswordVerifier, visit: SignInOrigin, email: str, password: str
) -> NewSession:
    """Sign in with a password."""
    keys = (
        build_email_address_key(email, visit.address),
        build_email_key(email),
        build_address_key(visit.address),
    )
    await count_tries(database, keys)
    user_id, hashed = await load_password_hash(database, email)
    if not await passwords.verify(hashed, password) or user_id is None:
        await note_failure(database, visit, user_id, "password")
        raise wrong_password_error()
    renewed = None
    if hashed is not None and passwords.needs_rehash(hashed):
        renewed = await passwords.hash(password)
    async with database.transaction() as tx:
        if await load_own_password_hash(tx, user_id) != hashed:
            # The password was changed concurrently, which revoked everything.
            raise wrong_password_error()
        if renewed is not None:
            await set_password(tx, user_id, renewed)
        await clear_bucket(tx, keys[0])
        for key in keys[1:]:
            await refund_bucket(tx, key)
        return await _begin_session(
            tx, visit, user_id, await find_home_workspace(tx, user_id), "password"
        )


async def sign_in_by_link(
    database: Database, visit: SignInOrigin, plain: str, local: bytes | None = None
) -> NewSession:
    """Sign in with an unused link.

    ``local`` is the hash of the local owner's token, which survives a password reset.
    """
    if is_link(plain):
        async with database.transaction() as tx:
            if plain.startswith("msi_"):
                made = await _sign_in_by_invitation(tx, visit, plain)
            else:
                made = await _sign_in_by_link(tx, visit, plain, local)
            if made is not None:
                return made
    raise await invalid_link_error(database, visit)


async def invalid_link_error(database: Database, visit: SignInOrigin) -> Problem:
    """The error for an invalid link, counted against the address."""
    await count_tries(database, (build_address_key(visit.address),))
    await note_failure(database, visit, None, "link")
    return link_over()


async def check_own_password(
    database: Database, passwords: PasswordVerifier, user_id: UUID, password: str | None
) -> bool:
    """Verify a signed-in person's password; true when they have none.

    Attempts are rate-limited, because an unattended browser must not allow guessing.
    """
    hashed = await load_own_password_hash(database, user_id)
    if hashed is None:
        return True
    key = f"{_PERSON}{user_id}"
    await count_tries(database, (key,))
    if password is None or not await passwords.verify(hashed, password):
        return False
    await clear_bucket(database, key)
    return True


async def _sign_in_by_link(
    tx: Transaction, visit: SignInOrigin, plain: str, local: bytes | None
) -> NewSession | None:
    used = await use_link(tx, plain)
    if used is None:
        return None
    if used.purpose == "reset":
        # A lost password may be known to others, so all credentials are revoked.
        await reset_credentials(tx, used.user_id, None, local=local)
    workspace_id = await find_home_workspace(tx, used.user_id)
    return await _begin_session(tx, visit, used.user_id, workspace_id, used.purpose)


async def _sign_in_by_invitation(
    tx: Transaction, visit: SignInOrigin, plain: str
) -> NewSession | None:
    invitation = await find_invitation(tx, plain)
    if invitation is None:
        return None
    known = await find_user(tx, invitation.email)
    settled = known is not None and not await is_unsettled(
        tx, invitation.workspace_id, invitation.email
    )
    if known is not None and settled:
        await _check_signed_in(tx, visit, known.id)
    user_id = (await create_user(tx, invitation.email)).id if known is None else known.id
    await _join(tx, invitation, user_id)
    if not settled:
        # The inviting workspace becomes the default until they choose another.
        await describe_user(tx, user_id, default_workspace_id=invitation.workspace_id)
    return await _begin_session(tx, visit, user_id, invitation.workspace_id, "invitation")


async def _check_signed_in(tx: Transaction, visit: SignInOrigin, user_id: UUID) -> None:
    session = None if visit.shown is None else await find_session(tx, visit.shown)
    if session is None or session.user_id != user_id:
        raise PermissionDenied(
            "This invitation is for a person who already has an account here.",
            code="sign_in_first",
            suggestion="Sign in with the email it was made for, then open the link again.",
        )


async def _join(tx: Transaction, invitation: Invitation, user_id: UUID) -> None:
    await join_workspace(tx, invitation.workspace_id, user_id, invitation.role)
    await use_invitation(tx, invitation)
    detail = {"role": invitation.role.value}
    entry = AuditRecord(
        invitation.workspace_id, "member", user_id, "member_joined", str(user_id), detail
    )
    await append_audit(tx, [entry])


async def _begin_session(
    tx: Transaction, visit: SignInOrigin, user_id: UUID, workspace_id: UUID, by: str
) -> NewSession:
    await delete_expired_sessions(tx)
    await delete_expired_links(tx)
    await delete_empty_buckets(tx)
    session_id, plain = await start_session(tx, user_id, workspace_id, visit.label)
    if visit.shown is not None:
        before = await find_session(tx, visit.shown)
        if before is not None and before.user_id == user_id:
            await move_pushes(tx, user_id, before.id, session_id)
            await end_session(tx, user_id, before.id)
    detail = {"by": by, "address": visit.address}
    entry = AuditRecord(workspace_id, "member", user_id, "sign_in", str(session_id), detail)
    await append_audit(tx, [entry])
    return NewSession(user_id, workspace_id, session_id, plain)


async def count_tries(database: Database, keys: tuple[str, ...]) -> None:
    """Count an attempt before checking it; rejected above the limit.

    A rejected attempt is not counted against the earlier keys.
    """
    for place, key in enumerate(keys):
        wait = await count_try(database, key)
        if wait is not None:
            for counted in keys[:place]:
                await refund_bucket(database, counted)
            raise LimitExceeded(
                "There were too many tries to sign in.",
                code="too_many_tries",
                suggestion="Wait a few seconds, or ask for a link.",
                retry_after=round(wait, 1),
            )


async def count_try(tx: Transaction, key: str) -> float | None:
    """Return None when another attempt is allowed, else the seconds to wait."""
    wide = {_ADDRESS: PER_ADDRESS, _EMAIL: PER_EMAIL}
    found = (bucket for start, bucket in wide.items() if key.startswith(start))
    return await fill_bucket(tx, key, next(found, PER_PAIR))


async def note_failure(
    database: Database, visit: SignInOrigin, user_id: UUID | None, by: str
) -> None:
    """Audit a failure without the input: people type passwords into the wrong field."""
    detail: dict[str, Any] = {"by": by, "address": visit.address}
    subject = None if user_id is None else str(user_id)
    entry = AuditRecord(INSTALLATION, "stranger", None, "sign_in_failed", subject, detail)
    async with database.transaction() as tx:
        await append_audit(tx, [entry])


def wrong_password_error() -> Unauthenticated:
    return Unauthenticated(
        "The email or the password is wrong.",
        code="wrong_password",
        suggestion="Check both, or ask an administrator of this installation for a link.",
    )


def link_over() -> Expired:
    return Expired(
        "This link does not work any more, or never did.",
        code="link_over",
        suggestion="A link works once and for a while. Ask for a new one.",
    )


def build_email_key(email: str) -> str:
    """A fixed-size key that does not reveal the email."""
    return _EMAIL + hashlib.sha256(normalize_email(email).casefold().encode()).hexdigest()


def build_email_address_key(email: str, address: str) -> str:
    """The key of one email from one address."""
    told = build_email_key(email) + build_address_key(address)
    return _PAIR + hashlib.sha256(told.encode()).hexdigest()


def is_address(text: str) -> bool:
    """Report whether a text is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def build_address_key(address: str) -> str:
    """The key of an address; an IPv6 address counts as its /64 network."""
    if not is_address(address):
        return _ADDRESS + "unknown"
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return f"{_ADDRESS}{found.ipv4_mapped}"
        return f"{_ADDRESS}{ipaddress.ip_network((found, 64), strict=False)}"
    return f"{_ADDRESS}{found}"
