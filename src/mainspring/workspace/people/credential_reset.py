"""Credential reset: what a new password revokes.

A password may be reset because the account was compromised, and what the attacker created is
unknown. So every credential of the person is revoked: all sessions except the current one, all
links, all tokens. The owner's token in the local data folder stays: reading that file already needs
full access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Unauthenticated
from mainspring.store.audit import AuditRecord, append_audit
from mainspring.workspace.oauth.authorization import delete_codes_everywhere
from mainspring.workspace.people.sessions import end_sessions
from mainspring.workspace.people.sign_in_links import drop_links
from mainspring.workspace.people.users import set_password
from mainspring.workspace.tokens import revoke_tokens_everywhere

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


# Creating a credential takes this lock shared; a reset takes it exclusively.
_MAKE = "SELECT pg_advisory_xact_lock_shared(hashtextextended('ways in ' || $1, 0))"
_END = "SELECT pg_advisory_xact_lock(hashtextextended('ways in ' || $1, 0))"
_LEFT = """
    SELECT EXISTS (SELECT FROM sessions WHERE user_id = $1 AND id = $2)
        OR EXISTS (SELECT FROM access_tokens
            WHERE member_id = $1 AND id = $3 AND revoked_at IS NULL) AS there
"""
# Confirmed terminal sign-ins that no terminal has collected yet.
_FORGET_TERMINALS = "DELETE FROM terminal_sign_ins WHERE user_id = $1"


async def lock_credentials(
    tx: Transaction,
    everything: Transaction,
    user_id: UUID,
    session_id: UUID | None,
    token_id: UUID | None,
) -> None:
    """Take the shared lock, and reject callers whose credential predates a reset.

    ``everything`` is the unrestricted database, because sessions belong to no workspace.
    """
    await tx.execute(_MAKE, str(user_id))
    row = await everything.fetchrow(_LEFT, user_id, session_id, token_id)
    if not row["there"]:
        raise Unauthenticated("Your session or token has ended.", code="ended")


async def reset_credentials(
    tx: Transaction,
    user_id: UUID,
    hashed: str | None,
    *,
    session_id: UUID | None = None,
    local: bytes | None = None,
) -> None:
    """Set or clear the password and revoke credentials, except the given session and local
    token."""
    await tx.execute(_END, str(user_id))
    await set_password(tx, user_id, hashed)
    await end_sessions(tx, user_id, but=session_id)
    await drop_links(tx, user_id)
    await tx.execute(_FORGET_TERMINALS, user_id)
    # Codes before tokens: an exchange locks its code until the token exists.
    await delete_codes_everywhere(tx, user_id)
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
