"""Single-use sign-in links: first start, new person, lost password.

The token is in the URL fragment, which browsers do not send, and only its hash is stored. It is
consumed in the statement that finds it, so that of concurrent requests exactly one succeeds.
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
# A new link replaces earlier ones.
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
    """The person a link signs in, and its purpose."""

    user_id: UUID
    purpose: LinkPurpose


async def make_link(
    tx: Transaction, user_id: UUID, purpose: LinkPurpose, created_by: UUID | None = None
) -> str:
    """Create a link; return its token, which is not stored. Earlier links end."""
    plain = "msl_" + secrets.token_urlsafe(32)
    await tx.execute(_DROP, user_id)
    await tx.execute(
        _ADD, link_hash(plain), generate_id(), user_id, purpose, created_by, LIFETIMES[purpose]
    )
    return plain


@dataclass(frozen=True, slots=True)
class SignInLinkInfo:
    """The person a link would sign in, and its creator."""

    purpose: LinkPurpose
    email: str
    name: str
    made_by: str | None


async def find_link(tx: Transaction, plain: str) -> SignInLinkInfo | None:
    """Find a valid link without consuming it; None when invalid."""
    row = await tx.fetchrow(_FIND, link_hash(plain))
    return None if row is None else SignInLinkInfo(**dict(row))


async def use_link(tx: Transaction, plain: str) -> RedeemedLink | None:
    """Consume a link; None when unknown, expired or used."""
    row = await tx.fetchrow(_USE, link_hash(plain))
    return None if row is None else RedeemedLink(row["user_id"], row["purpose"])


async def drop_links(tx: Transaction, user_id: UUID) -> None:
    """Delete a person's links."""
    await tx.execute(_DROP, user_id)


async def delete_expired_links(tx: Transaction) -> None:
    """Delete links that expired long ago."""
    await tx.execute(_SWEEP)


def link_hash(plain: str) -> bytes:
    return hashlib.sha256(plain.encode()).digest()


def is_link(text: str) -> bool:
    """Report whether a text has the format of a link token."""
    return _FORM.fullmatch(text) is not None


def link_address(address: str, plain: str) -> str:
    """Build the link. The fragment is never sent to a server, so it is in no log."""
    return f"{address}/sign-in#{plain}"
