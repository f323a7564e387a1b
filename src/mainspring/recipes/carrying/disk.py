"""The folder itself: read without following anything out of it, written without losing anything.

Only our own places in a folder are looked at: whatever else lies there, such as a Git
repository or a README, is neither read nor touched. Files of things that are gone are removed
where a folder says that it is ours, and nowhere else.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound
from mainspring.contracts.limits import Limits
from mainspring.definition.json_text import read_json
from mainspring.recipes.carrying.carried import FOLDER_OF
from mainspring.recipes.carrying.files import MARKER, RECIPES, SETTINGS, WORKSPACE_FORMAT
from mainspring.recipes.carrying.inside import OpenFolder, open_folder
from mainspring.recipes.carrying.reading import MOST_FILES, is_ours

_FOLDERS: Final = tuple(sorted(FOLDER_OF.values()))
_ALONE: Final = (MARKER, RECIPES, SETTINGS)
# automations/report/main.ts, boards/crm/rows/default.jsonl
_DEEPEST: Final = 4
# A folder may hold other files than ours; so many entries are looked at.
_MOST_ENTRIES: Final = 4 * MOST_FILES
# How a system says that a link stands where a file or a folder is opened.
_LINK: Final = (errno.ELOOP, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class FolderWriteResult:
    """What became of a folder."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def read_folder(folder: Path, limits: Limits) -> dict[str, str]:
    """The text of every file that is ours, by its path with slashes."""
    if not folder.is_dir():
        raise NotFound(f"There is no folder {_format_name(str(folder))}.", code="no_folder")
    files: dict[str, str] = {}
    room = limits.import_bytes
    try:
        with open_folder(folder) as inside:
            for path in _find_files(inside):
                if len(files) >= MOST_FILES:
                    detail = f"At most {MOST_FILES:,} files are read."
                    raise _file_error(path, detail, "too_many_files")
                raw = _read_bytes(inside, path, room)
                room -= len(raw)
                files[path] = _decode_text(raw, path)
    except OSError as error:
        detail = f"The folder {_format_name(str(folder))} cannot be read: {error.strerror}."
        raise Invalid(detail, code="folder_unreadable") from None
    return files


def write_folder(folder: Path, files: Mapping[str, str], limits: Limits) -> FolderWriteResult:
    """Makes our part of the folder what the files say; each of them is whole at any moment."""
    try:
        if not folder.is_dir() and os.path.lexists(folder):
            raise Conflict(f"{_format_name(str(folder))} is not a folder.", code="folder_taken")
        folder.mkdir(parents=True, exist_ok=True)
        with open_folder(folder) as inside:
            return _write_files(inside, folder, files, limits)
    except OSError as error:
        detail = f"The folder {_format_name(str(folder))} cannot be written: {error.strerror}."
        raise Invalid(detail, code="folder_unwritable") from None


def _write_files(
    inside: OpenFolder, folder: Path, files: Mapping[str, str], limits: Limits
) -> FolderWriteResult:
    before = _list_own_files(inside, folder, limits)
    written: list[str] = []
    unchanged: list[str] = []
    # The marker first: an export that breaks off can be made again.
    for path in sorted(files, key=lambda one: (one != MARKER, one)):
        (written if _put(inside, path, files[path]) else unchanged).append(path)
    removed = sorted(path for path in before if path not in files)
    for path in removed:
        inside.remove(path)
    for name in _FOLDERS:
        inside.remove_empty(name)
    return FolderWriteResult(tuple(sorted(written)), tuple(sorted(unchanged)), tuple(removed))


def _list_own_files(inside: OpenFolder, folder: Path, limits: Limits) -> list[str]:
    """What is ours in the folder now. One that is not marked has nothing at our places."""
    taken = [name for name in (*_ALONE, *_FOLDERS) if inside.mode(name) is not None]
    if not taken:
        return []
    if not _is_marked(inside, limits):
        raise Conflict(
            f"The folder {_format_name(str(folder))} holds {taken[0]} already, and no workspace.",
            code="folder_taken",
            suggestion="Choose an empty folder, or one that was exported to before.",
        )
    return [path for path in _find_files(inside, strict=False) if is_ours(path)]


def _is_marked(inside: OpenFolder, limits: Limits) -> bool:
    try:
        marker = read_json(_read_bytes(inside, MARKER, limits.json_bytes), limits)
    except Invalid:
        return False
    return isinstance(marker, dict) and marker.get("format") == WORKSPACE_FORMAT


def _find_files(inside: OpenFolder, *, strict: bool = True) -> list[str]:
    """Paths of the files at our places; a link is never followed."""
    found: list[str] = []
    for path, mode in _walk(inside):
        if stat.S_ISREG(mode):
            found.append(path)
        elif stat.S_ISLNK(mode):
            raise _link(path)
        elif strict:
            raise _file_error(path, f"{path!r} is neither a file nor a folder.", "file_kind")
    return sorted(found)


def _walk(inside: OpenFolder, room: int = _MOST_ENTRIES) -> Iterator[tuple[str, int]]:
    """Everything at our places but folders, which are walked into as deep as ours go."""
    waiting = [name for name in (*_ALONE, *_FOLDERS) if inside.mode(name) is not None]
    while waiting:
        path = waiting.pop()
        mode = inside.mode(path)
        if mode is None:
            # It was taken away since it was listed.
            continue
        if not stat.S_ISDIR(mode):
            yield path, mode
            continue
        if path.count("/") >= _DEEPEST:
            raise _file_error(path, "Folders are nested too deeply here.", "file_depth")
        names = inside.names(path, room + 1)
        room -= len(names)
        if room < 0:
            raise _file_error(path, "There are too many files in this folder.", "too_many_files")
        waiting += [f"{path}/{name}" for name in names if not _is_aside(name)]


def _is_aside(name: str) -> bool:
    """What people and systems leave in any folder."""
    return name.startswith(".") or name.upper() in ("README.MD", "THUMBS.DB")


def _read_bytes(inside: OpenFolder, path: str, most: int) -> bytes:
    try:
        raw = inside.read(path, most + 1)
    except OSError as error:
        if error.errno in _LINK:
            raise _link(path) from None
        raise _file_error(path, "The file cannot be read.", "file_unreadable") from None
    if raw is None:
        raise _file_error(path, "This is not a file.", "file_kind")
    if len(raw) > most:
        detail = "The files are larger together than is read."
        raise _file_error(path, detail, "files_too_large", "Leave the rows of boards out.")
    return raw


def _decode_text(raw: bytes, path: str) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        detail = f"The file is not UTF-8: byte {error.start} cannot be read."
        raise _file_error(path, detail, "file_encoding") from None


def _put(inside: OpenFolder, path: str, text: str) -> bool:
    """Whether the file had to be written; a link on the way is refused."""
    data = text.encode()
    try:
        mode = inside.mode(path)
        if mode is not None and stat.S_ISREG(mode) and inside.read(path, len(data) + 1) == data:
            return False
        inside.write(path, data)
    except OSError as error:
        if error.errno in _LINK:
            raise _link(path) from None
        raise
    return True


def _link(path: str) -> Invalid:
    detail = (
        f"{path!r} is a link, or the way to it is no folder; a workspace is made of files and "
        "folders."
    )
    return _file_error(path, detail, "file_link")


def _format_name(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def _file_error(path: str, detail: str, code: str, suggestion: str | None = None) -> Invalid:
    return Invalid(
        f"{path}: {detail}",
        code=code,
        suggestion=suggestion,
        findings=[Finding(path, detail, code, suggestion)],
    )
