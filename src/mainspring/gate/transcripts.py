"""What an agent said and did, kept as an artifact of its run."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import PermissionDenied
from mainspring.contracts.limits import Limits
from mainspring.gate.capability_call import CapabilityCall, check_fence
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.artifacts.blobs import BlobStore, artifact_id_of
from mainspring.workspace.artifacts.rows import Artifact, insert_artifact, lock_artifact

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

_NAME: Final = "transcript of {step}.json"
_OF_RUN: Final = """
    SELECT step, id AS artifact_id, created_at FROM artifacts
    WHERE workspace_id = $1 AND run_id = $2 AND (expires_at IS NULL OR expires_at > now())
      AND kind = 'data' AND name = 'transcript of ' || step || '.json'
    ORDER BY created_at, id LIMIT $3
"""
_MOST: Final = 200


async def keep_transcript(
    inside: WorkspaceDatabase,
    blobs: BlobStore,
    ask: CapabilityCall,
    key: str,
    content: bytes,
    now: datetime,
    limits: Limits,
) -> UUID:
    """Keeps a conversation under an id that follows from its key; a later one replaces it."""
    artifact = _artifact(ask, key, content, now, limits)
    async with inside.transaction() as tx:
        await check_fence(tx, ask)
        await lock_artifact(tx, artifact.id)
        await blobs.put(artifact.blob, content)
        await insert_artifact(tx, artifact)
    return artifact.id


async def transcripts_of_run(
    tx: Transaction, workspace_id: UUID, run_id: UUID
) -> list[dict[str, Any]]:
    """Where the conversations of a run are kept, by step, the oldest first."""
    rows = await tx.fetch(_OF_RUN, workspace_id, run_id, _MOST)
    return [dict(row) for row in rows]


def _artifact(
    ask: CapabilityCall, key: str, content: bytes, now: datetime, limits: Limits
) -> Artifact:
    run = ask.run
    if run is None:
        raise PermissionDenied("Only runs can use agents.", code="agent_outside_run")
    return Artifact(
        workspace_id=ask.actor.workspace_id,
        id=artifact_id_of(run.id, key),
        run_id=run.id,
        automation_id=run.automation_id,
        step=run.step,
        name=_NAME.format(step=run.step),
        kind="data",
        retention="default",
        visibility="workspace",
        media_type="application/json",
        size=len(content),
        sha256=hashlib.sha256(content).digest(),
        created_at=now,
        expires_at=now + timedelta(days=limits.artifact_days),
    )
