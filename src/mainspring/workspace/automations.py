"""Automations as they are kept: a name, a state, versions that never change, triggers.

Saving the same definition twice makes no new version. Whoever changes an automation locks
its row first and its triggers after that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.errors import Missing
from mainspring.contracts.grant import Grant
from mainspring.contracts.ids import new_id
from mainspring.definition.json_text import content_hash
from mainspring.definition.model import Definition
from mainspring.workspace.triggers import arm, keep_triggers

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

State = Literal["active", "paused", "archived"]

_KEEP_DEFINITION = """
    INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3)
    ON CONFLICT DO NOTHING
"""
_FIND = """
    SELECT a.id, a.version, a.state, v.definition_hash, v.grants FROM automations a
    JOIN automation_versions v ON v.workspace_id = a.workspace_id
        AND v.automation_id = a.id AND v.version = a.version
    WHERE a.workspace_id = $1 AND a.name = $2 AND a.state <> 'archived' FOR UPDATE OF a
"""
_CREATE = """
    INSERT INTO automations (workspace_id, id, name, version, created_by)
    VALUES ($1, $2, $3, 1, $4)
"""
_BUMP = """
    UPDATE automations SET version = $3, updated_at = now() WHERE workspace_id = $1 AND id = $2
"""
_VERSION = """
    INSERT INTO automation_versions
        (workspace_id, automation_id, version, definition_hash, grants, author)
    VALUES ($1, $2, $3, $4, $5, $6)
"""
_STATE = """
    SELECT state FROM automations WHERE workspace_id = $1 AND id = $2 FOR UPDATE
"""
_SET_STATE = """
    UPDATE automations
    SET state = $3, paused_reason = $4, updated_at = now(),
        failures = CASE WHEN $3 = 'active' THEN 0 ELSE failures END
    WHERE workspace_id = $1 AND id = $2
"""
_WORKSPACE = """
    INSERT INTO workspaces (workspace_id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING
"""
_CURRENT = """
    SELECT id, version FROM automations
    WHERE workspace_id = $1 AND id = $2 AND state <> 'archived'
"""

# Until there are people and sign-in, one workspace and one member stand for the owner.
FIRST_WORKSPACE = UUID("01900000-0000-7000-8000-000000000001")
FIRST_MEMBER = UUID("01900000-0000-7000-8000-000000000002")


@dataclass(frozen=True, slots=True)
class Saved:
    """An automation and the version that is in force."""

    automation_id: UUID
    version: int
    changed: bool


async def ensure_workspace(tx: Transaction, workspace_id: UUID, name: str) -> None:
    """Makes the workspace if it is not there."""
    await tx.execute(_WORKSPACE, workspace_id, name)


async def save(
    tx: Transaction,
    workspace_id: UUID,
    definition: Definition,
    grants: Sequence[Grant],
    author: UUID,
) -> Saved:
    """Keeps a definition under its name; a changed one becomes a new version."""
    document = definition.as_dict()
    digest = content_hash(document)
    kept_grants = [grant.as_dict() for grant in grants]
    await tx.execute(_KEEP_DEFINITION, workspace_id, digest, document)
    found = await tx.fetchrow(_FIND, workspace_id, definition.name)
    if found is not None and found["definition_hash"] == digest and found["grants"] == kept_grants:
        return Saved(found["id"], found["version"], changed=False)
    if found is None:
        automation_id, version = new_id(), 1
        await tx.execute(_CREATE, workspace_id, automation_id, definition.name, author)
    else:
        automation_id, version = found["id"], found["version"] + 1
        await tx.execute(_BUMP, workspace_id, automation_id, version)
    await tx.execute(_VERSION, workspace_id, automation_id, version, digest, kept_grants, author)
    await keep_triggers(tx, workspace_id, automation_id, definition)
    active = found is not None and found["state"] == "active"
    await arm(tx, workspace_id, automation_id, active=active)
    return Saved(automation_id, version, changed=True)


async def set_state(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, state: State,
    reason: str | None = None,
) -> State:  # fmt: skip
    """Activates, pauses or archives; answers the state before. Its triggers follow."""
    row = await tx.fetchrow(_STATE, workspace_id, automation_id)
    if row is None:
        raise Missing("There is no such automation.", code="no_automation")
    before: State = row["state"]
    await tx.execute(_SET_STATE, workspace_id, automation_id, state, reason)
    await arm(tx, workspace_id, automation_id, active=state == "active")
    return before


async def current_version(tx: Transaction, workspace_id: UUID, automation_id: UUID) -> int:
    """The number of the version in force."""
    row: Any = await tx.fetchrow(_CURRENT, workspace_id, automation_id)
    if row is None:
        raise Missing("There is no such automation.", code="no_automation")
    return int(row["version"])
