"""A fresh start: what ends when somebody gets a new password.

Whoever sets a password may do so because somebody else got into the account, and cannot know
what that somebody made there. So everything ends that lets anybody in as this person: every
session but the one in use, every link, every token. The token in the data folder of this
machine stays: whoever can read that file needs no token.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.store.audit import Entry, append_audit
from mainspring.workspace.people.links import drop_links
from mainspring.workspace.people.sessions import end_sessions
from mainspring.workspace.people.users import set_password
from mainspring.workspace.tokens import revoke_tokens_everywhere

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction


async def start_afresh(
    tx: Transaction,
    user_id: UUID,
    hashed: str | None,
    *,
    session_id: UUID | None = None,
    local: bytes | None = None,
) -> None:
    """A new password, or none; with the session and the local owner's token that stay."""
    await set_password(tx, user_id, hashed)
    await end_sessions(tx, user_id, but=session_id)
    await drop_links(tx, user_id)
    ended = await revoke_tokens_everywhere(tx, user_id, but=local)
    await append_audit(
        tx,
        [
            Entry(
                workspace_id, "member", user_id, "end_tokens", str(user_id),
                {"because": "password", "tokens": count},
            )
            for workspace_id, count in ended.items()
        ],
    )  # fmt: skip
