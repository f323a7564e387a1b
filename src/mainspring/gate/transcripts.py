"""What an agent said and did, kept as an artifact of its run."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from uuid import UUID

from mainspring.contracts.errors import Denied
from mainspring.contracts.limits import Limits
from mainspring.gate.artifacts.blobs import BlobStore, artifact_id_of
from mainspring.gate.artifacts.rows import Artifact, keep, lock
from mainspring.gate.ask import Ask
from mainspring.gate.fence import hold_run
from mainspring.store.walls import Walled


async def keep_transcript(
    inside: Walled, blobs: BlobStore, ask: Ask, key: str, content: bytes, now: datetime,
    limits: Limits,
) -> UUID:  # fmt: skip
    """Keeps a conversation under an id that follows from its key; a later one replaces it."""
    artifact = _artifact(ask, key, content, now, limits)
    async with inside.transaction() as tx:
        await hold_run(tx, ask)
        await lock(tx, artifact.id)
        await blobs.put(artifact.blob, content)
        await keep(tx, artifact)
    return artifact.id


def _artifact(ask: Ask, key: str, content: bytes, now: datetime, limits: Limits) -> Artifact:
    run = ask.run
    if run is None:
        raise Denied("Only a run has agents.", code="agent_outside_run")
    return Artifact(
        workspace_id=ask.actor.workspace_id,
        id=artifact_id_of(run.id, key),
        run_id=run.id,
        automation_id=run.automation_id,
        step=run.step,
        name=f"transcript of {run.step}.json",
        kind="data",
        retention="default",
        visibility="workspace",
        media_type="application/json",
        size=len(content),
        sha256=hashlib.sha256(content).digest(),
        created_at=now,
        expires_at=now + timedelta(days=limits.artifact_days),
    )
