"""A backup as one file: a zip archive with a part per table, the files, and a manifest.

The manifest is written last and names every part with its size and its SHA-256, so a file
that was cut off, changed or made by something else is known before anything is done with it.
The file is written under another name first, for its owner's eyes, and then renamed.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from mainspring.contracts.errors import NO_SPACE, Conflict, Invalid, NotFound, Problem, StorageFull

MANIFEST: Final = "manifest.json"
_ARCHIVE_CHUNK_BYTES: Final = 262_144
_MOST_MANIFEST_BYTES: Final = 16_777_216
# A little is won by pressing harder, at several times the cost.
_EFFORT: Final = 3
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """One part of the archive, as it must be found again."""

    name: str
    size: int
    sha256: str


@dataclass(slots=True)
class _PartWriter:
    """A part that is being written, counted as it goes by."""

    name: str
    _into: IO[bytes]
    _path: Path
    _hash: Any = field(default_factory=hashlib.sha256)
    _size: int = 0

    def write(self, piece: bytes) -> None:
        self._hash.update(piece)
        self._size += len(piece)
        with _convert_file_errors(self._path):
            self._into.write(piece)

    @property
    def done(self) -> ArchivePart:
        return ArchivePart(self.name, self._size, self._hash.hexdigest())


class ArchiveWriter:
    """An archive on its way."""

    def __init__(self, zipped: zipfile.ZipFile, path: Path) -> None:
        self._zipped = zipped
        self._path = path

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[_PartWriter]:
        """One more part; what it came to is known at the end of the block.

        What goes wrong with the file is told here already: the block may lie within one that
        takes every error of the system for one of the database's connection.
        """
        with _convert_file_errors(self._path):
            # Of unknown length, so it is given room for any.
            into = self._zipped.open(name, "w", force_zip64=True)
        try:
            yield _PartWriter(name, into, self._path)
        finally:
            with _convert_file_errors(self._path):
                into.close()

    def finish(self, manifest: dict[str, Any]) -> None:
        self._zipped.writestr(MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1))


@contextlib.contextmanager
def write_archive(path: Path) -> Iterator[ArchiveWriter]:
    """A new archive: there, whole and on the disk when the block ends well, and not otherwise."""
    if path.exists() or path.is_symlink():
        raise Conflict(
            f"There is a file {path} already.",
            code="file_exists",
            suggestion="Name another one; a backup is never written over.",
        )
    passing = path.with_name(f".{path.name}.{secrets.token_hex(4)}.partial")
    with _convert_file_errors(path):
        handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(handle, "wb") as file:
                with zipfile.ZipFile(
                    file, "w", zipfile.ZIP_DEFLATED, allowZip64=True, compresslevel=_EFFORT
                ) as zipped:
                    yield ArchiveWriter(zipped, path)
                file.flush()
                os.fsync(file.fileno())
            _give_name(passing, path)
        finally:
            passing.unlink(missing_ok=True)
        _sync_archive_folder(path.parent)


def _give_name(passing: Path, path: Path) -> None:
    """Never takes the place of a file that came meanwhile."""
    try:
        os.link(passing, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # Sticks and some shares know no links. There the name is taken first, and then filled.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            os.replace(passing, path)
        except OSError:
            path.unlink(missing_ok=True)
            raise


class ArchiveReader:
    """An archive that is there; it is read part by part, never whole."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zipped = zipped

    @property
    def names(self) -> list[str]:
        return self._zipped.namelist()

    def manifest(self) -> dict[str, Any]:
        try:
            entry = self._zipped.getinfo(MANIFEST)
            if entry.file_size > _MOST_MANIFEST_BYTES:
                raise damaged_archive_error("its manifest is far too large")
            found = json.loads(self._zipped.read(entry))
        except KeyError:
            raise damaged_archive_error("it has no manifest") from None
        except (*_BROKEN, ValueError):
            raise damaged_archive_error("its manifest cannot be read") from None
        if not isinstance(found, dict):
            raise damaged_archive_error("its manifest cannot be read")
        return found

    def bytes_of(self, name: str) -> Iterator[bytes]:
        """A part piece by piece."""
        try:
            with self._zipped.open(name) as source:
                while piece := source.read(_ARCHIVE_CHUNK_BYTES):
                    yield piece
        except KeyError:
            raise damaged_archive_error(f"the part {name} is missing") from None
        except _BROKEN:
            raise damaged_archive_error(f"the part {name} cannot be read") from None

    def pieces(self, part: ArchivePart) -> Iterator[bytes]:
        """The same; one that is not as it was ends with a problem."""
        digest, size = hashlib.sha256(), 0
        for piece in self.bytes_of(part.name):
            digest.update(piece)
            size += len(piece)
            yield piece
        if (size, digest.hexdigest()) != (part.size, part.sha256):
            raise damaged_archive_error(f"the part {part.name} is not as it was")


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """An archive to read from."""
    try:
        zipped = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise NotFound(
            f"There is no file {path}.",
            code="no_backup",
            suggestion="Name one that `mainspring backup make` has written.",
        ) from None
    except OSError:
        raise Invalid(f"The file {path} cannot be read.", code="backup_unreadable") from None
    except _BROKEN:
        raise damaged_archive_error("it is no backup, or its end is missing") from None
    with zipped:
        yield ArchiveReader(zipped)


_BROKEN = (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error)


def damaged_archive_error(why: str) -> Invalid:
    return Invalid(
        f"This file cannot be used as a backup: {why}.",
        code="backup_damaged",
        suggestion="Use another backup. Nothing was changed.",
    )


@contextlib.contextmanager
def _convert_file_errors(path: Path) -> Iterator[None]:
    """An error of the system within this block is one of the file."""
    try:
        yield
    except OSError as error:
        raise _unwritable_error(path, error) from error


def _unwritable_error(path: Path, error: OSError) -> Problem:
    if error.errno in NO_SPACE:
        return StorageFull(
            f"There is no room on the disk for {path}.",
            suggestion="Free some space there, or name another place for it.",
        )
    reason = {
        FileNotFoundError: "its folder is not there",
        NotADirectoryError: "its folder is not there",
        PermissionError: "this user may not",
        FileExistsError: "there is one already",
    }.get(type(error))
    return Invalid(
        f"The file {path} cannot be written{f': {reason}' if reason else ''}.",
        code="file_unwritable",
        suggestion="Name another place for it.",
    )


def _sync_archive_folder(folder: Path) -> None:
    opened_folder = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened_folder)
    finally:
        os.close(opened_folder)
