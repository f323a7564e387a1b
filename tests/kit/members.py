"""Members other than the first one, each with a role, as callers of the gate."""

from __future__ import annotations

from uuid import UUID

from mainspring.contracts.context import Actor
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.store.database import Database


async def member(database: Database, workspace_id: UUID, role: Role) -> CapabilityCaller:
    """A new person with this role in a workspace."""
    user_id = generate_id()
    await database.execute(
        "INSERT INTO users (id, email, name) VALUES ($1, $2, 'somebody')",
        user_id,
        f"{user_id}@example.test",
    )
    await database.execute(
        "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, $3)",
        workspace_id,
        user_id,
        role.value,
    )
    return CapabilityCaller(Actor(workspace_id, "member", user_id, role=role))
