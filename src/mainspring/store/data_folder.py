"""Data folder ownership: one owner process per folder, enforced with a file lock.

The owner holds the lock for as long as it lives; the kernel releases it even after kill -9. The
lock file names the owner and where its server can be reached, for error messages and for processes
that attach to it.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Conflict

# Replaces the files of a data folder, and keeps the previous ones.

_MARK: Final = "restore.unfinished"
# What a restore fills: the database files and the files that runs created.
_FILLED: Final = ("postgres", "artifacts")


def is_occupied(home: Path) -> bool:
    """Whether the folder contains a completely initialised database."""
    return (home / "postgres" / "data" / "PG_VERSION").is_file() and not is_unfinished(home)


def is_unfinished(home: Path) -> bool:
    return (home / _MARK).exists()


def set_aside(home: Path) -> list[Path]:
    """Mark the folder and move its contents aside; returns where they are now.

    After an interrupted restore, its partial result is removed instead.
    """
    mark = home / _MARK
    try:
        stamp = str(json.loads(mark.read_text(encoding="utf-8"))["stamp"])
    except (OSError, ValueError, KeyError, TypeError):
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        mark.write_text(json.dumps({"stamp": stamp}), encoding="utf-8")
        # Before anything is moved: losing the mark in a crash would leave two halves.
        _sync_path(mark)
        _sync_path(home)
    for name in _FILLED:
        there, aside = home / name, _build_aside_path(home, name, stamp)
        if aside.exists() or _is_marked_empty(home, name, stamp):
            shutil.rmtree(there, ignore_errors=True)
        elif there.exists():
            there.rename(aside)
        else:
            # Record that nothing was there, so that a retry does not mistake our files for the
            # user's.
            _build_mark_path(home, name, stamp).touch()
    _sync_path(home)
    return [
        _build_aside_path(home, name, stamp)
        for name in _FILLED
        if _build_aside_path(home, name, stamp).exists()
    ]


def put_back(home: Path) -> None:
    """Undo the replacement: move the previous files back."""
    stamp = str(json.loads((home / _MARK).read_text(encoding="utf-8"))["stamp"])
    for name in _FILLED:
        aside = _build_aside_path(home, name, stamp)
        if aside.exists() or _is_marked_empty(home, name, stamp):
            shutil.rmtree(home / name, ignore_errors=True)
        if aside.exists():
            aside.rename(home / name)
    finish_replacement(home)


def finish_replacement(home: Path) -> None:
    """Remove the mark: the contents are complete."""
    for path in home.glob(f"{_MARK}.*"):
        path.unlink(missing_ok=True)
    (home / _MARK).unlink(missing_ok=True)
    _sync_path(home)


def refuse_unfinished(home: Path) -> None:
    """No server starts on a partially restored database."""
    if is_unfinished(home):
        raise Conflict(
            f"Restoring a backup into the data folder {home} was interrupted.",
            code="restore_unfinished",
            suggestion="Restore it again with the same command: `backup restore FILE --replace`.",
        )


def _build_aside_path(home: Path, name: str, stamp: str) -> Path:
    return home / f"{name}.before-{stamp}"


def _build_mark_path(home: Path, name: str, stamp: str) -> Path:
    return home / f"{_MARK}.no-{name}-{stamp}"


def _is_marked_empty(home: Path, name: str, stamp: str) -> bool:
    return _build_mark_path(home, name, stamp).exists()


def _sync_path(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


IN_USE = "data_folder_in_use"


@dataclass(frozen=True, slots=True)
class FolderOwner:
    """The process that holds a data folder, and the folder of its server's socket."""

    pid: int
    socket: Path


class FolderLock:
    """The lock that allows a process to run a server on a data folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def take(self, socket: Path) -> None:
        """Become the owner, or raise an error that names the owner; idempotent."""
        if self._file is not None:
            return
        file = os.open(_get_lock_path(self._home), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry = json.dumps({"pid": os.getpid(), "socket": str(socket)}).encode()
            # Overwritten before it is truncated, so a reader never finds the file empty.
            os.pwrite(file, entry, 0)
            os.ftruncate(file, len(entry))
        except BlockingIOError:
            os.close(file)
            raise _folder_in_use_error(self._home) from None
        except OSError:
            os.close(file)
            raise
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None


def read_owner(home: Path) -> FolderOwner | None:
    """The process that wrote the lock file last, which may not hold the lock any more."""
    try:
        entry = json.loads(_get_lock_path(home).read_bytes())
        return FolderOwner(int(entry["pid"]), Path(entry["socket"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_in_use(error: BaseException) -> bool:
    """Whether an error says that another process owns the folder."""
    return isinstance(error, Conflict) and error.code == IN_USE


def _get_lock_path(home: Path) -> Path:
    return home / "lock"


def _folder_in_use_error(home: Path) -> Conflict:
    owner = read_owner(home)
    # A dead process cannot hold the lock: the new owner is still writing the file.
    who = f" (process {owner.pid})" if owner is not None and is_process_alive(owner.pid) else ""
    return Conflict(
        f"Another Mainspring{who} already uses the data folder {home}.",
        code=IN_USE,
        suggestion="Stop it first, or set MAINSPRING_HOME to another folder.",
    )


def is_process_alive(pid: int) -> bool:
    """Whether a process with this id exists, of any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
