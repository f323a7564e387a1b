"""Reading and writing the export folder safely.

Only known paths are read or written; other files, such as a Git repository or a README, are left
alone. Symbolic links are never followed. Stale files are only deleted in a folder with our marker.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Conflict, Finding, Invalid, NotFound
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.recipes.carrying.model import FOLDER_OF
from mainspring.recipes.carrying.workspace_files import (
    MARKER,
    MOST_FILES,
    RECIPES,
    SETTINGS,
    WORKSPACE_FORMAT,
    is_ours,
)

# File access relative to directory handles, so that no symbolic link can redirect it.

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class OpenFolder:
    """An open folder; paths are relative, with slashes."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def mode(self, path: str) -> int | None:
        """The file mode without following links; None when missing."""
        try:
            with self._around(path) as (around, name):
                return os.stat(name, dir_fd=around, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return None

    def names(self, path: str, most: int) -> list[str]:
        """List a subfolder, up to a limit."""
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
        """Read up to a number of bytes; None when it is not a regular file."""
        with self._around(path) as (around, name):
            handle = os.open(name, _FILE, dir_fd=around)
        with open(handle, "rb") as file:
            return file.read(most) if stat.S_ISREG(os.fstat(handle).st_mode) else None

    def write(self, path: str, data: bytes) -> None:
        """Write a file atomically: to a temporary name, then renamed."""
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
        """Remove a folder and its subfolders, as far as they are empty."""
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
        """Open the parent folder of a path; yield it with the last component."""
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
    """Open the folder; the handle stays valid when it is moved."""
    handle = os.open(folder, _FOLDER)
    try:
        yield OpenFolder(handle)
    finally:
        os.close(handle)


_FOLDERS: Final = tuple(sorted(FOLDER_OF.values()))
_ALONE: Final = (MARKER, RECIPES, SETTINGS)
# automations/report/main.ts, boards/crm/rows/default.jsonl
_DEEPEST: Final = 4
# A folder may hold other files than ours; this many entries are scanned.
_MOST_ENTRIES: Final = 4 * MOST_FILES
# Errors of opening a symbolic link with O_NOFOLLOW.
_LINK: Final = (errno.ELOOP, errno.ENOTDIR)


@dataclass(frozen=True, slots=True)
class FolderWriteResult:
    """What was written and removed."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def read_folder(folder: Path, limits: Limits) -> dict[str, str]:
    """Read every one of our files, by path."""
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
    """Make our part of the folder match the files, each written atomically."""
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
    # The marker first, so that an interrupted export can be repeated.
    for path in sorted(files, key=lambda one: (one != MARKER, one)):
        (written if _put(inside, path, files[path]) else unchanged).append(path)
    removed = sorted(path for path in before if path not in files)
    for path in removed:
        inside.remove(path)
    for name in _FOLDERS:
        inside.remove_empty(name)
    return FolderWriteResult(tuple(sorted(written)), tuple(sorted(unchanged)), tuple(removed))


def _list_own_files(inside: OpenFolder, folder: Path, limits: Limits) -> list[str]:
    """List our files in the folder. Without a marker, none may exist at our paths."""
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
    """List regular files at our paths, following no links."""
    found: list[str] = []
    for path, mode in _walk(inside):
        if stat.S_ISREG(mode):
            found.append(path)
        elif stat.S_ISLNK(mode):
            raise _link(path)
        elif strict:
            raise _file_error(path, f"{path!r} is not a file or a folder.", "file_kind")
    return sorted(found)


def _walk(inside: OpenFolder, room: int = _MOST_ENTRIES) -> Iterator[tuple[str, int]]:
    """Walk our paths down to the maximum depth, yielding everything but folders."""
    waiting = [name for name in (*_ALONE, *_FOLDERS) if inside.mode(name) is not None]
    while waiting:
        path = waiting.pop()
        mode = inside.mode(path)
        if mode is None:
            # Deleted since it was listed.
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
    """Files that editors and operating systems leave behind."""
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
    """Write a file if it changed; a link on the way is rejected."""
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
