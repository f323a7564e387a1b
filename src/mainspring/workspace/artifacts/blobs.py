"""Where the bytes of artifacts lie, behind one small protocol.

A key is made of two ids and a digest and of nothing that a person wrote, so no name can
lead anywhere else. The digest stands in it because a step may be tried again with other
content: the new bytes then lie beside the old ones, and a row never points at bytes that
are not its own.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from mainspring.contracts.errors import InternalError

SHELVES = tuple(f"{number:02x}" for number in range(256))
_MARK_DIGITS = 32
_UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_PATH = re.compile(rf"({_UUID})/([0-9a-f]{{2}})/({_UUID})-([0-9a-f]{{{_MARK_DIGITS}}})")


@dataclass(frozen=True, slots=True)
class BlobKey:
    """One artifact's bytes: whose, which, and what they hash to."""

    workspace_id: UUID
    artifact_id: UUID
    # The first half of the SHA-256 of the content, in hexadecimal.
    mark: str

    @property
    def shelf(self) -> str:
        """One of 256 parts of a workspace's store; the end of an id is random."""
        return self.artifact_id.hex[-2:]

    @property
    def name(self) -> str:
        return f"{self.artifact_id}-{self.mark}"

    @property
    def path(self) -> str:
        return f"{self.workspace_id}/{self.shelf}/{self.name}"


def blob_key(workspace_id: UUID, artifact_id: UUID, sha256: bytes) -> BlobKey:
    """The key of content that hashes to this."""
    return BlobKey(workspace_id, artifact_id, sha256.hex()[:_MARK_DIGITS])


def read_path(path: str) -> BlobKey | None:
    """A key as a store lists it; None for anything that is not one of ours."""
    found = _PATH.fullmatch(path)
    if found is None:
        return None
    key = BlobKey(UUID(found[1]), UUID(found[3]), found[4])
    return key if key.path == path else None


def artifact_id_of(run_id: UUID, call_key: str) -> UUID:
    """The id of what one call saves: the same over every attempt, sorted by the run's time."""
    digest = int.from_bytes(hashlib.sha256(call_key.encode("utf-8", "replace")).digest())
    moment = (run_id.int >> 80) << 80
    high, low = (digest >> 62) & 0xFFF, digest & ((1 << 62) - 1)
    return UUID(int=moment | (0x7 << 76) | (high << 64) | (0b10 << 62) | low)


class BlobStore(Protocol):
    """A place for bytes. A put is whole or not there; a second one takes the first's place."""

    async def put(self, key: BlobKey, content: bytes) -> None: ...

    async def get(self, key: BlobKey) -> bytes | None:
        """The bytes, or None when there are none."""
        ...

    async def delete(self, key: BlobKey) -> None:
        """Nothing there is no error."""
        ...

    def older(
        self, workspace_id: UUID, prefix: str, before: datetime
    ) -> AsyncIterator[list[BlobKey]]:
        """What lies on one shelf and was written before a moment, some at a time."""
        ...

    async def aclose(self) -> None: ...


class NullBlobStore:
    """For a process that reads definitions and runs nothing: it knows no place for bytes."""

    async def put(self, key: BlobKey, content: bytes) -> None:
        raise _nowhere()

    async def get(self, key: BlobKey) -> bytes | None:
        raise _nowhere()

    async def delete(self, key: BlobKey) -> None:
        raise _nowhere()

    async def older(
        self, workspace_id: UUID, prefix: str, before: datetime
    ) -> AsyncIterator[list[BlobKey]]:
        nothing: tuple[list[BlobKey], ...] = ()
        for page in nothing:
            yield page

    async def aclose(self) -> None:
        return None


def _nowhere() -> InternalError:
    return InternalError("This process has no place for artifacts.", retryable=False)
