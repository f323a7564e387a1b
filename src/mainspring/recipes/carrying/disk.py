"""The folder itself: read without following anything out of it, written without losing anything.

Only our own places in a folder are looked at: whatever else lies there, such as a Git
repository or a README, is neither read nor touched. Files of things that are gone are removed
where a folder says that it is ours, and nowhere else.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mainspring.contracts.errors import Clash, Finding, Invalid, Missing
from mainspring.contracts.limits import Limits
from mainspring.definition.json_text import read_json
from mainspring.recipes.carrying.carried import FOLDER_OF
from mainspring.recipes.carrying.files import FORMAT, MARKER, RECIPES, SETTINGS
from mainspring.recipes.carrying.reading import MOST_FILES, is_ours

_FOLDERS: Final = tuple(sorted(FOLDER_OF.values()))
_ALONE: Final = (MARKER, RECIPES, SETTINGS)
# automations/report/main.ts, boards/crm/rows/default.jsonl
_DEEPEST: Final = 4
# A folder may hold other files than ours; so many entries are looked at.
_MOST_ENTRIES: Final = 4 * MOST_FILES


@dataclass(frozen=True, slots=True)
class Written:
    """What became of a folder."""

    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]


def read_folder(folder: Path, limits: Limits) -> dict[str, str]:
    """The text of every file that is ours, by its path with slashes."""
    if not folder.is_dir():
        raise Missing(f"There is no folder {_shown(str(folder))}.", code="no_folder")
    files: dict[str, str] = {}
    room = limits.import_bytes
    for path in _found(folder):
        if len(files) >= MOST_FILES:
            raise _refused(path, f"At most {MOST_FILES:,} files are read.", "too_many_files")
        raw = _bytes(folder / path, path, room)
        room -= len(raw)
        try:
            files[path] = raw.decode()
        except UnicodeDecodeError as error:
            detail = f"The file is not UTF-8: byte {error.start} cannot be read."
            raise _refused(path, detail, "file_encoding") from None
    return files


def write_folder(folder: Path, files: Mapping[str, str], limits: Limits) -> Written:
    """Makes our part of the folder what the files say; each of them is whole at any moment."""
    try:
        before = _there(folder, limits)
        folder.mkdir(parents=True, exist_ok=True)
        written: list[str] = []
        unchanged: list[str] = []
        # The marker first: an export that breaks off can be made again.
        for path in sorted(files, key=lambda one: (one != MARKER, one)):
            (written if _put(folder, path, files[path]) else unchanged).append(path)
        removed = sorted(path for path in before if path not in files)
        for path in removed:
            (folder / path).unlink()
        _remove_empty(folder)
    except OSError as error:
        detail = f"The folder {_shown(str(folder))} cannot be written: {error.strerror}."
        raise Invalid(detail, code="folder_unwritable") from None
    return Written(tuple(sorted(written)), tuple(sorted(unchanged)), tuple(removed))


def _there(folder: Path, limits: Limits) -> list[str]:
    """What is ours in the folder now. One that is not marked has nothing at our places."""
    if not folder.is_dir():
        if folder.exists() or folder.is_symlink():
            raise Clash(f"{_shown(str(folder))} is not a folder.", code="folder_taken")
        return []
    taken = [name for name in (*_ALONE, *_FOLDERS) if os.path.lexists(folder / name)]
    if not taken:
        return []
    if not _is_marked(folder, limits):
        raise Clash(
            f"The folder {_shown(str(folder))} holds {taken[0]} already, and no workspace.",
            code="folder_taken",
            suggestion="Choose an empty folder, or one that was exported to before.",
        )
    return [path for path in _found(folder, strict=False) if is_ours(path)]


def _is_marked(folder: Path, limits: Limits) -> bool:
    try:
        marker = read_json(_bytes(folder / MARKER, MARKER, limits.json_bytes), limits)
    except (Invalid, OSError):
        return False
    return isinstance(marker, dict) and marker.get("format") == FORMAT


def _found(folder: Path, *, strict: bool = True) -> list[str]:
    """Paths of the files at our places; a link is never followed."""
    found: list[str] = []
    for number, (path, mode) in enumerate(_walk(folder)):
        if number >= _MOST_ENTRIES:
            raise _refused(path, "There are too many files in this folder.", "too_many_files")
        if stat.S_ISREG(mode):
            found.append(path)
        elif stat.S_ISLNK(mode):
            detail = f"{path!r} is a link; a workspace is made of files and folders."
            raise _refused(path, detail, "file_link")
        elif strict:
            raise _refused(path, f"{path!r} is neither a file nor a folder.", "file_kind")
    return sorted(found)


def _walk(folder: Path) -> Iterator[tuple[str, int]]:
    """Everything at our places but folders, which are walked into as deep as ours go."""
    waiting = [name for name in (*_ALONE, *_FOLDERS) if os.path.lexists(folder / name)]
    while waiting:
        path = waiting.pop()
        mode = (folder / path).lstat().st_mode
        if not stat.S_ISDIR(mode):
            yield path, mode
            continue
        if path.count("/") >= _DEEPEST:
            raise _refused(path, "Folders are nested too deeply here.", "file_depth")
        inside = (entry.name for entry in os.scandir(folder / path))
        waiting += [f"{path}/{name}" for name in inside if not _is_aside(name)]


def _is_aside(name: str) -> bool:
    """What people and systems leave in any folder."""
    return name.startswith(".") or name.upper() in ("README.MD", "THUMBS.DB")


def _bytes(place: Path, path: str, most: int) -> bytes:
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        raise _refused(path, "The file cannot be read.", "file_unreadable") from None
    with open(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _refused(path, "This is not a file.", "file_kind")
        raw = file.read(most + 1)
    if len(raw) > most:
        detail = "The files are larger together than is read."
        raise _refused(path, detail, "files_too_large", "Leave the rows of boards out.")
    return raw


def _put(folder: Path, path: str, text: str) -> bool:
    """Whether the file had to be written; a link on the way is refused."""
    place = folder / path
    inside = Path(path).parent
    for parent in (*reversed(inside.parents), inside):
        here = folder / parent
        if here.is_symlink() and str(parent) != ".":
            raise _refused(str(parent), f"{str(parent)!r} is a link.", "file_link")
    place.parent.mkdir(parents=True, exist_ok=True)
    data = text.encode()
    if place.is_file() and not place.is_symlink() and place.read_bytes() == data:
        return False
    handle, beside = tempfile.mkstemp(prefix=".", suffix=".new", dir=place.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
        os.chmod(beside, 0o644)
        os.replace(beside, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    return True


def _remove_empty(folder: Path) -> None:
    """Folders at our places that nothing is left in."""
    for name in _FOLDERS:
        for here, _, _ in os.walk(folder / name, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(here)


def _shown(name: str) -> str:
    return os.fsencode(name).decode("utf-8", "replace")


def _refused(path: str, detail: str, code: str, suggestion: str | None = None) -> Invalid:
    return Invalid(
        f"{path}: {detail}", code=code, suggestion=suggestion,
        findings=[Finding(path, detail, code, suggestion)],
    )  # fmt: skip
