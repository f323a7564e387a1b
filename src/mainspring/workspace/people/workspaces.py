"""Workspaces as people see them: the list of their own, and the default."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.display_text import check_plain_name
from mainspring.contracts.errors import Finding, Invalid, NotFound, PersonRequired
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.workspace.automations import ensure_workspace

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction

_JOIN = """
    INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
"""
_MINE = """
    SELECT w.workspace_id AS id, w.name, m.role, w.cost_cap_daily_usd, w.created_at
    FROM members m JOIN workspaces w USING (workspace_id)
    WHERE m.user_id = $1 ORDER BY w.workspace_id
"""
# The default workspace, while the person is still a member; else the oldest.
_HOME = """
    SELECT m.workspace_id FROM members m JOIN users u ON u.id = m.user_id
    WHERE m.user_id = $1
    ORDER BY m.workspace_id = u.default_workspace_id DESC, m.joined_at, m.workspace_id LIMIT 1
"""
_ROLE = "SELECT role FROM members WHERE workspace_id = $1 AND user_id = $2"
_RENAME = "UPDATE workspaces SET name = $2 WHERE workspace_id = $1"
_SET_CAP = "UPDATE workspaces SET cost_cap_daily_usd = $2 WHERE workspace_id = $1"
_HOLD_CAP = "SELECT cost_cap_daily_usd FROM workspaces WHERE workspace_id = $1 FOR UPDATE"
_READ = """
    SELECT workspace_id AS id, name, cost_cap_daily_usd, created_at
    FROM workspaces WHERE workspace_id = $1
"""
_LIST = """
    SELECT w.workspace_id AS id, w.name, w.created_at, w.cost_cap_daily_usd,
        (SELECT count(*) FROM members m WHERE m.workspace_id = w.workspace_id) AS members,
        (SELECT coalesce(array_agg(m.user_id ORDER BY m.user_id), '{}') FROM members m
            WHERE m.workspace_id = w.workspace_id AND m.role = 'owner') AS owners
    FROM workspaces w WHERE w.workspace_id > $1 ORDER BY w.workspace_id LIMIT $2
"""

LONGEST_NAME: Final = 200
MOST_USD: Final = Decimal(1_000_000)
# Smaller amounts would exceed the numeric column's scale.
LEAST_USD: Final = Decimal("0.000001")


async def add_workspace(tx: Transaction, user_id: UUID, name: str, role: Role) -> UUID:
    """Create a workspace with its first member."""
    made = generate_id()
    await ensure_workspace(tx, made, clean_title(name))
    await join_workspace(tx, made, user_id, role)
    return made


async def join_workspace(tx: Transaction, workspace_id: UUID, user_id: UUID, role: Role) -> None:
    """Add a member; an existing member keeps their role."""
    await tx.execute(_JOIN, workspace_id, user_id, role.value)


async def list_user_workspaces(tx: Transaction, user_id: UUID) -> list[dict[str, Any]]:
    """List a person's workspaces with their role in each."""
    return [dict(row) for row in await tx.fetch(_MINE, user_id)]


async def name_if_several(tx: Transaction, actor: Actor) -> tuple[UUID, str] | None:
    """Return the workspace's id and name, for a member of several workspaces."""
    found = await list_user_workspaces(tx, actor.id)
    here = [(one["id"], str(one["name"])) for one in found if one["id"] == actor.workspace_id]
    return here[0] if here and len(found) > 1 else None


async def find_home_workspace(tx: Transaction, user_id: UUID) -> UUID:
    """Find a person's default workspace; created when they are in none."""
    row = await tx.fetchrow(_HOME, user_id)
    if row is not None:
        found: UUID = row["workspace_id"]
        return found
    return await add_workspace(tx, user_id, "Home", Role.OWNER)


async def load_role(tx: Transaction, workspace_id: UUID, user_id: UUID) -> Role:
    """Return a person's role; a workspace they are not in is reported as not found."""
    row = await tx.fetchrow(_ROLE, workspace_id, user_id)
    if row is None:
        raise no_workspace_error()
    return Role(row["role"])


async def rename_workspace(tx: Transaction, workspace_id: UUID, name: str) -> None:
    """Rename a workspace."""
    await tx.execute(_RENAME, workspace_id, clean_title(name))


async def set_cost_cap(
    tx: Transaction, workspace_id: UUID, usd: Decimal | None, actor: Actor
) -> None:
    """Set the daily budget of all automations of a workspace; None: no limit.

    A program may set or lower it; a person raises or removes it.
    """
    if usd is not None and not (usd.is_finite() and 0 <= usd <= MOST_USD):
        detail = f"A cost cap is an amount from 0 to {MOST_USD:,} dollars."
        raise Invalid(detail, findings=[Finding("/cost_cap_daily_usd", detail, "range")])
    if usd is not None and usd != usd.quantize(LEAST_USD):
        detail = f"A cost cap is a whole number of {LEAST_USD:f} dollars."
        raise Invalid(detail, findings=[Finding("/cost_cap_daily_usd", detail, "range")])
    before = (await tx.fetchrow(_HOLD_CAP, workspace_id))["cost_cap_daily_usd"]
    if not actor.is_person and before is not None and (usd is None or usd > before):
        raise PersonRequired(
            "A person raises or removes what a workspace may spend in a day; a program cannot.",
            suggestion="Sign in and change it on the page Settings.",
        )
    await tx.execute(_SET_CAP, workspace_id, usd)


async def read_workspace(tx: Transaction, workspace_id: UUID) -> dict[str, Any]:
    """Load a workspace."""
    row = await tx.fetchrow(_READ, workspace_id)
    if row is None:
        raise no_workspace_error()
    return dict(row)


async def list_workspaces(tx: Transaction, after: UUID | None, most: int) -> list[dict[str, Any]]:
    """List every workspace with its owner and member count, and nothing else."""
    return [dict(row) for row in await tx.fetch(_LIST, after or UUID(int=0), most)]


def clean_title(text: str) -> str:
    """Validate a workspace's name."""
    check_plain_name(text)
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
        detail = f"The name of a workspace is one line of 1 to {LONGEST_NAME} visible characters."
        way = "Write it without control characters and marks of the text direction."
        raise Invalid(detail, findings=[Finding("/name", detail, "name", way)], suggestion=way)
    return name


def no_workspace_error() -> NotFound:
    return NotFound("There is no such workspace.", code="no_workspace")
