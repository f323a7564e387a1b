"""Files that callers send: saved as artifacts of the run that their request starts.

The bytes are stored while a request is read, and the rows are written once it is accepted. Bytes
without a row are removed by the sweep for orphans, like those of a call that failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import LimitExceeded
from mainspring.contracts.limits import Limits
from mainspring.store.database import WorkspaceDatabase
from mainspring.workspace.artifacts.blobs import BlobStore, artifact_id_of
from mainspring.workspace.artifacts.rows import (
    Artifact,
    delete_artifact,
    insert_artifact,
    lock_artifact,
)
from mainspring.workspace.artifacts.save import kind_of_media_type

if TYPE_CHECKING:
    from mainspring.store.database import Database

# Bodies with files that are read at the same time, in one process and for one source.
MOST_UPLOADS: Final = 32
SHARE_OF_UPLOADS: Final = 8
# Files whose bytes are in memory at the same time.
_IN_MEMORY: Final = 2
_STEP: Final = "trigger"


@dataclass(slots=True)
class Upload:
    """The files of one request."""

    workspace_id: UUID
    automation_id: UUID
    run_id: UUID
    artifacts: list[Artifact] = field(default_factory=list)


class UploadStore:
    """Saves the files of requests, for one process."""

    def __init__(self, database: Database, blobs: BlobStore, clock: Clock, limits: Limits) -> None:
        self._database = database
        self._blobs = blobs
        self._clock = clock
        self._limits = limits
        self._writing = asyncio.Semaphore(_IN_MEMORY)
        self._open: dict[UUID, int] = {}

    def begin(self, source: UUID) -> None:
        """Count a body with files; ``end`` must follow. Too many at a time are refused."""
        own = self._open.get(source, 0)
        if own >= SHARE_OF_UPLOADS or sum(self._open.values()) >= MOST_UPLOADS:
            raise LimitExceeded(
                "Too many files are being received.",
                code="too_many_uploads",
                suggestion="Send it again after Retry-After seconds.",
                retry_after=2.0,
            )
        self._open[source] = own + 1

    def end(self, source: UUID) -> None:
        self._open[source] -= 1
        if not self._open[source]:
            del self._open[source]

    async def save(
        self,
        upload: Upload,
        name: str,
        media_type: str,
        size: int,
        sha256: bytes,
        read: Callable[[], bytes],
    ) -> dict[str, Any]:
        """Store the bytes of a file; the value represents it in the payload of the run."""
        now = self._clock.now()
        artifact = Artifact(
            workspace_id=upload.workspace_id,
            id=artifact_id_of(upload.run_id, f"{_STEP}/{len(upload.artifacts)}"),
            run_id=upload.run_id,
            automation_id=upload.automation_id,
            step=_STEP,
            name=name,
            kind=kind_of_media_type(media_type),
            retention="default",
            visibility="workspace",
            media_type=media_type,
            size=size,
            sha256=sha256,
            created_at=now,
            expires_at=now + timedelta(days=self._limits.artifact_days),
        )
        async with self._writing:
            await self._blobs.put(artifact.blob, await asyncio.to_thread(read))
        upload.artifacts.append(artifact)
        return {
            "artifact_id": str(artifact.id),
            "name": name,
            "size": size,
            "sha256": sha256.hex(),
            "media_type": media_type,
        }

    async def keep(self, upload: Upload) -> None:
        """Write the rows of the files, before the run that uses them is recorded."""
        if not upload.artifacts:
            return
        workspace = WorkspaceDatabase(self._database, upload.workspace_id)
        async with workspace.transaction() as tx:
            for artifact in upload.artifacts:
                await lock_artifact(tx, artifact.id)
                await insert_artifact(tx, artifact)

    async def discard(self, artifacts: Sequence[Artifact]) -> None:
        """Delete the files of a request that started no run of its own."""
        for artifact in artifacts:
            workspace = WorkspaceDatabase(self._database, artifact.workspace_id)
            await delete_artifact(workspace, self._blobs, artifact.workspace_id, artifact.id)
