"""One owner per data folder.

The owner holds a lock on a file in the folder for as long as it lives; the kernel gives
the lock back even after kill -9. The file says who the owner is and where its server can
be reached, for a clear message and for guests.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path

from mainspring.contracts.errors import Conflict

IN_USE = "data_folder_in_use"


@dataclass(frozen=True, slots=True)
class FolderOwner:
    """The process that holds a data folder, and the folder of its server's socket."""

    pid: int
    socket: Path


class FolderLock:
    """The right to run a server on a data folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file: int | None = None

    @property
    def held(self) -> bool:
        return self._file is not None

    def take(self, socket: Path) -> None:
        """Becomes the owner, or says who it is; taking it twice changes nothing."""
        if self._file is not None:
            return
        file = os.open(_get_lock_path(self._home), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            entry = json.dumps({"pid": os.getpid(), "socket": str(socket)}).encode()
            # Overwritten before it is cut, so a reader never finds the file empty.
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
    """Who wrote the lock file last; that it still holds the lock is not said here."""
    try:
        entry = json.loads(_get_lock_path(home).read_bytes())
        return FolderOwner(int(entry["pid"]), Path(entry["socket"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_in_use(error: BaseException) -> bool:
    """Whether this is the message that another process owns the folder."""
    return isinstance(error, Conflict) and error.code == IN_USE


def _get_lock_path(home: Path) -> Path:
    return home / "lock"


def _folder_in_use_error(home: Path) -> Conflict:
    owner = read_owner(home)
    # A process that has died cannot hold the lock: its successor is still writing.
    who = f" (process {owner.pid})" if owner is not None and is_process_alive(owner.pid) else ""
    return Conflict(
        f"Another Mainspring{who} already uses the data folder {home}.",
        code=IN_USE,
        suggestion="Stop it first, or set MAINSPRING_HOME to another folder.",
    )


def is_process_alive(pid: int) -> bool:
    """Whether a process with this number exists, whoever it belongs to."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
