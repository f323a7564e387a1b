"""Whom a command is about: members are named by their email, or by the id of anybody."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from uuid import UUID

from mainspring.contracts.errors import NotFound

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.surfaces.cli.http_client import ApiClient


async def member_called(tx: Transaction, workspace_id: UUID, email: str) -> dict[str, Any]:
    """The member with this email."""
    from mainspring.workspace.people.members import list_members

    return _find(await list_members(tx, workspace_id), email)


async def find_member(client: ApiClient, email: str) -> dict[str, Any]:
    """The member with this email, as the server lists them."""
    return _find((await client.request("GET", "/members"))["members"], email)


async def find_member_id(client: ApiClient, text: str) -> UUID:
    """An id as it is; else the id of the member with this email, as the server knows it."""
    try:
        return UUID(text)
    except ValueError:
        return UUID(str((await find_member(client, text))["id"]))


def _find(members: Iterable[dict[str, Any]], email: str) -> dict[str, Any]:
    for row in members:
        if row["email"].lower() == email.strip().lower():
            return row
    raise NotFound(
        f"There is no member with the email {email[:254]!r}.",
        code="no_member",
        suggestion="`members list` shows them.",
    )
