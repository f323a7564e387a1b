"""A backup: one moment of the database, and the files that belong to it, in one archive.

It can be made while the server works, read without a database, and put into any Postgres. No
key is in it: what is sealed stays sealed, and the manifest says which key opens it.
"""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any, Final

from mainspring import __version__
from mainspring.contracts.errors import Conflict, Invalid
from mainspring.store.archive import (
    ArchivePart,
    ArchiveReader,
    ArchiveWriter,
    damaged_archive_error,
    open_archive,
    write_archive,
)
from mainspring.store.asking import Connection
from mainspring.store.database import Database
from mainspring.store.migrate import AppliedMigration
from mainspring.store.snapshot import Snapshot, SnapshotHeader, open_snapshot
from mainspring.store.tables import StoredTable

FORMAT: Final = 1
_TABLES: Final = "tables/"
_FILES: Final = "files/"
_PIECE: Final = 262_144

# The files that rows speak of, each with the name it has in the archive.
ListBackupFiles = Callable[[Connection], AsyncIterator[tuple[str, Path]]]


@dataclass(frozen=True, slots=True)
class BackupFiles:
    """The files of a backup, all together."""

    # False where files lie in a store of their own, which the backup does not reach.
    kept: bool
    count: int
    size: int
    # Rows whose file was gone.
    missing: int
    sha256: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What a backup says of itself."""

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
    database: Database, path: Path, files: ListBackupFiles | None
) -> BackupManifest:
    """Writes a backup of this moment; without ``files`` the rows alone."""
    with write_archive(path) as archive:
        async with open_snapshot(database) as moment:
            rows: dict[str, int] = {}
            parts: dict[str, ArchivePart] = {}
            for table in moment.heading.tables:
                rows[table.name], parts[table.name] = await _write_table(archive, moment, table)
            filed = await _write_files(archive, moment, files)
        made = BackupManifest(
            __version__,
            moment.taken_at,
            moment.postgres,
            moment.heading,
            rows,
            parts,
            moment.keys,
            filed,
        )
        archive.finish(_as_dict(made))
    return made


async def _write_table(
    archive: ArchiveWriter, moment: Snapshot, table: StoredTable
) -> tuple[int, ArchivePart]:
    with archive.part(f"{_TABLES}{table.name}") as part:

        async def put(piece: bytes) -> None:
            part.write(piece)

        rows = await moment.copy(table, put)
    return rows, part.done


async def _write_files(
    archive: ArchiveWriter, moment: Snapshot, files: ListBackupFiles | None
) -> BackupFiles:
    digest, count, size, missing = hashlib.sha256(), 0, 0, 0
    if files is not None:
        async for name, place in files(moment.connection):
            try:
                source = place.open("rb")
            except FileNotFoundError:
                # Somebody deleted it after this moment.
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
        suggestion="See that whoever makes backups may read it, and that its disk is well.",
    )


def _format_part_line(part: ArchivePart) -> bytes:
    return f"{part.name} {part.size} {part.sha256}\n".encode()


@dataclass(slots=True)
class OpenBackup:
    """A backup in an archive that is open: rows for whoever fills a database."""

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
        """Each file with its name; all of its pieces are to be taken before the next."""
        for name in self.archive.names:
            if name.startswith(_FILES):
                yield name.removeprefix(_FILES), self.archive.bytes_of(name)

    def check(self) -> None:
        """Reads everything once: every part must be as it was when it was written."""
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
            raise damaged_archive_error("its files are not as they were")


def read_backup(archive: ArchiveReader) -> OpenBackup:
    """What an archive says of itself, read and judged."""
    told = archive.manifest()
    if told.get("product") != "mainspring" or not isinstance(told.get("format"), int):
        raise damaged_archive_error("it was made by something else")
    if told["format"] > FORMAT:
        raise Conflict(
            f"This backup was made by Mainspring {str(told.get('version'))[:20]}, in a form that "
            "this one does not know.",
            code="backup_newer",
            suggestion="Use the newer version of Mainspring.",
        )
    try:
        return OpenBackup(archive, _parse_manifest(told))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged_archive_error("its manifest cannot be read") from None


def check_backup(path: Path) -> BackupManifest:
    """Reads a backup from end to end, without a database; a problem if anything is wrong."""
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


def _parse_manifest(told: Mapping[str, Any]) -> BackupManifest:
    applied = tuple(
        AppliedMigration(int(one["version"]), str(one["name"]), bytes.fromhex(one["checksum"]))
        for one in told["migrations"]
    )
    tables = [
        StoredTable(str(one["name"]), tuple(map(str, one["columns"]))) for one in told["tables"]
    ]
    files = told["files"]
    heading = SnapshotHeader(
        applied,
        tuple(tables),
        {
            str(name): None if last is None else int(last)
            for name, last in told["sequences"].items()
        },
        tuple(datetime.fromisoformat(moment) for moment in told["periods"]),
    )
    return BackupManifest(
        str(told["version"]),
        datetime.fromisoformat(told["made_at"]),
        str(told["postgres"]),
        heading,
        {one["name"]: int(one["rows"]) for one in told["tables"]},
        {
            one["name"]: ArchivePart(
                f"{_TABLES}{one['name']}", int(one["bytes"]), str(one["sha256"])
            )
            for one in told["tables"]
        },
        tuple(map(str, told["keys"])),
        BackupFiles(
            bool(files["kept"]),
            int(files["count"]),
            int(files["bytes"]),
            int(files["missing"]),
            str(files["sha256"]),
        ),
    )
