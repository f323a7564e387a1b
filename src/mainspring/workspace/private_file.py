"""A file for its owner's eyes: written whole or not at all, and a small one is refused when
others could have read it.

A file is written beside its place, brought to the disk and then renamed, so that whoever
looks sees it whole or not at all. What a process that died left behind is known by its name.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

# More than such a file holds; the rest of a larger one need not be read to refuse it.
_MOST_BYTES = 256
_PASSING = ".passing."


class InsecureFileError(Exception):
    """The file is not a plain file that only its owner may read."""


def read_private(path: Path) -> bytes | None:
    """What the file holds, or None when there is none."""
    try:
        # Without blocking: a pipe in its place would hold the process for ever.
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
    """Puts the content in the file's place; a reader sees the old or the new one, whole."""
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
    """Whether a file of this name was never put in its place, if nobody writes it now."""
    return name.startswith(_PASSING)


def sync_folder(path: Path) -> None:
    """Brings to the disk what was put into a folder or taken out of it."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
