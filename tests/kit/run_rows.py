"""Automations and runs as rows, for tests of queries that need no application."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.store.database import Database


async def add_automation(
    database: Database, workspace_id: UUID, document: dict[str, Any] | None = None
) -> UUID:
    """An automation with one version, whose definition is the given one."""
    automation, digest = generate_id(), generate_id().bytes * 2
    async with database.transaction() as tx:
        await tx.execute(
            "INSERT INTO definitions (workspace_id, hash, document) "
            "VALUES ($1, $2, $3::text::json)",
            workspace_id,
            digest,
            json.dumps(document or {}),
        )
        await tx.execute(
            "INSERT INTO automations (workspace_id, id, name, version, created_by) "
            "VALUES ($1, $2, $3, 1, $4)",
            workspace_id,
            automation,
            str(automation),
            generate_id(),
        )
        await tx.execute(
            "INSERT INTO automation_versions (workspace_id, automation_id, version, "
            "definition_hash, grants, author) VALUES ($1, $2, 1, $3, '[]', $4)",
            workspace_id,
            automation,
            digest,
            generate_id(),
        )
    return automation


async def add_run(
    database: Database, workspace_id: UUID, automation_id: UUID, **columns: Any
) -> UUID:
    """A run that is due now, or with whatever columns are given."""
    row = {
        "workspace_id": workspace_id,
        "id": generate_id(),
        "automation_id": automation_id,
        "version": 1,
        "trigger_type": "manual",
        "queue": "fast",
        "status": "pending",
        **columns,
    }
    places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
    await database.execute(f"INSERT INTO runs ({', '.join(row)}) VALUES ({places})", *row.values())
    run_id: UUID = row["id"]
    return run_id
