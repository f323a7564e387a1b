"""Which blob store an installation has: what the operator set, or the data folder."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from mainspring.contracts.clock import Clock
from mainspring.contracts.errors import InternalError, Invalid
from mainspring.contracts.limits import Limits
from mainspring.outbound.object_storage.s3 import S3Store
from mainspring.settings import Settings
from mainspring.workspace.artifacts.blobs import BlobKey, BlobStore, read_path
from mainspring.workspace.private_file import is_left_behind, sync_folder, write_private

# Artifacts in a folder of this machine, readable by its owner only, each one whole.

_PAGE = 500
Found = TypeVar("Found")


class FolderStore:
    """A blob store in the data folder; it is made with the first blob."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def put(self, key: BlobKey, content: bytes) -> None:
        await _in_thread(lambda: _write(self._folder, key, content), "written")

    async def get(self, key: BlobKey) -> bytes | None:
        return await _in_thread(lambda: _read(self._folder / key.path), "read")

    async def delete(self, key: BlobKey) -> None:
        await _in_thread(lambda: _remove(self._folder / key.path), "deleted")

    async def older(
        self, workspace_id: UUID, prefix: str, before: datetime
    ) -> AsyncIterator[list[BlobKey]]:
        place = f"{workspace_id}/{prefix}"
        found = await _in_thread(
            lambda: _older(self._folder / place, place, before.timestamp()), "listed"
        )
        for start in range(0, len(found), _PAGE):
            yield found[start : start + _PAGE]

    async def aclose(self) -> None:
        return None


async def _in_thread(work: Callable[[], Found], done: str) -> Found:
    try:
        return await asyncio.to_thread(work)
    except OSError as error:
        # The cause names paths of this machine, which are nobody's business outside.
        raise InternalError(
            f"An artifact could not be {done}: the data folder refused it.",
            code="artifact_folder",
            suggestion="Check the free space and the permissions of the data folder.",
        ) from error


def _write(folder: Path, key: BlobKey, content: bytes) -> None:
    target = folder / key.path
    _make_folders(folder, target.parent)
    write_private(target, content)


def _make_folders(folder: Path, directory: Path) -> None:
    """Each folder is on the disk before something is put into it."""
    if directory.is_dir():
        return
    for place in (folder, directory.parent, directory):
        if place.is_dir():
            continue
        place.mkdir(mode=0o700, parents=place == folder, exist_ok=True)
        sync_folder(place.parent)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _older(folder: Path, place: str, before: float) -> list[BlobKey]:
    found: list[BlobKey] = []
    try:
        entries = list(os.scandir(folder))
    except FileNotFoundError:
        return []
    for entry in entries:
        with contextlib.suppress(FileNotFoundError):
            if entry.stat(follow_symlinks=False).st_mtime >= before:
                continue
            key = read_path(f"{place}/{entry.name}")
            if key is not None:
                found.append(key)
            elif is_left_behind(entry.name):
                # Left behind by a process that died while it wrote.
                os.unlink(entry.path)
    return found


_LONGEST_SECONDS = 10.0


def open_blobs(settings: Settings, limits: Limits, clock: Clock) -> BlobStore:
    """The store, without touching it yet."""
    if settings.artifacts_url is None:
        return FolderStore(settings.home / "artifacts")
    if not settings.artifacts_key_id or not settings.artifacts_key:
        raise Invalid(
            "MAINSPRING_ARTIFACTS_URL is set, and the key of that store is not.",
            code="artifacts_key",
            suggestion="Set MAINSPRING_ARTIFACTS_KEY_ID and MAINSPRING_ARTIFACTS_KEY.",
        )
    # Bytes are put while the transaction of the call is open, and the database ends one
    # that stays idle for as long as a lease.
    seconds = min(_LONGEST_SECONDS, settings.lease_seconds / 2)
    return S3Store(
        settings.artifacts_url,
        settings.artifacts_key_id,
        settings.artifacts_key,
        limits,
        clock,
        seconds=seconds,
    )
