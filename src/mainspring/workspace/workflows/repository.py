"""Workflow rows: found, locked, written, and described with their people and automations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

MOST_LISTED: Final = 200

_COLUMNS = (
    "id, title, charter, kpis, deadlines, status, board_id, made_board, version, created_by, "
    "created_at, updated_at"
)
_ADD = """
    INSERT INTO workflows
        (workspace_id, id, title, charter, kpis, deadlines, status, board_id, created_by,
            made_board)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
_ONE = f"SELECT {_COLUMNS} FROM workflows WHERE workspace_id = $1 AND id = $2"
_HELD = f"{_ONE} FOR NO KEY UPDATE"
_LIST = f"""
    SELECT {_COLUMNS} FROM workflows
    WHERE workspace_id = $1 AND ($2::text IS NULL OR status = $2)
        AND ($3::uuid IS NULL OR id > $3)
    ORDER BY id LIMIT $4
"""
_CHANGE = """
    UPDATE workflows SET title = $3, charter = $4, kpis = $5, deadlines = $6, status = $7,
        board_id = $8, made_board = made_board AND board_id IS NOT DISTINCT FROM $8,
        version = version + 1, updated_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_DELETE = "DELETE FROM workflows WHERE workspace_id = $1 AND id = $2"
_ON_BOARD = """
    SELECT title FROM workflows
    WHERE workspace_id = $1 AND board_id = $2 AND id <> $3 ORDER BY id LIMIT 1
"""
_ROSTER = """
    SELECT workflow_id, user_id, role FROM workflow_members
    WHERE workspace_id = $1 AND workflow_id = ANY($2::uuid[]) ORDER BY user_id
"""
_AUTOMATIONS = """
    SELECT w.workflow_id, w.automation_id, w.template, w.resumes, a.name, a.state
    FROM workflow_automations w JOIN automations a
        ON a.workspace_id = w.workspace_id AND a.id = w.automation_id
    WHERE w.workspace_id = $1 AND w.workflow_id = ANY($2::uuid[]) ORDER BY w.automation_id
"""


@dataclass(frozen=True, slots=True)
class Workflow:
    """A workflow row."""

    id: UUID
    title: str
    charter: str
    kpis: list[dict[str, Any]]
    deadlines: list[dict[str, Any]]
    status: str
    board_id: UUID | None
    # Whether its board was created for it.
    made_board: bool
    version: int
    created_by: UUID
    created_at: datetime
    updated_at: datetime

    def as_dict(self) -> dict[str, Any]:
        return {
            "id": str(self.id),
            "title": self.title,
            "charter": self.charter,
            "kpis": self.kpis,
            "deadlines": self.deadlines,
            "status": self.status,
            "board_id": None if self.board_id is None else str(self.board_id),
            "version": self.version,
            "created_by": str(self.created_by),
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
        }


async def add_workflow(
    tx: Transaction,
    workspace_id: UUID,
    workflow_id: UUID,
    arguments: Mapping[str, Any],
    board_id: UUID | None,
    creator: UUID,
    *,
    made_board: bool = False,
) -> None:
    """Insert a workflow; its people and automations are written separately."""
    await tx.execute(
        _ADD,
        workspace_id,
        workflow_id,
        arguments["title"],
        arguments.get("charter", ""),
        list(arguments.get("kpis", [])),
        list(arguments.get("deadlines", [])),
        arguments.get("status", "draft"),
        board_id,
        creator,
        made_board,
    )


async def find_workflow(
    tx: Transaction, workspace_id: UUID, workflow_id: UUID, *, hold: bool = False
) -> Workflow:
    row = await tx.fetchrow(_HELD if hold else _ONE, workspace_id, workflow_id)
    if row is None:
        raise NotFound(
            "There is no such workflow.",
            code="no_workflow",
            suggestion="list_workflows shows what there is.",
        )
    return Workflow(**dict(row))


def check_version(workflow: Workflow, expected: int | None) -> None:
    """Reject a change that is based on a stale version."""
    if expected is not None and expected != workflow.version:
        raise Conflict(
            f"The workflow is at version {workflow.version}, and this change was made to "
            f"version {expected}.",
            code="version_changed",
            suggestion="Read the workflow again and make the change to what it is now.",
        )


async def list_all(
    tx: Transaction, workspace_id: UUID, status: str | None, after: UUID | None, most: int
) -> list[Workflow]:
    rows = await tx.fetch(_LIST, workspace_id, status, after, most)
    return [Workflow(**dict(row)) for row in rows]


async def change_workflow(
    tx: Transaction, workspace_id: UUID, before: Workflow, fields: Mapping[str, Any]
) -> None:
    """Update a locked workflow; omitted fields are not changed."""
    now = {name: fields.get(name, getattr(before, name)) for name in _FIELDS}
    await tx.execute(_CHANGE, workspace_id, before.id, *(now[name] for name in _FIELDS))


async def remove_workflow(tx: Transaction, workspace_id: UUID, workflow_id: UUID) -> None:
    """Delete a workflow with its people and automation links."""
    await tx.execute(_DELETE, workspace_id, workflow_id)


async def find_other_workflow_on_board(
    tx: Transaction, workspace_id: UUID, board_id: UUID, workflow_id: UUID
) -> str | None:
    """Return the title of another workflow on this board, if there is one."""
    row = await tx.fetchrow(_ON_BOARD, workspace_id, board_id, workflow_id)
    return None if row is None else str(row["title"])


async def describe_workflows(
    tx: Transaction, workspace_id: UUID, workflows: Sequence[Workflow]
) -> list[dict[str, Any]]:
    """Describe workflows with their people and automations."""
    ids = [one.id for one in workflows]
    people: dict[UUID, list[dict[str, Any]]] = {one: [] for one in ids}
    for row in await tx.fetch(_ROSTER, workspace_id, ids):
        told = {"user_id": str(row["user_id"]), "role": row["role"]}
        people[row["workflow_id"]].append(told)
    attached: dict[UUID, list[dict[str, Any]]] = {one: [] for one in ids}
    for row in await tx.fetch(_AUTOMATIONS, workspace_id, ids):
        attached[row["workflow_id"]].append(
            {
                "automation_id": str(row["automation_id"]),
                "name": row["name"],
                "state": row["state"],
                "template": row["template"],
                "resumes": row["resumes"],
            }
        )
    return [
        {
            **one.as_dict(),
            "roster": people[one.id],
            "automation_ids": [each["automation_id"] for each in attached[one.id]],
            "automations": attached[one.id],
        }
        for one in workflows
    ]


_FIELDS: Final = ("title", "charter", "kpis", "deadlines", "status", "board_id")
