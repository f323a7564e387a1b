"""A workspace's named resources, the only workspace data that proposal makers see.

Names, types and columns; never rows, page texts or secret values. The names come from people and
other systems, so they are untrusted text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.model import ModelCatalog
    from mainspring.store.database import WorkspaceDatabase

_MOST: Final = 200
_BOARDS = """
    SELECT b.id, b.name, b.description, (
        SELECT json_agg(json_build_object('name', d.name, 'columns', d.columns,
            'dedupe_key_field', d.dedupe_key_field) ORDER BY d.name)
        FROM board_datasets d WHERE d.workspace_id = b.workspace_id AND d.board_id = b.id
    ) AS datasets
    FROM boards b WHERE b.workspace_id = $1 AND b.archived_at IS NULL
    ORDER BY b.id DESC LIMIT $2
"""
_PAGE_TYPES = """
    SELECT p.type, count(*) AS pages FROM pages p
    WHERE p.workspace_id = $1 AND p.deleted_at IS NULL
    GROUP BY p.type ORDER BY pages DESC, p.type LIMIT $2
"""
_EVENT_TYPES = "SELECT type, description FROM event_types WHERE workspace_id = $1 LIMIT $2"
_SECRETS = """
    SELECT name FROM secrets
    WHERE workspace_id = $1 AND kind = 'automation' AND owner_id = $2 ORDER BY name LIMIT $3
"""
_AUTOMATIONS = """
    SELECT id, name FROM automations
    WHERE workspace_id = $1 AND state <> 'archived' ORDER BY id DESC LIMIT $2
"""


@dataclass(frozen=True, slots=True)
class DatasetSummary:
    """A dataset of a board: its columns by name, and its dedup key field."""

    name: str
    columns: tuple[str, ...] = ()
    dedupe_key_field: str | None = None


@dataclass(frozen=True, slots=True)
class BoardSummary:
    id: str
    name: str
    description: str = ""
    datasets: tuple[DatasetSummary, ...] = ()


@dataclass(frozen=True, slots=True)
class WorkspaceResources:
    """All named resources that a definition could refer to, beside the vocabulary."""

    boards: tuple[BoardSummary, ...] = ()
    # The page types in use, most frequent first.
    page_types: tuple[str, ...] = ()
    # The workspace's declared event types with descriptions.
    event_types: Mapping[str, str] | None = None
    # Names of the author's own secrets.
    secrets: tuple[str, ...] = ()
    # Automations that are not archived: name to id.
    automations: Mapping[str, str] | None = None
    # Whether a model is available.
    has_model: bool = False


async def read_workspace_resources(
    walled: WorkspaceDatabase, workspace_id: UUID, me: UUID, models: ModelCatalog
) -> WorkspaceResources:
    """Load the workspace's resources for one of its members."""
    async with walled.acquire() as connection:
        found = await _read(connection, workspace_id, me)
    return WorkspaceResources(**found, has_model=await models.connected(workspace_id))


async def _read(tx: Transaction, workspace_id: UUID, me: UUID) -> dict[str, Any]:
    boards = await tx.fetch(_BOARDS, workspace_id, _MOST)
    types = await tx.fetch(_PAGE_TYPES, workspace_id, _MOST)
    events = await tx.fetch(_EVENT_TYPES, workspace_id, _MOST)
    secrets = await tx.fetch(_SECRETS, workspace_id, me, _MOST)
    automations = await tx.fetch(_AUTOMATIONS, workspace_id, _MOST)
    return {
        "boards": tuple(_board(row) for row in boards),
        "page_types": tuple(row["type"] for row in types),
        "event_types": {row["type"]: row["description"] for row in events},
        "secrets": tuple(row["name"] for row in secrets),
        "automations": {row["name"]: str(row["id"]) for row in automations},
    }


def _board(row: Any) -> BoardSummary:
    datasets = tuple(
        DatasetSummary(
            one["name"], tuple(c["key"] for c in one["columns"]), one["dedupe_key_field"]
        )
        for one in row["datasets"] or ()
    )
    return BoardSummary(str(row["id"]), row["name"], row["description"], datasets)
