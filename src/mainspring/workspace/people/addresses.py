"""Where mail about an automation goes: to the person who made it, and to nobody else.

Whoever starts an installation has no address of their own at first; the operator may set
one for them. Somebody who has left the workspace, or was shut out, gets no more mail.
"""

from __future__ import annotations

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
_OF_MEMBER: Final = f"SELECT u.id, u.email {_REACHED} AND u.id = $2"
_OF_MAKER: Final = f"""
    SELECT u.id, u.email {_REACHED} AND u.id = (
        SELECT a.created_by FROM automations a WHERE a.workspace_id = $1 AND a.id = $2)
"""


async def address_of_member(
    tx: Transaction, workspace_id: UUID, user_id: UUID, first: str | None
) -> str | None:
    """A member's own address; ``first`` is the one for the first person, who may have none."""
    return _address(await tx.fetchrow(_OF_MEMBER, workspace_id, user_id), first)


async def address_of_maker(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, first: str | None
) -> str | None:
    """The address of whoever made an automation, while they are a member."""
    return _address(await tx.fetchrow(_OF_MAKER, workspace_id, automation_id), first)


def _address(row: Any, first: str | None) -> str | None:
    if row is None:
        return None
    email = str(row["email"])
    if email.lower() == PLACEHOLDER:
        # Anybody else who calls themselves so is reached nowhere.
        return first if row["id"] == FIRST_MEMBER else None
    return email
