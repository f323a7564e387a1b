"""The files of the embedded server: layout and creation.

    <home>/lock             the owner of the folder
    <home>/postgres/data    the database files
    <home>/run              the server's socket
    <home>/postgres.log     the server's log

The two folders belong to the server's user; only that user and root can access them.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import stat
from dataclasses import dataclass
from pathlib import Path

from mainspring.contracts.errors import (
    NO_SPACE,
    Conflict,
    InternalError,
    Invalid,
    LimitExceeded,
    Problem,
    StorageFull,
)
from mainspring.store.postgres_programs import (
    PostgresBinaries,
    SystemUser,
    find_inaccessible_path,
    make_private,
)
from mainspring.store.programs import run

# Why the embedded server could not start, with a remedy.

_NO_SPACE = "No space left on device"
_NO_MEMORY = ("Cannot allocate memory", "could not map anonymous shared memory")
_NO_ENTRY = ("Permission denied", "Operation not permitted")
# Start-up errors while the last processes of a killed server are still ending.
_LINGERING = re.compile(r'pre-existing shared memory block|lock file ".*" already exists')


def is_lingering(text: str) -> bool:
    """Whether a retry after a short wait can help."""
    return _LINGERING.search(text) is not None


def describe_folder_error(error: OSError, home: Path) -> Problem:
    """The error for a failed operation on the data folder."""
    if error.errno in NO_SPACE:
        return disk_full_error(home)
    return Invalid(
        f"Mainspring cannot write to the data folder {home}.",
        code="data_folder_not_writable",
        suggestion=(
            "Give this user write permission there, or set MAINSPRING_HOME to another folder."
        ),
    )


def start_problem(text: str, home: Path, account: SystemUser, folder: Path) -> Problem:
    """The error for a Postgres program that ended unexpectedly."""
    if _NO_SPACE in text:
        return disk_full_error(home)
    if account.switched and (closed := find_inaccessible_path(account, folder)) is not None:
        return Invalid(
            f"The database runs as the user {account.name}, who cannot access {closed}.",
            code="data_folder_unreachable",
            suggestion=(
                "Set MAINSPRING_HOME to a folder whose parent folders every user can enter, such "
                "as /var/lib/mainspring."
            ),
        )
    if any(sign in text for sign in _NO_ENTRY):
        return Invalid(
            f"The database runs as the user {account.name}, who has no access to the data folder "
            f"{home}.",
            code="data_folder_not_writable",
            suggestion="Start Mainspring as the owner of the folder, "
            "or set MAINSPRING_HOME to another folder.",
        )
    if any(sign in text for sign in _NO_MEMORY):
        return LimitExceeded(
            "This machine has too little memory for the database.", code="no_memory"
        )
    return InternalError(
        "The embedded database did not start.",
        code="database_start_failed",
        suggestion=f"The last lines of postgres.log in {home} say why.",
    )


def disk_full_error(home: Path) -> StorageFull:
    return StorageFull(
        f"The disk of the data folder {home} is full.",
        suggestion="Free some space, or set MAINSPRING_HOME to a folder on another disk.",
    )


USER = "mainspring"
DATABASE = "mainspring"
SOCKET_NAME = ".s.PGSQL.5432"
# The shortest limit for a socket path on the supported systems.
_SOCKET_PATH_BYTES = 103
_SHORT_PLACE = Path("/tmp")  # noqa: S108  (the folder below it is checked and private)
_BUILTIN_LOCALES_SINCE = 17
_UNFINISHED = "data.new"


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """The paths inside one data folder."""

    home: Path
    socket: Path

    @property
    def private(self) -> Path:
        return self.home / "postgres"

    @property
    def data(self) -> Path:
        return self.private / "data"

    @property
    def log(self) -> Path:
        return self.home / "postgres.log"

    @property
    def major(self) -> int | None:
        """The version of Postgres that created the files; None when there are none yet."""
        try:
            return int((self.data / "PG_VERSION").read_text())
        except FileNotFoundError:
            return None


def locate_cluster(home: Path, uid: int) -> ClusterLayout:
    """The paths of a data folder; a socket whose path is too long gets a short one."""
    socket = home / "run"
    long = len(os.fsencode(socket / SOCKET_NAME)) > _SOCKET_PATH_BYTES
    # A comma would be read as two hosts.
    if long or "," in str(socket):
        marks = hashlib.sha256(f"{uid}:{home.resolve()}".encode(errors="surrogateescape"))
        socket = _SHORT_PLACE / f"mainspring-{marks.hexdigest()[:16]}"
    return ClusterLayout(home, socket)


def make_home(home: Path, account: SystemUser) -> None:
    """Create the data folder; the server's user must be able to traverse it."""
    if not home.is_dir():
        home.mkdir(parents=True)
        home.chmod(0o711 if account.switched else 0o700)


def make_folders(layout: ClusterLayout, account: SystemUser) -> None:
    make_private(layout.private, account)
    if layout.socket.parent == _SHORT_PLACE:
        _refuse_foreign(layout.socket, account)
    make_private(layout.socket, account)


def _refuse_foreign(folder: Path, account: SystemUser) -> None:
    """In a world-writable place, another user may have created the folder first."""
    try:
        found = folder.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {account.uid, os.geteuid()}:
        raise Conflict(
            f"The folder {folder}, needed for the database's socket, is owned by another user.",
            code="socket_folder_taken",
            suggestion="Remove it, or set MAINSPRING_HOME to a shorter path.",
        )


async def make_cluster(
    layout: ClusterLayout, account: SystemUser, binaries: PostgresBinaries
) -> None:
    """Create the database files under a temporary name and rename them when complete.

    Nothing is synced to disk before the end, and everything is before the rename: rows committed
    later must not depend on files that a power failure can lose.
    """
    # A unique name: a process started by a killed predecessor may still be writing.
    making = layout.private / f"{_UNFINISHED}{secrets.token_hex(4)}"
    initdb, postgres = binaries.program("initdb"), binaries.program("postgres")
    steps: list[tuple[list[str | Path], bytes]] = [
        ([initdb, "-D", making, *_build_initdb_options(binaries.major)], b""),
        ([postgres, "--single", "-F", "-D", making, "postgres"], _CREATE),
        ([initdb, "-D", making, "--sync-only"], b""),
    ]
    for command, feed in steps:
        ended = await run(command, account, cwd=layout.home, feed=feed)
        if ended.code != 0 or "ERROR:" in ended.text:
            layout.log.write_text(ended.text, encoding="utf-8")
            raise start_problem(ended.text, layout.home, account, layout.private)
    making.rename(layout.data)
    _sync_folder(layout.private)


def clear_unfinished(layout: ClusterLayout) -> None:
    """Remove what a kill during a first start left behind."""
    for folder in layout.private.glob(f"{_UNFINISHED}*"):
        shutil.rmtree(folder, ignore_errors=True)


_CREATE = f"CREATE DATABASE {DATABASE}\n".encode()


def _build_initdb_options(major: int) -> list[str]:
    # The server listens on no address; if it ever did, nobody could authenticate.
    options = ["-U", USER, "--auth-local=trust", "--auth-host=reject", "--encoding=UTF8"]
    options += ["--data-checksums", "--no-sync", "--no-instructions"]
    if major >= _BUILTIN_LOCALES_SINCE:
        # Makes the sort order of texts independent of the machine's libraries.
        return [*options, "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return [*options, "--locale=C.UTF-8"]


def _sync_folder(folder: Path) -> None:
    """Make a rename inside the folder durable."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
