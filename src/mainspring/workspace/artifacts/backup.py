"""Artifacts on their way into a backup and out of one: by their rows, piece by piece."""

from __future__ import annotations

import os
import secrets
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final, Protocol
from uuid import UUID

from mainspring.contracts.errors import InternalError, Invalid
from mainspring.workspace.artifacts.blobs import blob_key, read_path

_PAGE: Final = 500
_SOME = """
    SELECT workspace_id, id, sha256 FROM artifacts
    WHERE (workspace_id, id) > ($1, $2) ORDER BY workspace_id, id LIMIT $3
"""


class SnapshotConnection(Protocol):
    """A connection that sees one moment."""

    async def fetch(self, query: str, *args: Any) -> list[Any]: ...


async def iterate_artifact_files(
    connection: SnapshotConnection, folder: Path
) -> AsyncIterator[tuple[str, Path]]:
    """The file of every artifact that the connection sees."""
    last = (UUID(int=0), UUID(int=0))
    while rows := await connection.fetch(_SOME, *last, _PAGE):
        for row in rows:
            path = blob_key(row["workspace_id"], row["id"], row["sha256"]).path
            yield path, folder / path
        last = (rows[-1]["workspace_id"], rows[-1]["id"])


def write_backup_file(folder: Path, name: str, pieces: Iterable[bytes]) -> None:
    """Writes one file of a backup in its place; a name that is none of ours leads nowhere."""
    key = read_path(name)
    if key is None:
        raise Invalid(
            "The backup has a file that is no artifact.",
            code="backup_damaged",
            suggestion="Use another backup.",
        )
    place = folder / key.path
    passing = place.with_name(f".passing.{secrets.token_hex(8)}")
    try:
        _make_folders(folder, place.parent)
        handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            passing.replace(place)
        finally:
            passing.unlink(missing_ok=True)
    except OSError as error:
        raise InternalError(
            "An artifact could not be written: the data folder refused it.",
            code="artifact_folder",
            suggestion="Check the free space and the permissions of the data folder.",
        ) from error


def _make_folders(folder: Path, directory: Path) -> None:
    for place in (folder, directory.parent, directory):
        place.mkdir(mode=0o700, parents=place == folder, exist_ok=True)
