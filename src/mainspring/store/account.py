"""Who the embedded server runs as, and where that user may go.

Postgres refuses to run as root. When root starts Mainspring the server therefore runs as
the owner of the files that are already there, and as ``nobody`` for new ones: that
account has the same number on nearly every system, so a data folder can be moved.
"""

from __future__ import annotations

import os
import pwd
import stat
from dataclasses import dataclass
from pathlib import Path

from mainspring.contracts.errors import InternalError

NEW_FILES_USER = "nobody"


@dataclass(frozen=True, slots=True)
class SystemUser:
    """An operating-system user; ``switched`` when it is not the one we run as."""

    uid: int
    gid: int
    name: str
    switched: bool


def choose_server_user(files: Path) -> SystemUser:
    """The user for the server whose database files are, or will be, at ``files``."""
    if os.geteuid() != 0:
        return SystemUser(os.geteuid(), os.getegid(), _name_of(os.geteuid()), switched=False)
    try:
        found = files.stat()
    except FileNotFoundError:
        found = None
    if found is not None and found.st_uid != 0:
        return SystemUser(found.st_uid, found.st_gid, _name_of(found.st_uid), switched=True)
    return _choose_new_files_user()


def find_inaccessible_path(account: SystemUser, path: Path) -> Path | None:
    """The first folder on the way, or the path itself, that this user cannot enter."""
    whole = path.resolve()
    for step in (*reversed(whole.parents), whole):
        try:
            found = step.stat()
        except FileNotFoundError:
            return None
        if not found.st_mode & _get_execute_bit(found, account):
            return step
    return None


def make_private(folder: Path, account: SystemUser) -> None:
    """A folder that only this user (and root) may enter."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if account.switched and found.st_uid != account.uid:
        os.chown(folder, account.uid, account.gid, follow_symlinks=False)
    if stat.S_IMODE(found.st_mode) != 0o700:
        folder.chmod(0o700)


def _choose_new_files_user() -> SystemUser:
    try:
        found = pwd.getpwnam(NEW_FILES_USER)
    except KeyError:
        raise InternalError(
            f"The database may not run as root, and there is no user {NEW_FILES_USER!r} here.",
            code="no_server_user",
            suggestion="Start Mainspring as an ordinary user.",
            retryable=False,
        ) from None
    return SystemUser(found.pw_uid, found.pw_gid, NEW_FILES_USER, switched=True)


def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _get_execute_bit(found: os.stat_result, account: SystemUser) -> int:
    if found.st_uid == account.uid:
        return stat.S_IXUSR
    return stat.S_IXGRP if found.st_gid == account.gid else stat.S_IXOTH
