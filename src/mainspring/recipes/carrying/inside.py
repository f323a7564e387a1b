"""Files inside one folder, reached by handles: nobody can put a link in the way.

A path is looked up again each time it is used, so what was a folder when it was listed may be a
link when it is opened. Here each part of a path is opened in the folder before it, and a link is
refused at every part; only the folder itself may be one.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenFolder:
    """An open folder; every path is one with slashes inside it."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def mode(self, path: str) -> int | None:
        """What kind of thing it is, a link as such; None where there is nothing."""
        try:
            with self._around(path) as (around, name):
                return os.stat(name, dir_fd=around, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    def names(self, path: str, most: int) -> list[str]:
        """What lies in a folder inside, and no more than so many."""
        found: list[str] = []
        with self._around(path) as (around, name):
            handle = os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=around)
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    if len(found) >= most:
                        break
                    found.append(entry.name)
        finally:
            os.close(handle)
        return found

    def read(self, path: str, most: int) -> bytes | None:
        """At most so many bytes of a file; None where it is something else."""
        with self._around(path) as (around, name):
            handle = os.open(name, _FILE, dir_fd=around)
        with open(handle, "rb") as file:
            return file.read(most) if stat.S_ISREG(os.fstat(handle).st_mode) else None

    def write(self, path: str, data: bytes) -> None:
        """A whole file or none: it is written beside its place and put there at once."""
        with self._around(path, make=True) as (around, name):
            beside = f".{secrets.token_hex(8)}.new"
            try:
                with open(os.open(beside, _NEW, 0o644, dir_fd=around), "wb") as file:
                    file.write(data)
                os.replace(beside, name, src_dir_fd=around, dst_dir_fd=around)
            except BaseException:
                with contextlib.suppress(OSError):
                    os.unlink(beside, dir_fd=around)
                raise

    def remove(self, path: str) -> None:
        with self._around(path) as (around, name):
            os.unlink(name, dir_fd=around)

    def remove_empty(self, path: str) -> None:
        """Takes away a folder, and those in it, as far as nothing is left in them."""
        mode = self.mode(path)
        if mode is None or not stat.S_ISDIR(mode):
            return
        for _, inside, _, handle in os.fwalk(path, topdown=False, dir_fd=self._handle):
            for name in inside:
                with contextlib.suppress(OSError):
                    os.rmdir(name, dir_fd=handle)
        with contextlib.suppress(OSError):
            os.rmdir(path, dir_fd=self._handle)

    @contextlib.contextmanager
    def _around(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The folder that a path lies in, open, and the last part of the path."""
        *parents, name = path.split("/")
        handle = os.dup(self._handle)
        try:
            for part in parents:
                if make:
                    with contextlib.suppress(FileExistsError):
                        os.mkdir(part, dir_fd=handle)
                deeper = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
                os.close(handle)
                handle = deeper
            yield handle, name
        finally:
            os.close(handle)


@contextlib.contextmanager
def open_folder(folder: Path) -> Iterator[OpenFolder]:
    """The folder, for as long as it is worked in; wherever it is moved to meanwhile."""
    handle = os.open(folder, _FOLDER)
    try:
        yield OpenFolder(handle)
    finally:
        os.close(handle)
