"""Publisher secrets in automations: who may use a workspace's own secrets.

A definition refers to one as ``{{publisher.NAME}}``. Admins set the values, so only automations of
members who could set them may send them anywhere: otherwise an editor could send a value to a
server of their own and read it there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.roles import LEAST, Permission, Role

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

PREFIX: Final = "publisher."
# The signing secret of the workspace's Slack app. It could be used to forge members' answers, so a
# person sets it and no automation may send it anywhere.
SLACK_SIGNING_SECRET: Final = "SLACK_SIGNING_SECRET"  # noqa: S105  (the name of it)
_ROLE = """
    SELECT m.role FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.workspace_id = $1 AND m.user_id = $2 AND u.disabled_at IS NULL
"""
_THERE = """
    SELECT name FROM secrets
    WHERE workspace_id = $1 AND kind = 'publisher' AND owner_id = $1 AND name = ANY($2::text[])
"""


def filter_publisher_secrets(names: Iterable[str]) -> frozenset[str]:
    """Filter the publisher secrets among these references."""
    return frozenset(name.removeprefix(PREFIX) for name in names if name.startswith(PREFIX))


async def check_may_publish(tx: Transaction, workspace_id: UUID, owner_id: UUID) -> None:
    """Reject workspace secrets in an automation whose owner could not set them."""
    row = await tx.fetchrow(_ROLE, workspace_id, owner_id)
    if row is not None and Role(row["role"]).may(Permission.MEMBERS):
        return
    least = LEAST[Permission.MEMBERS].value
    raise PermissionDenied(
        "Publisher secrets are secrets of the workspace, and only automations of its admins use "
        "them.",
        code="publisher_secret_denied",
        suggestion=f"Ask a member with the role {least} or higher to install or save it.",
    )


def check_sendable(names: Iterable[str]) -> None:
    """Reject secrets that only verify incoming requests."""
    if SLACK_SIGNING_SECRET in names:
        raise PermissionDenied(
            f"{SLACK_SIGNING_SECRET} verifies the requests of Slack and is sent nowhere.",
            code="secret_not_sendable",
            suggestion="Keep what the automation needs under another name.",
        )


async def list_set_publisher_secrets(
    tx: Transaction, workspace_id: UUID, names: Iterable[str]
) -> set[str]:
    """List which of these secrets are set, as definitions spell them."""
    wanted = sorted(filter_publisher_secrets(names))
    rows = await tx.fetch(_THERE, workspace_id, wanted) if wanted else []
    return {PREFIX + row["name"] for row in rows}


async def has_publisher_secret(tx: Transaction, workspace_id: UUID, name: str) -> bool:
    """Report whether the workspace has a publisher secret of this name."""
    return bool(await tx.fetch(_THERE, workspace_id, [name]))


def format_set_hint(name: str) -> str:
    """The remedy for a missing publisher secret."""
    return f"An admin adds it with `mainspring secrets set {name} --publisher`."
