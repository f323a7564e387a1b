"""Who is up on a data folder: one server at a time, known by process and address.

The one that is up holds a lock on a file for as long as it lives; the kernel gives the lock
back even after kill -9, so what the file says counts only while the lock is held.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mainspring.contracts.errors import Conflict

if TYPE_CHECKING:
    from mainspring.settings import Settings

_FILE = "up.lock"
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The server that is up."""

    pid: int
    address: str
    # Unknown while it starts, and of a server before this version.
    egress_allow: frozenset[str] | None = None
    # Where it is reached on this machine; empty if unknown.
    local_address: str = ""


def find_running_server(home: Path) -> RunningServer | None:
    """The server that is up on this folder, if there is one; looking changes nothing."""
    try:
        file = os.open(home / _FILE, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _read(file)
    finally:
        os.close(file)
    return None


def find_last_address(home: Path) -> str | None:
    """Where the last server on this folder was reached, running or not."""
    try:
        entry = json.loads((home / _FILE).read_bytes()[:_MOST_BYTES])
        return str(entry["address"]) or None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find_own_server(home: Path) -> RunningServer | None:
    """The server that is up on this folder, if the folder is this user's alone to write.

    A user who can write to the folder can name another server there, which would then be sent the
    credentials of this user.
    """
    try:
        found = [os.stat(home), os.stat(home / _FILE)]
    except OSError:
        return None
    if any(one.st_uid != os.geteuid() or one.st_mode & 0o022 for one in found):
        return None
    return find_running_server(home)


def refuse_second(home: Path) -> None:
    """Says who is up, before anything is begun."""
    standing = find_running_server(home)
    if standing is not None:
        raise _already_up(home, standing)


@contextlib.contextmanager
def hold_data_folder(settings: Settings) -> Iterator[None]:
    """Makes the data folder if there is none, and is the one that is up on it meanwhile."""
    from mainspring.store.cluster import describe_folder_error

    make_data_folder(settings)
    try:
        file = _locked(settings)
    except OSError as error:
        raise describe_folder_error(error, settings.home) from error
    try:
        yield
    finally:
        os.close(file)


def make_data_folder(settings: Settings) -> None:
    """The data folder, if there is none."""
    from mainspring.store.cluster import describe_folder_error, make_home
    from mainspring.store.postgres_programs import choose_server_user

    try:
        if settings.database_url is None:
            # The database may run as another user, who has to pass through the folder.
            make_home(settings.home, choose_server_user(settings.home / "postgres" / "data"))
        else:
            settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise describe_folder_error(error, settings.home) from error


def _locked(settings: Settings) -> int:
    file = os.open(settings.home / _FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        described = {
            "pid": os.getpid(),
            "address": settings.address,
            "local_address": settings.local_address,
            "egress_allow": sorted(settings.egress_allow),
        }
        entry = json.dumps(described).encode()
        # Overwritten before it is cut, so a reader never finds the file empty.
        os.pwrite(file, entry, 0)
        os.ftruncate(file, len(entry))
    except BlockingIOError:
        standing = _read(file)
        os.close(file)
        raise _already_up(settings.home, standing) from None
    except OSError:
        os.close(file)
        raise
    return file


def _read(file: int) -> RunningServer:
    try:
        entry = json.loads(os.pread(file, _MOST_BYTES, 0))
        allow = entry.get("egress_allow")
        return RunningServer(
            int(entry["pid"]),
            str(entry["address"]),
            None if allow is None else frozenset(allow),
            str(entry.get("local_address", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        # It has the lock and has not written yet.
        return RunningServer(0, "")


def _already_up(home: Path, standing: RunningServer) -> Conflict:
    who = f" (process {standing.pid}, {standing.address})" if standing.pid else ""
    return Conflict(
        f"Mainspring is already up on the data folder {home}{who}.",
        code="already_up",
        suggestion="Use that one, stop it first, or set MAINSPRING_HOME to another folder.",
    )
