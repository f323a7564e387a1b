"""A recipe as a folder of its author: the files in it, with no link followed on the way."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mainspring.recipes.package.entries import (
    MOST_BYTES,
    Gathered,
    all_too_large,
    is_litter,
    refusal,
    shown,
    too_large,
)


class Folder:
    """The files of a folder that were found to be harmless by name, not yet read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._spent = 0
        gathered = Gathered()
        self.names = [*_walked(root, "", gathered)]

    def read(self, name: str, most: int) -> bytes:
        """One file, never more of it than its bound and what is left for all."""
        bound = min(most, MOST_BYTES - self._spent)
        made = read_plain(self._root / name, bound + 1, name)
        if len(made) > bound:
            raise too_large(name, most) if bound == most else all_too_large()
        self._spent += len(made)
        return made


def read_plain(path: Path, most: int, name: str) -> bytes:
    """The first bytes of a plain file; a link, a pipe or a device is refused."""
    try:
        # Without blocking: a pipe in its place would hold the process for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        detail = f"The file {shown(name)} cannot be read: {error.strerror}."
        raise refusal(detail, "entry_unreadable") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            detail = f"The entry {shown(name)} is refused: it is neither a file nor a folder."
            raise refusal(detail, "entry_link")
        return file.read(most)


def _walked(folder: Path, above: str, gathered: Gathered) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        detail = f"The folder {shown(above or folder.name)} cannot be read: {error.strerror}."
        raise refusal(detail, "entry_unreadable") from None
    for entry in entries:
        name = above + entry.name
        if is_litter(entry.name):
            continue
        gathered.add(name)
        if entry.is_symlink():
            detail = f"The entry {shown(name)} is refused: it is a link to another file."
            raise refusal(detail, "entry_link", "Put the file itself there.")
        if entry.is_dir(follow_symlinks=False):
            yield from _walked(Path(entry.path), f"{name}/", gathered)
        elif entry.is_file(follow_symlinks=False):
            yield name
        else:
            detail = f"The entry {shown(name)} is refused: it is neither a file nor a folder."
            raise refusal(detail, "entry_link")
