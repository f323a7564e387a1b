"""Automations with several versions as rows, for tests of consent that need no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mainspring.contracts.ids import generate_id
from mainspring.store.database import Connection

CLOCK = {
    "id": "clock",
    "type": "schedule",
    "config": {"cron": "0 9 * * *", "timezone": "UTC"},
    "inputs": {},
    "enabled": True,
}


@dataclass(frozen=True)
class Version:
    """A definition that sends requests to some hosts, and its grants."""

    document: dict[str, Any]
    grants: list[dict[str, Any]]


def version(*hosts: str, triggers: Sequence[Mapping[str, Any]] = (), **more: Any) -> Version:
    """A version that may send requests to these hosts."""
    document = {"schema_version": "1.2", "name": "Test", "goal": "Test.", "plan": [], **more}
    if triggers:
        document["triggers"] = list(triggers)
    grants = [{"capability": "http_fetch", "params": {"hosts": list(hosts)}}] if hosts else []
    return Version(document, grants)


async def put_automation(
    tx: Connection, workspace_id: UUID, automation_id: UUID, *versions: Version, **columns: Any
) -> None:
    """An automation whose last version is in force, with whatever columns are given."""
    row = {
        "version": len(versions),
        "name": f"of {automation_id}",
        "created_by": generate_id(),
        **columns,
    }
    places = ", ".join(f"${number}" for number in range(3, len(row) + 3))
    await tx.execute(
        f"INSERT INTO automations (workspace_id, id, {', '.join(row)}) VALUES ($1, $2, {places})",
        workspace_id,
        automation_id,
        *row.values(),
    )
    for number, one in enumerate(versions, 1):
        digest = generate_id().bytes * 2
        await tx.execute(
            "INSERT INTO definitions (workspace_id, hash, document) VALUES ($1, $2, $3)",
            workspace_id,
            digest,
            one.document,
        )
        await tx.execute(
            "INSERT INTO automation_versions (workspace_id, automation_id, version, "
            "definition_hash, grants, author) VALUES ($1, $2, $3, $4, $5, $6)",
            workspace_id,
            automation_id,
            number,
            digest,
            one.grants,
            generate_id(),
        )
    for trigger in versions[-1].document.get("triggers", ()):
        await tx.execute(
            "INSERT INTO triggers (workspace_id, id, automation_id, slug, type, config) "
            "VALUES ($1, $2, $3, $4, $5, $6)",
            workspace_id,
            generate_id(),
            automation_id,
            trigger["id"],
            trigger["type"],
            trigger["config"],
        )
