"""The rows of artifacts: written with the call that saves one, read by the surfaces."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from mainspring.contracts.errors import InternalError, NotFound
from mainspring.workspace.artifacts.blobs import BlobKey, BlobStore, blob_key

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.access import DatabaseAccess

Kind = Literal["audio", "document", "image", "data"]
Retention = Literal["transient", "default", "permanent"]
Visibility = Literal["private", "workspace", "shared"]


@dataclass(frozen=True, slots=True)
class Artifact:
    """Everything about a file but its bytes."""

    workspace_id: UUID
    id: UUID
    run_id: UUID | None
    automation_id: UUID | None
    step: str
    name: str
    kind: Kind
    retention: Retention
    visibility: Visibility
    media_type: str
    size: int
    sha256: bytes
    created_at: datetime
    expires_at: datetime | None

    @property
    def blob(self) -> BlobKey:
        return blob_key(self.workspace_id, self.id, self.sha256)


_COLUMNS = (
    "workspace_id, id, run_id, automation_id, step, name, kind, retention, visibility, "
    "media_type, size, sha256, created_at, expires_at"
)
# A step that is tried again saves under the same id: the later content is the one meant.
_KEEP = f"""
    INSERT INTO artifacts ({_COLUMNS})
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
    ON CONFLICT (workspace_id, id) DO UPDATE
        SET name = excluded.name, kind = excluded.kind, retention = excluded.retention,
            visibility = excluded.visibility, media_type = excluded.media_type,
            size = excluded.size, sha256 = excluded.sha256, created_at = excluded.created_at,
            expires_at = excluded.expires_at
"""
_LIVE = "(expires_at IS NULL OR expires_at > now())"
_ONE = f"SELECT {_COLUMNS} FROM artifacts WHERE workspace_id = $1 AND id = $2 AND {_LIVE}"
_LIST = f"""
    SELECT {_COLUMNS} FROM artifacts
    WHERE workspace_id = $1 AND {_LIVE}
      AND ($2::uuid IS NULL OR run_id = $2)
      AND ($3::uuid IS NULL OR automation_id = $3)
      AND ($4::text IS NULL OR kind = $4)
      AND ($5::uuid IS NULL OR id < $5)
    ORDER BY id DESC LIMIT $6
"""
# Without a workspace: the signature of the link says whether it was the right one.
_HOME = "SELECT workspace_id FROM artifacts WHERE id = $1 LIMIT 1"
_DELETE = f"DELETE FROM artifacts WHERE workspace_id = $1 AND id = $2 RETURNING {_COLUMNS}"
_BYTES = "SELECT sha256 FROM artifacts WHERE workspace_id = $1 AND id = $2"
# Held to the end of the transaction: whoever saves an artifact and whoever sweeps up bytes
# that nobody keeps take turns.
_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('artifact/' || $1::text, 0))"


async def insert_artifact(tx: Transaction, artifact: Artifact) -> None:
    """Writes the row; its bytes are there already."""
    await tx.execute(
        _KEEP,
        artifact.workspace_id,
        artifact.id,
        artifact.run_id,
        artifact.automation_id,
        artifact.step,
        artifact.name,
        artifact.kind,
        artifact.retention,
        artifact.visibility,
        artifact.media_type,
        artifact.size,
        artifact.sha256,
        artifact.created_at,
        artifact.expires_at,
    )


async def lock_artifact(tx: Transaction, artifact_id: UUID) -> None:
    """Nobody else writes or sweeps up this artifact until the transaction ends."""
    await tx.execute(_LOCK, str(artifact_id))


async def read_artifact(tx: Transaction, workspace_id: UUID, artifact_id: UUID) -> Artifact:
    """One artifact; an expired one is gone, even before it is swept up."""
    row = await tx.fetchrow(_ONE, workspace_id, artifact_id)
    if row is None:
        raise no_artifact()
    return artifact_of(row)


async def find_workspace_of_artifact(tx: Transaction, artifact_id: UUID) -> UUID | None:
    """The workspace that an artifact belongs to, for a link that must say nothing about it."""
    row = await tx.fetchrow(_HOME, artifact_id)
    return None if row is None else row["workspace_id"]


async def list_artifacts(
    tx: Transaction,
    workspace_id: UUID,
    *,
    run_id: UUID | None = None,
    automation_id: UUID | None = None,
    kind: str | None = None,
    before: UUID | None = None,
    most: int = 50,
) -> Sequence[Artifact]:
    """The latest runs' artifacts first; ``before`` is the last id of the page before."""
    rows = await tx.fetch(_LIST, workspace_id, run_id, automation_id, kind, before, most)
    return [artifact_of(row) for row in rows]


async def read_content(blobs: BlobStore, artifact: Artifact) -> bytes:
    """The bytes, proven to be the ones that were saved."""
    content = await blobs.get(artifact.blob)
    if content is None:
        raise no_artifact()
    if not hmac.compare_digest(sha256(content).digest(), artifact.sha256):
        raise InternalError(
            "The artifact was changed outside Mainspring, so it is not returned.",
            code="artifact_damaged",
            retryable=False,
        )
    return content


async def delete_artifact(
    database: DatabaseAccess, blobs: BlobStore, workspace_id: UUID, artifact_id: UUID
) -> Artifact:
    """Forgets one artifact for good. The row goes first: no row is ever without its bytes."""
    async with database.transaction() as tx:
        row = await tx.fetchrow(_DELETE, workspace_id, artifact_id)
        if row is None:
            raise no_artifact()
    gone = artifact_of(row)
    await delete_bytes(database, blobs, gone)
    return gone


async def delete_bytes(database: DatabaseAccess, blobs: BlobStore, gone: Artifact) -> None:
    """Deletes the bytes of an artifact whose row is gone, unless they were saved again since."""
    async with database.transaction() as tx:
        await lock_artifact(tx, gone.id)
        row = await tx.fetchrow(_BYTES, gone.workspace_id, gone.id)
        if row is None or row["sha256"] != gone.sha256:
            await blobs.delete(gone.blob)


def no_artifact() -> NotFound:
    return NotFound("There is no such artifact.", code="no_artifact")


def artifact_of(row: Any) -> Artifact:
    """A row as the driver hands it out."""
    return Artifact(**dict(row))
