"""Links that sign somebody in, once: the first start, a new person, a lost password.

The link's token stands in the part of the address that a browser keeps to itself, and only
its hash is kept here. It is used up in the statement that finds it, so that of any number
who come with it at once a single one gets in.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Literal
from uuid import UUID

from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

LinkPurpose = Literal["first", "invite", "reset"]

_ADD = """
    INSERT INTO sign_in_links (hash, id, user_id, purpose, created_by, expires_at)
    VALUES ($1, $2, $3, $4, $5, now() + $6)
"""
# A newer link takes the place of those before it.
_DROP = "DELETE FROM sign_in_links WHERE user_id = $1"
_USE = """
    UPDATE sign_in_links l SET used_at = now()
    FROM users u
    WHERE l.hash = $1 AND l.used_at IS NULL AND l.expires_at > now()
        AND u.id = l.user_id AND u.disabled_at IS NULL
    RETURNING l.user_id, l.purpose
"""
_FIND = """
    SELECT l.purpose, u.email, u.name, coalesce(nullif(c.name, ''), c.email) AS made_by
    FROM sign_in_links l JOIN users u ON u.id = l.user_id AND u.disabled_at IS NULL
    LEFT JOIN users c ON c.id = l.created_by AND c.id <> u.id
    WHERE l.hash = $1 AND l.used_at IS NULL AND l.expires_at > now()
"""
_SWEEP = "DELETE FROM sign_in_links WHERE expires_at < now() - interval '7 days'"

LIFETIMES: Final[dict[LinkPurpose, timedelta]] = {
    "first": timedelta(hours=1),
    "reset": timedelta(hours=1),
    "invite": timedelta(days=7),
}
_FORM: Final = re.compile(r"ms[il]_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class RedeemedLink:
    """Whom a link signs in, and why it was made."""

    user_id: UUID
    purpose: LinkPurpose


async def make_link(
    tx: Transaction, user_id: UUID, purpose: LinkPurpose, created_by: UUID | None = None
) -> str:
    """The token of a new link, which cannot be had again; older links of the person end."""
    plain = "msl_" + secrets.token_urlsafe(32)
    await tx.execute(_DROP, user_id)
    await tx.execute(
        _ADD, link_hash(plain), generate_id(), user_id, purpose, created_by, LIFETIMES[purpose]
    )
    return plain


@dataclass(frozen=True, slots=True)
class SignInLinkInfo:
    """Whom a link would sign in, and who made it for them."""

    purpose: LinkPurpose
    email: str
    name: str
    made_by: str | None


async def find_link(tx: Transaction, plain: str) -> SignInLinkInfo | None:
    """A link that works, which it still does afterwards; None when it does not."""
    row = await tx.fetchrow(_FIND, link_hash(plain))
    return None if row is None else SignInLinkInfo(**dict(row))


async def use_link(tx: Transaction, plain: str) -> RedeemedLink | None:
    """Uses a link up; None when it is unknown, over, or was used before."""
    row = await tx.fetchrow(_USE, link_hash(plain))
    return None if row is None else RedeemedLink(row["user_id"], row["purpose"])


async def drop_links(tx: Transaction, user_id: UUID) -> None:
    """Ends the links of somebody."""
    await tx.execute(_DROP, user_id)


async def delete_expired_links(tx: Transaction) -> None:
    """Forgets links that have long been over."""
    await tx.execute(_SWEEP)


def link_hash(plain: str) -> bytes:
    return hashlib.sha256(plain.encode()).digest()


def is_link(text: str) -> bool:
    """Whether a text has the form of a link's token."""
    return _FORM.fullmatch(text) is not None


def link_address(address: str, plain: str) -> str:
    """The whole link. What follows the # is never sent to a server, so no log has it."""
    return f"{address}/sign-in#{plain}"
