"""The end of artifacts: expired ones, and bytes that no row points at.

A row goes before its bytes, so a crash leaves bytes without a row and never the other way
round. Such bytes are looked for shelf by shelf; a day is longer than any step, so what is
older and has no row will get none.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.workspace.artifacts.blobs import SHELVES, BlobKey, BlobStore
from mainspring.workspace.artifacts.rows import artifact_of, delete_bytes, lock_artifact

if TYPE_CHECKING:
    from mainspring.store.database import Connection, Database

ORPHAN_AGE = timedelta(days=1)
# A number of slices that does not divide a day: a machine that is on in the mornings only
# comes to every shelf all the same.
_SLICES = 23
_BATCH = 200
_EXPIRED = """
    DELETE FROM artifacts a USING (
        SELECT workspace_id, id FROM artifacts
        WHERE expires_at <= $1 AND retention <> 'permanent'
        ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
    ) AS old
    WHERE a.workspace_id = old.workspace_id AND a.id = old.id
    RETURNING a.*
"""
_WORKSPACES = "SELECT workspace_id FROM workspaces"
_KNOWN = "SELECT id, sha256 FROM artifacts WHERE workspace_id = $1 AND id = ANY($2::uuid[])"


async def expire_artifacts(database: Database, blobs: BlobStore, now: datetime) -> int:
    """Deletes what has expired; bytes that cannot be deleted now are swept up later."""
    total = 0
    while True:
        async with database.transaction() as tx:
            gone = [artifact_of(row) for row in await tx.fetch(_EXPIRED, now, _BATCH)]
        for artifact in gone:
            try:
                await delete_bytes(database, blobs, artifact)
            except Problem:
                continue
        total += len(gone)
        if len(gone) < _BATCH:
            return total


async def sweep_orphans(database: Database, blobs: BlobStore, now: datetime) -> int:
    """Looks at one slice of every workspace's shelves; another one in the next hour."""
    turn = int(now.timestamp() // 3600) % _SLICES
    swept = 0
    for row in await database.fetch(_WORKSPACES):
        for shelf in SHELVES[turn::_SLICES]:
            async for keys in blobs.older(row["workspace_id"], shelf, now - ORPHAN_AGE):
                swept += await _swept(database, blobs, row["workspace_id"], keys)
    return swept


async def _swept(
    database: Database, blobs: BlobStore, workspace_id: UUID, keys: Sequence[BlobKey]
) -> int:
    swept = 0
    async with database.acquire() as connection:
        orphans = await _orphans(connection, workspace_id, keys)
    for key in orphans:
        # A step that is tried again after a day may be writing these very bytes.
        async with database.transaction() as tx:
            await lock_artifact(tx, key.artifact_id)
            if await _orphans(tx, workspace_id, [key]):
                await blobs.delete(key)
                swept += 1
    return swept


async def _orphans(tx: Connection, workspace_id: UUID, keys: Sequence[BlobKey]) -> list[BlobKey]:
    if not keys:
        return []
    rows = await tx.fetch(_KNOWN, workspace_id, [key.artifact_id for key in keys])
    kept = {row["id"]: row["sha256"].hex() for row in rows}
    return [key for key in keys if not kept.get(key.artifact_id, "").startswith(key.mark)]
