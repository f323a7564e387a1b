"""Signing in: who somebody is, by a password or by a link, and what slows down a guesser.

Whatever is wrong with an email and its password, the answer is the same and takes the same
time. Guesses are counted in the database, so that more processes do not allow more of them:
narrowly for one email from one address, so that a guesser shuts out nobody but themselves,
and widely for an email and for an address. A success is not held against anybody, and a link
that works is taken whatever others tried. Every sign-in, failed ones too, is an entry of the
audit log.
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
from mainspring.workspace.people.credential_reset import start_afresh
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

# Tries at once, and a second for long: at one email from one address, ten and then one a minute.
PER_PAIR: Final = LeakyBucket(10, 1 / 60)
# From wherever they come: a hundred in a quarter of an hour.
PER_EMAIL: Final = LeakyBucket(100, 100 / 900)
# Many people may share an address, and only what fails counts against it.
PER_ADDRESS: Final = LeakyBucket(30, 1 / 10)
_PERSON: Final = "sign-in/person/"
_PAIR: Final = "sign-in/pair/"
_EMAIL: Final = "sign-in/email/"
_ADDRESS: Final = "sign-in/address/"


@dataclass(frozen=True, slots=True)
class SignInOrigin:
    """Where a sign-in comes from: an address, what the browser calls itself, its old session."""

    address: str
    label: str = ""
    # What the browser's cookie holds; a new sign-in never goes on with it.
    shown: str | None = None


@dataclass(frozen=True, slots=True)
class NewSession:
    """A fresh session, and what the browser keeps of it."""

    user_id: UUID
    workspace_id: UUID
    session_id: UUID
    plain: str


async def sign_in(
    database: Database, passwords: PasswordVerifier, visit: SignInOrigin, email: str, password: str
) -> NewSession:
    """Somebody who knows their password."""
    keys = (
        build_email_address_key(email, visit.address),
        build_email_key(email),
        build_address_key(visit.address),
    )
    await count_tries(database, keys)
    user_id, hashed = await load_password_hash(database, email)
    if not await passwords.fits(hashed, password) or user_id is None:
        await note_failure(database, visit, user_id, "password")
        raise wrong_password_error()
    renewed = None
    if hashed is not None and passwords.is_dated(hashed):
        renewed = await passwords.hashed(password)
    async with database.transaction() as tx:
        if await load_own_password_hash(tx, user_id) != hashed:
            # It was changed in this very moment, and with it everything that it opened.
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
    """Somebody who holds a link that nobody has used.

    ``local`` is the hash of the local owner's token, which outlives a lost password.
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
    """The answer to what is no link: counted against the address, and perhaps too many."""
    await count_tries(database, (build_address_key(visit.address),))
    await note_failure(database, visit, None, "link")
    return link_over()


async def check_own_password(
    database: Database, passwords: PasswordVerifier, user_id: UUID, password: str | None
) -> bool:
    """Whether somebody who is signed in also knows their password; true where there is none.

    Tries are counted, as whoever found a browser open must not guess either.
    """
    hashed = await load_own_password_hash(database, user_id)
    if hashed is None:
        return True
    key = f"{_PERSON}{user_id}"
    await count_tries(database, (key,))
    if password is None or not await passwords.fits(hashed, password):
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
        # Whoever lost a password does not know who else has it.
        await start_afresh(tx, used.user_id, None, local=local)
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
        # Where they were asked to is where they look first, until they choose otherwise.
        await describe_user(tx, user_id, default_workspace_id=invitation.workspace_id)
    return await _begin_session(tx, visit, user_id, invitation.workspace_id, "invitation")


async def _check_signed_in(tx: Transaction, visit: SignInOrigin, user_id: UUID) -> None:
    session = None if visit.shown is None else await find_session(tx, visit.shown)
    if session is None or session.user_id != user_id:
        raise PermissionDenied(
            "This invitation is for somebody who has an account here.",
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
    """Counts a try before anything is looked at; refused when there were too many.

    A try that is refused was none, and is not held against the keys before.
    """
    for place, key in enumerate(keys):
        wait = await count_try(database, key)
        if wait is not None:
            for counted in keys[:place]:
                await refund_bucket(database, counted)
            raise LimitExceeded(
                "There were too many tries to sign in.",
                code="too_many_tries",
                suggestion="Wait a moment, or ask for a link.",
                retry_after=round(wait, 1),
            )


async def count_try(tx: Transaction, key: str) -> float | None:
    """None when one more try is allowed; else the seconds until it is."""
    wide = {_ADDRESS: PER_ADDRESS, _EMAIL: PER_EMAIL}
    found = (bucket for start, bucket in wide.items() if key.startswith(start))
    return await fill_bucket(tx, key, next(found, PER_PAIR))


async def note_failure(
    database: Database, visit: SignInOrigin, user_id: UUID | None, by: str
) -> None:
    """What was typed is not kept: people type passwords into the wrong field."""
    detail: dict[str, Any] = {"by": by, "address": visit.address}
    subject = None if user_id is None else str(user_id)
    entry = AuditRecord(INSTALLATION, "stranger", None, "sign_in_failed", subject, detail)
    async with database.transaction() as tx:
        await append_audit(tx, [entry])


def wrong_password_error() -> Unauthenticated:
    return Unauthenticated(
        "This email and this password do not belong together.",
        code="wrong_password",
        suggestion="Check both, or ask whoever looks after this installation for a link.",
    )


def link_over() -> Expired:
    return Expired(
        "This link does not work any more, or never did.",
        code="link_over",
        suggestion="A link works once and for a while. Ask for a new one.",
    )


def build_email_key(email: str) -> str:
    """A key of one size, that does not tell what was typed."""
    return _EMAIL + hashlib.sha256(normalize_email(email).casefold().encode()).hexdigest()


def build_email_address_key(email: str, address: str) -> str:
    """One email, tried from one address."""
    told = build_email_key(email) + build_address_key(address)
    return _PAIR + hashlib.sha256(told.encode()).hexdigest()


def is_address(text: str) -> bool:
    """Whether a text is an address of a machine."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def build_address_key(address: str) -> str:
    """Whoever has one address of version 6 has the whole network of it."""
    if not is_address(address):
        return _ADDRESS + "unknown"
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return f"{_ADDRESS}{found.ipv4_mapped}"
        return f"{_ADDRESS}{ipaddress.ip_network((found, 64), strict=False)}"
    return f"{_ADDRESS}{found}"
