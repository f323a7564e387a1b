"""A recipe as a folder of its author: the files in it, with no link followed on the way."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mainspring.recipes.package.entries import (
    MOST_BYTES,
    EntryNames,
    entry_error,
    entry_too_large_error,
    format_entry_name,
    is_litter,
    package_too_large_error,
)


class RecipeFolder:
    """The files of a folder that were found to be harmless by name, not yet read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._spent = 0
        gathered = EntryNames()
        self.names = [*_walk_folder(root, "", gathered)]

    def read(self, name: str, most: int) -> bytes:
        """One file, never more of it than its bound and what is left for all."""
        bound = min(most, MOST_BYTES - self._spent)
        made = read_plain(self._root / name, bound + 1, name)
        if len(made) > bound:
            raise entry_too_large_error(name, most) if bound == most else package_too_large_error()
        self._spent += len(made)
        return made


def read_plain(path: Path, most: int, name: str) -> bytes:
    """The first bytes of a plain file; a link, a pipe or a device is refused."""
    try:
        # Without blocking: a pipe in its place would hold the process for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        detail = f"The file {format_entry_name(name)} cannot be read: {error.strerror}."
        raise entry_error(detail, "entry_unreadable") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            detail = f"The entry {format_entry_name(name)} is refused: it is neither a file nor a folder."  # noqa: E501
            raise entry_error(detail, "entry_link")
        return file.read(most)


def _walk_folder(folder: Path, above: str, gathered: EntryNames) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        detail = f"The folder {format_entry_name(above or folder.name)} cannot be read: {error.strerror}."  # noqa: E501
        raise entry_error(detail, "entry_unreadable") from None
    for entry in entries:
        name = above + entry.name
        if is_litter(entry.name):
            continue
        gathered.add(name)
        if entry.is_symlink():
            detail = (
                f"The entry {format_entry_name(name)} is refused: it is a link to another file."
            )
            raise entry_error(detail, "entry_link", "Put the file itself there.")
        if entry.is_dir(follow_symlinks=False):
            yield from _walk_folder(Path(entry.path), f"{name}/", gathered)
        elif entry.is_file(follow_symlinks=False):
            yield name
        else:
            detail = f"The entry {format_entry_name(name)} is refused: it is neither a file nor a folder."  # noqa: E501
            raise entry_error(detail, "entry_link")
