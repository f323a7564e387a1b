"""Why the embedded server could not start, said so that a person can act on it.

What Postgres wrote is read here and stays here: a problem names the folder and the
setting an operator can change, never a line of the log.
"""

from __future__ import annotations

import re
from pathlib import Path

from mainspring.contracts.errors import (
    NO_SPACE,
    InternalError,
    Invalid,
    LimitExceeded,
    Problem,
    StorageFull,
)
from mainspring.store.account import SystemUser, find_inaccessible_path

_NO_SPACE = "No space left on device"
_NO_MEMORY = ("Cannot allocate memory", "could not map anonymous shared memory")
_NO_ENTRY = ("Permission denied", "Operation not permitted")
# What a start says while the last processes of a killed server are still going away.
_LINGERING = re.compile(r'pre-existing shared memory block|lock file ".*" already exists')


def is_lingering(said: str) -> bool:
    """Whether another try in a moment can help."""
    return _LINGERING.search(said) is not None


def describe_folder_error(error: OSError, home: Path) -> Problem:
    """An operation of our own on the data folder failed."""
    if error.errno in NO_SPACE:
        return disk_full_error(home)
    return Invalid(
        f"Mainspring cannot write to the data folder {home}.",
        code="data_folder_not_writable",
        suggestion="Give this user the right to write there, "
        "or set MAINSPRING_HOME to another folder.",
    )


def start_problem(said: str, home: Path, account: SystemUser, folder: Path) -> Problem:
    """A program of Postgres ended although it should not have."""
    if _NO_SPACE in said:
        return disk_full_error(home)
    if account.switched and (closed := find_inaccessible_path(account, folder)) is not None:
        return Invalid(
            f"The database runs as the user {account.name}, who cannot enter {closed}.",
            code="data_folder_unreachable",
            suggestion="Set MAINSPRING_HOME to a folder whose parents everybody may enter, "
            "such as /var/lib/mainspring.",
        )
    if any(sign in said for sign in _NO_ENTRY):
        return Invalid(
            f"The database, run by the user {account.name}, may not use the data folder {home}.",
            code="data_folder_not_writable",
            suggestion="Start Mainspring as the owner of the folder, "
            "or set MAINSPRING_HOME to another folder.",
        )
    if any(sign in said for sign in _NO_MEMORY):
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
        f"The disk that holds the data folder {home} is full.",
        suggestion="Free some space, or set MAINSPRING_HOME to a folder on another disk.",
    )
