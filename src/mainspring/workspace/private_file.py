"""Files readable by their owner only, written atomically.

A file is written under a temporary name, synced and renamed, so that readers see it completely or
not at all. Leftovers of a crashed process are recognised by name. Reading rejects a file that
others could have read.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

# Larger than any such file; a larger one is rejected without reading the rest.
_MOST_BYTES = 256
_PASSING = ".passing."


class InsecureFileError(Exception):
    """The file is not a regular file that only its owner may read."""


def read_private(path: Path) -> bytes | None:
    """Read the file; None when there is none."""
    try:
        # Non-blocking: opening a named pipe would block the process for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    try:
        mode = os.fstat(handle).st_mode
        if not stat.S_ISREG(mode) or mode & 0o077:
            raise InsecureFileError
        return os.read(handle, _MOST_BYTES)
    finally:
        os.close(handle)


def write_private(path: Path, content: bytes) -> None:
    """Replace the file's content atomically."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    passing = path.with_name(f"{_PASSING}{secrets.token_hex(8)}")
    try:
        handle = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(path)
    finally:
        passing.unlink(missing_ok=True)
    sync_folder(path.parent)


def is_left_behind(name: str) -> bool:
    """Report whether a name is that of an unfinished write, if nobody is writing now."""
    return name.startswith(_PASSING)


def sync_folder(path: Path) -> None:
    """Sync a folder after entries were added or removed."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
