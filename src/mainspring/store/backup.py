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
from mainspring.contracts.errors import Clash, Invalid
from mainspring.store.archive import ArchiveReader, ArchiveWriter, Part, damaged, opened, written
from mainspring.store.asking import Connection
from mainspring.store.database import Database
from mainspring.store.migrate import Applied
from mainspring.store.snapshot import Heading, Snapshot, snapshot
from mainspring.store.tables import Table

FORMAT: Final = 1
_TABLES: Final = "tables/"
_FILES: Final = "files/"
_PIECE: Final = 262_144

# The files that rows speak of, each with the name it has in the archive.
Files = Callable[[Connection], AsyncIterator[tuple[str, Path]]]


@dataclass(frozen=True, slots=True)
class Filed:
    """The files of a backup, all together."""

    # False where files lie in a store of their own, which the backup does not reach.
    kept: bool
    count: int
    size: int
    # Rows whose file was gone.
    missing: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Backup:
    """What a backup says of itself."""

    version: str
    made_at: datetime
    postgres: str
    heading: Heading
    rows: Mapping[str, int]
    parts: Mapping[str, Part]
    keys: tuple[str, ...]
    files: Filed

    @property
    def total(self) -> int:
        return sum(self.rows.values())


async def make_backup(database: Database, path: Path, files: Files | None) -> Backup:
    """Writes a backup of this moment; without ``files`` the rows alone."""
    with written(path) as archive:
        async with snapshot(database) as moment:
            rows: dict[str, int] = {}
            parts: dict[str, Part] = {}
            for table in moment.heading.tables:
                rows[table.name], parts[table.name] = await _kept(archive, moment, table)
            filed = await _kept_files(archive, moment, files)
        made = Backup(
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


async def _kept(archive: ArchiveWriter, moment: Snapshot, table: Table) -> tuple[int, Part]:
    with archive.part(f"{_TABLES}{table.name}") as part:

        async def put(piece: bytes) -> None:
            part.write(piece)

        rows = await moment.copy(table, put)
    return rows, part.done


async def _kept_files(archive: ArchiveWriter, moment: Snapshot, files: Files | None) -> Filed:
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
                raise _unreadable(place) from error
            with source, archive.part(f"{_FILES}{name}") as part:
                while piece := _read(source, place):
                    part.write(piece)
            digest.update(_line(part.done))
            count, size = count + 1, size + part.done.size
    return Filed(files is not None, count, size, missing, digest.hexdigest())


def _read(source: IO[bytes], place: Path) -> bytes:
    try:
        return source.read(_PIECE)
    except OSError as error:
        raise _unreadable(place) from error


def _unreadable(place: Path) -> Invalid:
    return Invalid(
        f"The file {place} cannot be read, so no backup was made.",
        code="file_unreadable",
        suggestion="See that whoever makes backups may read it, and that its disk is well.",
    )


def _line(part: Part) -> bytes:
    return f"{part.name} {part.size} {part.sha256}\n".encode()


@dataclass(slots=True)
class Stored:
    """A backup in an archive that is open: rows for whoever fills a database."""

    archive: ArchiveReader
    backup: Backup

    @property
    def heading(self) -> Heading:
        return self.backup.heading

    async def pieces(self, table: Table) -> AsyncIterator[bytes]:
        for piece in self.archive.pieces(self.backup.parts[table.name]):
            yield piece

    def rows(self, table: Table) -> int:
        return self.backup.rows[table.name]

    async def digest(self, table: Table) -> Decimal | None:
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
            digest.update(_line(Part(f"{_FILES}{name}", size, own.hexdigest())))
            count += 1
        if (count, digest.hexdigest()) != (self.backup.files.count, self.backup.files.sha256):
            raise damaged("its files are not as they were")


def read_backup(archive: ArchiveReader) -> Stored:
    """What an archive says of itself, read and judged."""
    told = archive.manifest()
    if told.get("product") != "mainspring" or not isinstance(told.get("format"), int):
        raise damaged("it was made by something else")
    if told["format"] > FORMAT:
        raise Clash(
            f"This backup was made by Mainspring {str(told.get('version'))[:20]}, in a form that "
            "this one does not know.",
            code="backup_newer",
            suggestion="Use the newer version of Mainspring.",
        )
    try:
        return Stored(archive, _from_dict(told))
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged("its manifest cannot be read") from None


def check_backup(path: Path) -> Backup:
    """Reads a backup from end to end, without a database; a problem if anything is wrong."""
    with opened(path) as archive:
        stored = read_backup(archive)
        stored.check()
        return stored.backup


def _as_dict(made: Backup) -> dict[str, Any]:
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


def _from_dict(told: Mapping[str, Any]) -> Backup:
    applied = tuple(
        Applied(int(one["version"]), str(one["name"]), bytes.fromhex(one["checksum"]))
        for one in told["migrations"]
    )
    tables = [Table(str(one["name"]), tuple(map(str, one["columns"]))) for one in told["tables"]]
    files = told["files"]
    heading = Heading(
        applied,
        tuple(tables),
        {
            str(name): None if last is None else int(last)
            for name, last in told["sequences"].items()
        },
        tuple(datetime.fromisoformat(moment) for moment in told["periods"]),
    )
    return Backup(
        str(told["version"]),
        datetime.fromisoformat(told["made_at"]),
        str(told["postgres"]),
        heading,
        {one["name"]: int(one["rows"]) for one in told["tables"]},
        {
            one["name"]: Part(f"{_TABLES}{one['name']}", int(one["bytes"]), str(one["sha256"]))
            for one in told["tables"]
        },
        tuple(map(str, told["keys"])),
        Filed(
            bool(files["kept"]),
            int(files["count"]),
            int(files["bytes"]),
            int(files["missing"]),
            str(files["sha256"]),
        ),
    )
