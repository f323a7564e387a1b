"""Where mail about an automation goes: to the person who made it, and to nobody else.

Only an address that its owner has verified counts, or one that was in use before addresses were
verified. The operator may set an address for the first member, which counts until that member
verifies their own. Somebody who has left the workspace, or was disabled, gets no more mail.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.workspace.automations import FIRST_MEMBER
from mainspring.workspace.people.users import PLACEHOLDER

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

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
    """Where mail to a person goes, and whether they have shown that the mailbox is theirs."""

    email: str
    verified: bool


async def find_member_address(
    tx: Transaction, workspace_id: UUID, user_id: UUID, first: str | None
) -> str | None:
    """A member's own address; ``first`` is the one for the first person, who may have none."""
    found = await reach_member(tx, workspace_id, user_id, first)
    return None if found is None else found.email


async def reach_member(
    tx: Transaction, workspace_id: UUID, user_id: UUID, first: str | None
) -> MailAddressState | None:
    """The same, and whether the address is verified."""
    return get_mail_address(await tx.fetchrow(_OF_MEMBER, workspace_id, user_id), first)


async def find_author_address(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, first: str | None
) -> str | None:
    """The address of whoever made an automation, while they are a member."""
    found = await reach_maker(tx, workspace_id, automation_id, first)
    return None if found is None else found.email


async def reach_maker(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, first: str | None
) -> MailAddressState | None:
    """The same, and whether the address is verified."""
    return get_mail_address(await tx.fetchrow(_OF_MAKER, workspace_id, automation_id), first)


def get_mail_address(row: Any, first: str | None) -> MailAddressState | None:
    """Where a row of a user is reached: ``id``, ``email`` and ``email_state``."""
    if row is None or row["email"] is None:
        return None
    email, state = str(row["email"]), row["email_state"]
    if state != "unverified" and email.lower() != PLACEHOLDER:
        return MailAddressState(email, state == "verified")
    # The operator set this one, for the first member alone.
    return (
        MailAddressState(first, True) if first is not None and row["id"] == FIRST_MEMBER else None
    )
