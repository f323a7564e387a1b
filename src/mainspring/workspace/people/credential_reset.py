"""A fresh start: what ends when somebody gets a new password.

Whoever sets a password may do so because somebody else got into the account, and cannot know
what that somebody made there. So everything ends that lets anybody in as this person: every
session but the one in use, every link, every token. The token in the data folder of this
machine stays: whoever can read that file needs no token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Unauthenticated
from mainspring.store.audit import AuditRecord, append_audit
from mainspring.workspace.oauth.authorization import forget_codes_everywhere
from mainspring.workspace.people.sessions import end_sessions
from mainspring.workspace.people.sign_in_links import drop_links
from mainspring.workspace.people.users import set_password
from mainspring.workspace.tokens import revoke_tokens_everywhere

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Whoever makes something that lets them in holds this beside others; a fresh start is alone.
_MAKE = "SELECT pg_advisory_xact_lock_shared(hashtextextended('ways in ' || $1, 0))"
_END = "SELECT pg_advisory_xact_lock(hashtextextended('ways in ' || $1, 0))"
_LEFT = """
    SELECT EXISTS (SELECT FROM sessions WHERE user_id = $1 AND id = $2)
        OR EXISTS (SELECT FROM access_tokens
            WHERE member_id = $1 AND id = $3 AND revoked_at IS NULL) AS there
"""
# What somebody has confirmed and no terminal has collected yet.
_FORGET_TERMINALS = "DELETE FROM terminal_sign_ins WHERE user_id = $1"


async def hold_ways_in(
    tx: Transaction,
    everything: Transaction,
    user_id: UUID,
    session_id: UUID | None,
    token_id: UUID | None,
) -> None:
    """Makes a fresh start wait for this transaction, or refuses whoever came before one.

    ``everything`` sees sessions, which stand on no side of a wall.
    """
    await tx.execute(_MAKE, str(user_id))
    row = await everything.fetchrow(_LEFT, user_id, session_id, token_id)
    if not row["there"]:
        raise Unauthenticated("What you came with has ended meanwhile.", code="ended")


async def start_afresh(
    tx: Transaction,
    user_id: UUID,
    hashed: str | None,
    *,
    session_id: UUID | None = None,
    local: bytes | None = None,
) -> None:
    """A new password, or none; with the session and the local owner's token that stay."""
    await tx.execute(_END, str(user_id))
    await set_password(tx, user_id, hashed)
    await end_sessions(tx, user_id, but=session_id)
    await drop_links(tx, user_id)
    await tx.execute(_FORGET_TERMINALS, user_id)
    # Codes come before tokens: whoever exchanges one holds it until the token is there.
    await forget_codes_everywhere(tx, user_id)
    ended = await revoke_tokens_everywhere(tx, user_id, but=local)
    await append_audit(
        tx,
        [
            AuditRecord(
                workspace_id,
                "member",
                user_id,
                "end_tokens",
                str(user_id),
                {"because": "password", "tokens": count},
            )
            for workspace_id, count in ended.items()
        ],
    )
