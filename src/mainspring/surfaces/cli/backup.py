"""``backup``: makes one while the server works, checks one, and restores one elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Conflict, Problem
from mainspring.store.backup import (
    BackupManifest,
    ListBackupFiles,
    OpenBackup,
    check_backup,
    make_backup,
    open_archive,
    read_backup,
)
from mainspring.store.data_folder import (
    FolderLock,
    finish_replacement,
    is_occupied,
    is_unfinished,
    put_back,
    refuse_unfinished,
    set_aside,
)
from mainspring.store.database import Database
from mainspring.store.embedded import EmbeddedServer
from mainspring.store.restore import load, refuse_occupied, refuse_unfit
from mainspring.store.snapshot import empty_database_error
from mainspring.surfaces.cli import exits
from mainspring.surfaces.cli.formatting import count, date_time, hint
from mainspring.surfaces.cli.progress import show_progress
from mainspring.surfaces.cli.running_server import make_data_folder, refuse_second
from mainspring.surfaces.cli.screen import Screen, clean
from mainspring.surfaces.cli.size import in_bytes
from mainspring.workspace.artifacts.backup import iterate_artifact_files, write_backup_file
from mainspring.workspace.keyring import Keyring
from mainspring.workspace.private_file import write_private

if TYPE_CHECKING:
    from mainspring.settings import Settings
    from mainspring.surfaces.cli.context import CommandContext

_RECORD: Final = "last_backup.json"
_POOL: Final = 2


# Receives the table in progress, and how many of how many are done.
Advance = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class RestoreOptions:
    """What the command line says about a restore."""

    replace: bool = False
    without_key: bool = False


async def make(desk: CommandContext, screen: Screen, path: Path) -> int:
    """A backup of this moment; the server may be up or not."""
    settings = desk.settings()
    refuse_nothing(settings)
    database = await Database.open(settings, attach=True, name="backup", pool_size=_POOL)
    try:
        with show_progress(screen, "Backing up") as line:
            made = await make_backup(database, path, _files(settings), line.update)
    finally:
        await database.close()
    size = os.stat(path).st_size
    _record(settings.home, path, made, size)
    if screen.for_programs:
        screen.answer({"file": str(path), "bytes": size, **_describe_backup(made)})
        return exits.DONE
    screen.say(f"Created the backup {clean(str(path))}, {in_bytes(size)}:", *_lines(made))
    return exits.DONE


def refuse_nothing(settings: Settings) -> None:
    """Looking for a database must not make one."""
    if settings.database_url is None:
        refuse_unfinished(settings.home)
        if not is_occupied(settings.home):
            raise empty_database_error()


def _files(settings: Settings) -> ListBackupFiles | None:
    """Files in a store of their own are kept by that store."""
    if settings.artifacts_url is not None:
        return None
    return functools.partial(iterate_artifact_files, folder=settings.home / "artifacts")


def check(screen: Screen, path: Path) -> int:
    """Reads a backup from end to end; no database is needed, and nothing is changed."""
    found = check_backup(path)
    if screen.for_programs:
        screen.answer({"file": str(path), "whole": True, **_describe_backup(found)})
    else:
        screen.say(f"{clean(str(path))} is complete:", *_lines(found))
    return exits.DONE


async def restore(
    context: CommandContext, screen: Screen, path: Path, options: RestoreOptions
) -> int:
    """Fills an empty place from a backup; what stands in the way is said first."""
    settings = context.settings()
    refuse_second(settings.home)
    with open_archive(path) as archive:
        stored = read_backup(archive)
        refuse_unfit(stored.heading)
        if not options.without_key:
            await _refuse_wrong_key(settings, stored.backup)
        stored.check()
        with show_progress(screen, "Restoring") as line:
            if settings.database_url is None:
                aside = await _into_folder(settings, stored, options, line.update)
            else:
                aside = []
                await _into_database(settings, stored, line.update)
    if screen.for_programs:
        told = [str(one) for one in aside]
        screen.answer({"restored": str(path), "set_aside": told, **_describe_backup(stored.backup)})
        return exits.DONE
    screen.say("Restored the backup:", *_lines(stored.backup))
    screen.say(*(f"  previous    moved to {clean(str(one))}" for one in aside))
    screen.say(f"  next        {hint('up')}; stop every other server that runs these automations")
    return exits.DONE


async def _refuse_wrong_key(settings: Settings, backup: BackupManifest) -> None:
    keys = await Keyring(settings.key_file, settings.master_key_command).keys()
    lacking = [key_id for key_id in backup.keys if keys.find(key_id) is None]
    if lacking:
        here = f"the key here is {keys.current.id}" if keys.current else "there is no key here"
        raise Conflict(
            f"The secrets in this backup open with the master key {', '.join(lacking)}, and "
            f"{here}. Nothing was changed.",
            code="wrong_key",
            suggestion=f"Put the right key into {settings.key_file}, readable by its owner "
            f"alone. If it is lost, --without-key restores everything but the secrets' use.",
        )


async def _into_database(settings: Settings, stored: OpenBackup, progress: Advance) -> None:
    make_data_folder(settings)
    database = await Database.open(settings, name="restore", pool_size=_POOL)
    try:
        await refuse_occupied(database)
        await _load(database, settings, stored, progress)
    finally:
        await database.close()


async def _into_folder(
    settings: Settings, stored: OpenBackup, options: RestoreOptions, progress: Advance
) -> list[Path]:
    home = settings.home
    if is_occupied(home) and not options.replace:
        raise Conflict(
            f"There is a database in the data folder {home} already. Nothing was changed.",
            code="not_empty",
            suggestion="Set MAINSPRING_HOME to a new folder; or say --replace, which sets aside "
            "what is there.",
        )
    make_data_folder(settings)
    lock = FolderLock(home)
    lock.take(home / "run")
    try:
        aside = set_aside(home)
    finally:
        lock.release()
    try:
        async with _server(home) as dsn:
            database = await Database.open(
                replace(settings, database_url=dsn), name="restore", pool_size=_POOL
            )
            try:
                await _load(database, settings, stored, progress)
            finally:
                await database.close()
    except BaseException:
        put_back(home)
        raise
    finish_replacement(home)
    return aside


@contextlib.asynccontextmanager
async def _server(home: Path) -> AsyncIterator[str]:
    server = EmbeddedServer(home, unfinished=is_unfinished(home))
    await server.start_async()
    try:
        yield server.dsn
    finally:
        await server.stop_async()


async def _load(
    database: Database, settings: Settings, stored: OpenBackup, progress: Advance
) -> None:
    folder = settings.home / "artifacts"

    async def bring() -> None:
        for name, pieces in stored.files():
            await asyncio.to_thread(write_backup_file, folder, name, pieces)

    await load(database, stored, bring=bring, progress=progress)


def _record(home: Path, path: Path, made: BackupManifest, size: int) -> None:
    """For whoever asks later when the last one was made."""
    told = {"file": str(path), "made_at": made.made_at.isoformat(), "bytes": size}
    with contextlib.suppress(OSError):
        write_private(home / _RECORD, json.dumps(told).encode())


def last_backup(home: Path) -> tuple[datetime, Path] | None:
    """When the last backup of this data folder was made and where it was put, if one was."""
    try:
        told = json.loads((home / _RECORD).read_text(encoding="utf-8"))
        return datetime.fromisoformat(told["made_at"]), Path(told["file"])
    except (OSError, ValueError, KeyError, TypeError, Problem):
        return None


def _describe_backup(backup: BackupManifest) -> dict[str, Any]:
    return {
        "made_at": backup.made_at,
        "version": backup.version,
        "schema": backup.heading.version,
        "tables": len(backup.heading.tables),
        "rows": backup.total,
        "files": backup.files.count,
        "missing_files": backup.files.missing,
        "files_kept": backup.files.kept,
        "keys": list(backup.keys),
    }


def _lines(backup: BackupManifest) -> list[str]:
    filed = backup.files
    files = (
        f"{count(filed.count, 'file')}, {in_bytes(filed.size)}"
        + (f"; {filed.missing} were missing" if filed.missing else "")
        if filed.kept
        else "none; they are in the store of MAINSPRING_ARTIFACTS_URL"
    )
    named = f"the master key {', '.join(backup.keys)}, which is not in it"
    keys = f"open with {named}" if backup.keys else "none"
    made = f"{date_time(backup.made_at)}, by Mainspring {clean(backup.version)}"
    tables = f"{len(backup.heading.tables)} tables (migration {backup.heading.version})"
    return [
        f"  made        {made}",
        f"  database    {backup.total:,} rows in {tables}",
        f"  files       {files}",
        f"  secrets     {clean(keys)}",
    ]
