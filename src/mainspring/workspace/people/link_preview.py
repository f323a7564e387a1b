"""Previewing a link before it is used: its addressee and effect.

Opening a URL must not consume it: people open links to look, and mail scanners open all of them. So
the page previews first and consumes the link on confirmation. A preview of an invalid link counts
as a failed sign-in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mainspring.contracts.roles import Role
from mainspring.workspace.people.invitations import find_invitation, is_unsettled
from mainspring.workspace.people.sign_in import invalid_link_error
from mainspring.workspace.people.sign_in_links import LinkPurpose, find_link, is_link
from mainspring.workspace.people.users import find_user

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database
    from mainspring.workspace.people.sign_in import SignInOrigin


@dataclass(frozen=True, slots=True)
class LinkPreview:
    """What a link does."""

    purpose: LinkPurpose | Literal["invitation"]
    email: str
    name: str = ""
    # Its creator, unless it was the person themselves.
    made_by: str | None = None
    # The workspace and role of an invitation.
    workspace: str | None = None
    role: Role | None = None
    # Whether it requires signing in with this email first.
    sign_in_first: bool = False


async def preview_link(database: Database, visit: SignInOrigin, plain: str) -> LinkPreview:
    """Describe a link without consuming it."""
    if is_link(plain):
        async with database.transaction() as tx:
            found = await (_preview_invitation if plain.startswith("msi_") else _link)(tx, plain)
            if found is not None:
                return found
    raise await invalid_link_error(database, visit)


async def _link(tx: Transaction, plain: str) -> LinkPreview | None:
    found = await find_link(tx, plain)
    return (
        None
        if found is None
        else LinkPreview(found.purpose, found.email, found.name, found.made_by)
    )


async def _preview_invitation(tx: Transaction, plain: str) -> LinkPreview | None:
    found = await find_invitation(tx, plain)
    if found is None:
        return None
    known = await find_user(tx, found.email)
    first = known is not None and not await is_unsettled(tx, found.workspace_id, found.email)
    return LinkPreview(
        "invitation",
        found.email,
        "" if known is None else known.name,
        found.invited_by,
        found.workspace,
        found.role,
        first,
    )
