"""Backups: a consistent snapshot of the database and its files in one archive.

A backup can be made while the server works, read without a database, and restored into any
Postgres. It contains no key: secrets stay encrypted, and the manifest names the key that decrypts
them.
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
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final

from mainspring import __version__
from mainspring.contracts.errors import NO_SPACE, Conflict, Invalid, NotFound, Problem, StorageFull
from mainspring.store.database import Connection, Database
from mainspring.store.migrate import AppliedMigration
from mainspring.store.snapshot import (
    Snapshot,
    SnapshotHeader,
    StoredTable,
    ignore_progress,
    open_snapshot,
)

# A backup file: a zip archive with a part per table, the files, and a manifest.

MANIFEST: Final = "manifest.json"
_ARCHIVE_CHUNK_BYTES: Final = 262_144
_MOST_MANIFEST_BYTES: Final = 16_777_216
# Higher compression gains little at several times the cost.
_EFFORT: Final = 3
_NO_LINKS: Final = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


@dataclass(frozen=True, slots=True)
class ArchivePart:
    """The expected size and digest of one part of the archive."""

    name: str
    size: int
    sha256: str


@dataclass(slots=True)
class _PartWriter:
    """A part that is being written, with a running size and digest."""

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
    """An archive that is being written."""

    def __init__(self, zipped: zipfile.ZipFile, path: Path) -> None:
        self._zipped = zipped
        self._path = path

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[_PartWriter]:
        """Add a part; its size and digest are known at the end of the block.

        File errors are converted here, because the block may be inside one that treats every
        OSError as an error of the database connection.
        """
        with _convert_file_errors(self._path):
            # The size is not known in advance, so allow for any size.
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
    """Write a new archive: complete and synced when the block succeeds, absent otherwise."""
    if path.exists() or path.is_symlink():
        raise Conflict(
            f"The file {path} already exists.",
            code="file_exists",
            suggestion="Choose another name; a backup never overwrites a file.",
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
    """Rename without replacing a file that was created meanwhile."""
    try:
        os.link(passing, path)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # USB sticks and some network shares support no hard links: reserve the name, then fill the
        # file.
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        try:
            os.replace(passing, path)
        except OSError:
            path.unlink(missing_ok=True)
            raise


class ArchiveReader:
    """An existing archive; read part by part, never as a whole."""

    def __init__(self, zipped: zipfile.ZipFile) -> None:
        self._zipped = zipped

    @property
    def names(self) -> list[str]:
        return self._zipped.namelist()

    def manifest(self) -> dict[str, Any]:
        try:
            entry = self._zipped.getinfo(MANIFEST)
            if entry.file_size > _MOST_MANIFEST_BYTES:
                raise damaged_archive_error("its manifest is too large")
            found = json.loads(self._zipped.read(entry))
        except KeyError:
            raise damaged_archive_error("it has no manifest") from None
        except (*_BROKEN, ValueError):
            raise damaged_archive_error("its manifest cannot be read") from None
        if not isinstance(found, dict):
            raise damaged_archive_error("its manifest cannot be read")
        return found

    def bytes_of(self, name: str) -> Iterator[bytes]:
        """The chunks of a part."""
        try:
            with self._zipped.open(name) as source:
                while piece := source.read(_ARCHIVE_CHUNK_BYTES):
                    yield piece
        except KeyError:
            raise damaged_archive_error(f"the part {name} is missing") from None
        except _BROKEN:
            raise damaged_archive_error(f"the part {name} cannot be read") from None

    def pieces(self, part: ArchivePart) -> Iterator[bytes]:
        """The chunks of a part; raises an error at the end if the part is damaged."""
        digest, size = hashlib.sha256(), 0
        for piece in self.bytes_of(part.name):
            digest.update(piece)
            size += len(piece)
            yield piece
        if (size, digest.hexdigest()) != (part.size, part.sha256):
            raise damaged_archive_error(f"the part {part.name} does not match its checksum")


@contextlib.contextmanager
def open_archive(path: Path) -> Iterator[ArchiveReader]:
    """Open an archive for reading."""
    try:
        zipped = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise NotFound(
            f"There is no file {path}.",
            code="no_backup",
            suggestion="Name a file that `mainspring backup make` has written.",
        ) from None
    except OSError:
        raise Invalid(f"The file {path} cannot be read.", code="backup_unreadable") from None
    except _BROKEN:
        raise damaged_archive_error("it is not a backup, or it is truncated") from None
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
    """Convert an OSError within this block to an error of the file."""
    try:
        yield
    except OSError as error:
        raise _unwritable_error(path, error) from error


def _unwritable_error(path: Path, error: OSError) -> Problem:
    if error.errno in NO_SPACE:
        return StorageFull(
            f"There is not enough disk space for {path}.",
            suggestion="Free some space there, or choose another place.",
        )
    reason = {
        FileNotFoundError: "its folder does not exist",
        NotADirectoryError: "its folder does not exist",
        PermissionError: "this user has no permission",
        FileExistsError: "it already exists",
    }.get(type(error))
    return Invalid(
        f"The file {path} cannot be written{f': {reason}' if reason else ''}.",
        code="file_unwritable",
        suggestion="Choose another place.",
    )


def _sync_archive_folder(folder: Path) -> None:
    opened_folder = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened_folder)
    finally:
        os.close(opened_folder)


FORMAT: Final = 1
_TABLES: Final = "tables/"
_FILES: Final = "files/"
_PIECE: Final = 262_144

# The files that rows refer to, each with its name in the archive.
ListBackupFiles = Callable[[Connection], AsyncIterator[tuple[str, Path]]]


@dataclass(frozen=True, slots=True)
class BackupFiles:
    """The totals of the files in a backup."""

    # False when files are in an object store, which the backup does not include.
    kept: bool
    count: int
    size: int
    # Rows whose file was missing.
    missing: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The manifest of a backup."""

    version: str
    made_at: datetime
    postgres: str
    heading: SnapshotHeader
    rows: Mapping[str, int]
    parts: Mapping[str, ArchivePart]
    keys: tuple[str, ...]
    files: BackupFiles

    @property
    def total(self) -> int:
        return sum(self.rows.values())


async def make_backup(
    database: Database,
    path: Path,
    files: ListBackupFiles | None,
    progress: Callable[[str, int, int], None] = ignore_progress,
) -> BackupManifest:
    """Write a backup of the current state; without ``files`` only the rows.

    ``progress`` is called with the table in progress, and how many of how many are done.
    """
    with write_archive(path) as archive:
        async with open_snapshot(database) as snapshot:
            rows: dict[str, int] = {}
            parts: dict[str, ArchivePart] = {}
            total = len(snapshot.heading.tables)
            for done, table in enumerate(snapshot.heading.tables):
                progress(table.name, done, total)
                rows[table.name], parts[table.name] = await _write_table(archive, snapshot, table)
            progress("files", total, total)
            filed = await _write_files(archive, snapshot, files)
        made = BackupManifest(
            __version__,
            snapshot.taken_at,
            snapshot.postgres,
            snapshot.heading,
            rows,
            parts,
            snapshot.keys,
            filed,
        )
        archive.finish(_as_dict(made))
    return made


async def _write_table(
    archive: ArchiveWriter, snapshot: Snapshot, table: StoredTable
) -> tuple[int, ArchivePart]:
    with archive.part(f"{_TABLES}{table.name}") as part:

        async def put(piece: bytes) -> None:
            part.write(piece)

        rows = await snapshot.copy(table, put)
    return rows, part.done


async def _write_files(
    archive: ArchiveWriter, snapshot: Snapshot, files: ListBackupFiles | None
) -> BackupFiles:
    digest, count, size, missing = hashlib.sha256(), 0, 0, 0
    if files is not None:
        async for name, place in files(snapshot.connection):
            try:
                source = place.open("rb")
            except FileNotFoundError:
                # It was deleted after the snapshot.
                missing += 1
                continue
            except OSError as error:
                raise _unreadable_error(place) from error
            with source, archive.part(f"{_FILES}{name}") as part:
                while piece := _read(source, place):
                    part.write(piece)
            digest.update(_format_part_line(part.done))
            count, size = count + 1, size + part.done.size
    return BackupFiles(files is not None, count, size, missing, digest.hexdigest())


def _read(source: IO[bytes], place: Path) -> bytes:
    try:
        return source.read(_PIECE)
    except OSError as error:
        raise _unreadable_error(place) from error


def _unreadable_error(place: Path) -> Invalid:
    return Invalid(
        f"The file {place} cannot be read, so no backup was made.",
        code="file_unreadable",
        suggestion="Check that the user who makes backups can read it, and that its disk works.",
    )


def _format_part_line(part: ArchivePart) -> bytes:
    return f"{part.name} {part.size} {part.sha256}\n".encode()


@dataclass(slots=True)
class OpenBackup:
    """A backup in an open archive, as the source of a restore."""

    archive: ArchiveReader
    backup: BackupManifest

    @property
    def heading(self) -> SnapshotHeader:
        return self.backup.heading

    async def pieces(self, table: StoredTable) -> AsyncIterator[bytes]:
        for piece in self.archive.pieces(self.backup.parts[table.name]):
            yield piece

    def rows(self, table: StoredTable) -> int:
        return self.backup.rows[table.name]

    async def digest(self, table: StoredTable) -> Decimal | None:
        return None

    def files(self) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Each file with its name; consume all chunks of one before the next."""
        for name in self.archive.names:
            if name.startswith(_FILES):
                yield name.removeprefix(_FILES), self.archive.bytes_of(name)

    def check(self) -> None:
        """Read everything once and verify every part."""
        for part in self.backup.parts.values():
            for _ in self.archive.pieces(part):
                pass
        digest, count = hashlib.sha256(), 0
        for name, pieces in self.files():
            own, size = hashlib.sha256(), 0
            for piece in pieces:
                own.update(piece)
                size += len(piece)
            digest.update(_format_part_line(ArchivePart(f"{_FILES}{name}", size, own.hexdigest())))
            count += 1
        if (count, digest.hexdigest()) != (self.backup.files.count, self.backup.files.sha256):
            raise damaged_archive_error("its files do not match their checksums")


def read_backup(archive: ArchiveReader) -> OpenBackup:
    """Read and validate the manifest of an archive."""
    result = archive.manifest()
    if result.get("product") != "mainspring" or not isinstance(result.get("format"), int):
        raise damaged_archive_error("it was made by another program")
    if result["format"] > FORMAT:
        raise Conflict(
            f"This backup was made by Mainspring {str(result.get('version'))[:20]} in a format "
            "that this version does not support.",
            code="backup_newer",
            suggestion="Use the newer version of Mainspring.",
        )
    try:
        return OpenBackup(archive, _parse_manifest(result))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged_archive_error("its manifest cannot be read") from None


def check_backup(path: Path) -> BackupManifest:
    """Verify a backup from end to end, without a database; raises an error if it is damaged."""
    with open_archive(path) as archive:
        stored = read_backup(archive)
        stored.check()
        return stored.backup


def _as_dict(made: BackupManifest) -> dict[str, Any]:
    heading = made.heading
    return {
        "product": "mainspring",
        "format": FORMAT,
        "version": made.version,
        "made_at": made.made_at.isoformat(),
        "postgres": made.postgres,
        "schema": heading.version,
        "migrations": [
            {"version": one.version, "name": one.name, "checksum": one.checksum.hex()}
            for one in heading.applied
        ],
        "tables": [
            {
                "name": table.name,
                "columns": list(table.columns),
                "rows": made.rows[table.name],
                "bytes": made.parts[table.name].size,
                "sha256": made.parts[table.name].sha256,
            }
            for table in heading.tables
        ],
        "sequences": dict(heading.sequences),
        "periods": [moment.isoformat() for moment in heading.periods],
        "keys": list(made.keys),
        "files": {
            "kept": made.files.kept,
            "count": made.files.count,
            "bytes": made.files.size,
            "missing": made.files.missing,
            "sha256": made.files.sha256,
        },
    }


def _parse_manifest(result: Mapping[str, Any]) -> BackupManifest:
    applied = tuple(
        AppliedMigration(int(one["version"]), str(one["name"]), bytes.fromhex(one["checksum"]))
        for one in result["migrations"]
    )
    tables = [
        StoredTable(str(one["name"]), tuple(map(str, one["columns"]))) for one in result["tables"]
    ]
    files = result["files"]
    heading = SnapshotHeader(
        applied,
        tuple(tables),
        {
            str(name): None if last is None else int(last)
            for name, last in result["sequences"].items()
        },
        tuple(datetime.fromisoformat(moment) for moment in result["periods"]),
    )
    return BackupManifest(
        str(result["version"]),
        datetime.fromisoformat(result["made_at"]),
        str(result["postgres"]),
        heading,
        {one["name"]: int(one["rows"]) for one in result["tables"]},
        {
            one["name"]: ArchivePart(
                f"{_TABLES}{one['name']}", int(one["bytes"]), str(one["sha256"])
            )
            for one in result["tables"]
        },
        tuple(map(str, result["keys"])),
        BackupFiles(
            bool(files["kept"]),
            int(files["count"]),
            int(files["bytes"]),
            int(files["missing"]),
            str(files["sha256"]),
        ),
    )
