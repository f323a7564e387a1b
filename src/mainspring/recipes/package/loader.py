"""Loading a recipe from a .json file, a folder, or a .zip of such a folder.

A folder is for authoring: script, preview and examples are separate files next to ``recipe.json``.
Loading merges them into the one document that is published.
"""

from __future__ import annotations

import io
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol

from mainspring.contracts.errors import Finding, Invalid, NotFound
from mainspring.contracts.limits import Limits
from mainspring.definition.strict_json import read_json
from mainspring.definition.suggestions import suggest_nearest
from mainspring.recipes.compiling.compiler import is_bare, wrap_bare_recipe

# Limits on untrusted files.

MOST_ENTRIES: Final = 200
MOST_BYTES: Final = 4 * 1_048_576
# Above any text's compression ratio; higher means a zip bomb.
MOST_RATIO: Final = 200

_LONGEST_NAME: Final = 200
_DEEPEST: Final = 8
_SEGMENT: Final = re.compile(r"[A-Za-z0-9_.@+()\[\] -]+")
_DRIVE: Final = re.compile(r"[A-Za-z]:")
_DEVICE: Final = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")
_ARCHIVES: Final = (
    ".zip",
    ".tar",
    ".tgz",
    ".gz",
    ".bz2",
    ".xz",
    ".zst",
    ".7z",
    ".rar",
    ".jar",
    ".whl",
    ".br",
)
# Metadata files of operating systems.
_LITTER: Final = ("__MACOSX",)


class EntryNames:
    """The names seen so far, with the limits for all of them together."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def add(self, name: str) -> None:
        """Add an entry, or reject it by its name."""
        if len(self.names) >= MOST_ENTRIES:
            raise too_many_entries_error()
        fault = name_fault(name)
        if fault is not None:
            raise entry_error(
                f"The entry {format_entry_name(name)} is refused: {fault}.", "bad_entry_name"
            )
        other = self.names.get(name.casefold())
        if other == name:
            raise entry_error(
                f"The entry {format_entry_name(name)} is in the archive twice.", "entry_twice"
            )
        if other is not None:
            detail = f"The entries {format_entry_name(other)} and {format_entry_name(name)} differ only in capitals."  # noqa: E501
            raise entry_error(detail, "entry_case", "Give one of them another name.")
        if name.lower().endswith(_ARCHIVES):
            detail = f"The entry {format_entry_name(name)} is an archive inside the recipe, which is not read."  # noqa: E501
            raise entry_error(detail, "nested_archive", "Remove it, or put its files next to it.")
        self.names[name.casefold()] = name


def name_fault(name: str) -> str | None:
    """Explain why a file name is invalid; None when it is valid."""
    if not name or len(name) > _LONGEST_NAME:
        return f"a name has 1 to {_LONGEST_NAME} characters"
    if "\\" in name:
        return "folders are divided by /, not by a backslash"
    if name.startswith("/"):
        return "its path begins at the root of a disk"
    if _DRIVE.match(name):
        return "its path begins with a drive"
    parts = name.split("/")
    if len(parts) > _DEEPEST:
        return f"it is more than {_DEEPEST} folders deep"
    for part in parts:
        fault = _find_part_fault(part)
        if fault is not None:
            return fault
    return None


def _find_part_fault(part: str) -> str | None:
    if part == "..":
        return "its path leads out of the recipe"
    if part in ("", "."):
        return "its path has an empty part"
    if not _SEGMENT.fullmatch(part):
        return "its name has a character that not every system takes"
    if part[-1] in ". " or part[0] == " ":
        return "its name begins with a blank, or ends with a blank or a dot"
    if _DEVICE.fullmatch(part):
        return "its name is that of a device on some systems"
    return None


def is_litter(name: str) -> bool:
    """Report whether an entry is operating-system metadata, which is never read."""
    return any(part.startswith(".") or part in _LITTER for part in name.split("/"))


def entry_error(detail: str, code: str, suggestion: str | None = None) -> Invalid:
    """The error of one entry, or of all of them."""
    finding = Finding("", detail, code, suggestion)
    return Invalid(detail, code=code, findings=[finding], suggestion=suggestion)


def too_many_entries_error() -> Invalid:
    return entry_error(f"A recipe has at most {MOST_ENTRIES} files.", "too_many_entries")


def entry_too_large_error(name: str, most: int) -> Invalid:
    detail = f"The entry {format_entry_name(name)} is larger than {most:,} bytes."
    return entry_error(detail, "entry_too_large")


def package_too_large_error() -> Invalid:
    detail = f"The files of a recipe are at most {MOST_BYTES:,} bytes together."
    return entry_error(detail, "recipe_too_large")


def format_entry_name(name: str) -> str:
    """Format a name for a message: short, and without terminal control characters."""
    plain = name if len(name) <= 80 else name[:80] + "…"
    return repr(plain)


# A .zip recipe, read in memory within limits that do not rely on its headers.

_FIRST: Final = b"PK\x03\x04"
_LISTED: Final = b"PK\x01\x02"
_PIECE: Final = 65_536
_ENCRYPTED: Final = 0x1 | 0x40
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Everything that zipfile raises for a damaged archive.
_DAMAGE: Final = (
    zipfile.BadZipFile,
    zlib.error,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
    OverflowError,
    struct.error,
)


class RecipeArchive:
    """The entries of a .zip with valid names, not yet decompressed."""

    def __init__(self, data: bytes) -> None:
        self._zip, self._entries = _open_zip(data)
        self._spent = 0

    @property
    def names(self) -> list[str]:
        return [*self._entries]

    def read(self, name: str, most: int) -> bytes:
        """Read an entry, within its own limit and the remaining total."""
        entry = self._entries[name]
        bound = min(most, MOST_BYTES - self._spent)
        made = bytearray()
        try:
            with self._zip.open(entry) as packed:
                while piece := packed.read(min(_PIECE, bound + 1 - len(made))):
                    made += piece
                    if len(made) > bound:
                        raise (
                            entry_too_large_error(name, most)
                            if bound == most
                            else package_too_large_error()
                        )
        except Invalid:
            raise
        except _DAMAGE:
            detail = f"The entry {format_entry_name(name)} is damaged."
            raise entry_error(detail, "archive_damaged", "Pack the folder again.") from None
        self._spent += len(made)
        return bytes(made)


def is_archive(data: bytes) -> bool:
    return data.startswith(_FIRST)


def _open_zip(data: bytes) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    if len(data) > MOST_BYTES:
        raise entry_error(f"An archive has at most {MOST_BYTES:,} bytes.", "archive_too_large")
    # Counted before zipfile parses the directory, which costs more than the archive itself.
    if data.count(_LISTED) > MOST_ENTRIES:
        raise too_many_entries_error()
    if not is_archive(data):
        detail = "This is not a .zip of a folder with a recipe.json in it."
        raise entry_error(detail, "archive_damaged")
    try:
        opened = zipfile.ZipFile(io.BytesIO(data))
        listed = opened.infolist()
    except _DAMAGE:
        raise entry_error("The archive is damaged and cannot be read.", "archive_damaged") from None
    gathered, kept = EntryNames(), {}
    for entry in listed:
        # zipfile truncates names at NUL, so the original name is checked.
        name = entry.orig_filename
        gathered.add(name.removesuffix("/"))
        _check_entry(entry, name)
        if not name.endswith("/") and not is_litter(name):
            kept[name] = entry
    _check_together(listed)
    return opened, kept


def _check_entry(entry: zipfile.ZipInfo, name: str) -> None:
    for holds, code, says in _REFUSED:
        if holds(entry):
            raise entry_error(f"The entry {format_entry_name(name)} is refused: {says}.", code)


def _check_together(listed: list[zipfile.ZipInfo]) -> None:
    if sum(entry.file_size for entry in listed) > MOST_BYTES:
        raise package_too_large_error()
    places = [entry.header_offset for entry in listed]
    if len(set(places)) != len(places):
        detail = "Two entries of the archive lie at one place, each inside the other."
        raise entry_error(detail, "archive_damaged")


def _is_link(entry: zipfile.ZipInfo) -> bool:
    return stat.S_ISLNK(entry.external_attr >> 16)


def _is_device(entry: zipfile.ZipInfo) -> bool:
    kind = stat.S_IFMT(entry.external_attr >> 16)
    return kind not in (0, stat.S_IFREG, stat.S_IFDIR)


def _is_bomb(entry: zipfile.ZipInfo) -> bool:
    return entry.file_size > _PIECE and entry.file_size > MOST_RATIO * max(entry.compress_size, 1)


_REFUSED: Final[tuple[tuple[Callable[[zipfile.ZipInfo], bool], str, str], ...]] = (
    (_is_link, "entry_link", "it is a link to another file"),
    (_is_device, "entry_link", "it is not a file or a folder"),
    (lambda one: bool(one.flag_bits & _ENCRYPTED), "entry_encrypted", "it is encrypted"),
    (
        lambda one: one.compress_type not in _METHODS,
        "entry_method",
        "its compression method is not supported; use deflate",
    ),
    (
        _is_bomb,
        "entry_ratio",
        f"it would become more than {MOST_RATIO} times as large as it is packed",
    ),
)


# A recipe folder, read without following links.


class RecipeFolder:
    """The files of a folder with valid names, not yet read."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._spent = 0
        gathered = EntryNames()
        self.names = [*_walk_folder(root, "", gathered)]

    def read(self, name: str, most: int) -> bytes:
        """Read a file, within its own limit and the remaining total."""
        bound = min(most, MOST_BYTES - self._spent)
        made = read_plain(self._root / name, bound + 1, name)
        if len(made) > bound:
            raise entry_too_large_error(name, most) if bound == most else package_too_large_error()
        self._spent += len(made)
        return made


def read_plain(path: Path, most: int, name: str) -> bytes:
    """Read the start of a regular file; links, pipes and devices are rejected."""
    try:
        # Non-blocking: opening a named pipe would block the process for ever.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        detail = f"The file {format_entry_name(name)} cannot be read: {error.strerror}."
        raise entry_error(detail, "entry_unreadable") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            detail = f"The entry {format_entry_name(name)} is refused: it is no file or folder."
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
            detail = f"The entry {format_entry_name(name)} is refused: it is no file or folder."
            raise entry_error(detail, "entry_link")


RECIPE: Final = "recipe.json"
PREVIEW: Final = "preview.md"
EXAMPLES: Final = "examples/"
_SOURCE_FILE: Final = "/template/script/source_file"


class FileSource(Protocol):
    """Files by name, each read once and within a limit."""

    @property
    def names(self) -> Sequence[str]: ...

    def read(self, name: str, most: int) -> bytes: ...


def read_place(path: Path, limits: Limits | None = None) -> dict[str, Any]:
    """Load a recipe document from a local path, unvalidated."""
    limits = limits or Limits()
    try:
        # The caller named the path itself, so a link there is allowed.
        place = path.resolve(strict=True)
    except (OSError, RuntimeError):
        detail = f"There is nothing at {path}."
        hint = "Name a .json, a folder or a .zip."
        raise NotFound(detail, code="no_recipe", suggestion=hint) from None
    if place.is_dir():
        return _assemble_document(RecipeFolder(place), limits)
    data = read_plain(place, MOST_BYTES + 1, path.name)
    if is_archive(data):
        return read_archive(data, limits)
    document = _require_object(read_json(data, limits), path.name)
    return wrap_bare_recipe(document) if is_bare(document) else document


def read_archive(data: bytes, limits: Limits | None = None) -> dict[str, Any]:
    """Load a recipe document from an uploaded .zip, unvalidated."""
    return _assemble_document(RecipeArchive(data), limits or Limits())


def _assemble_document(source: FileSource, limits: Limits) -> dict[str, Any]:
    root = _find_root(source.names)
    there = {name.removeprefix(root): name for name in source.names if name.startswith(root)}
    files = _RecipeFiles(source, there, limits)
    document = _require_object(files.json(RECIPE), RECIPE)
    document = _insert_source(document, files)
    if PREVIEW in there:
        if "preview" in document:
            detail = f"The preview is in both {RECIPE} and in {PREVIEW}."
            raise _build_pointer_error("/preview", detail, "twice", "Keep one of them.")
        document["preview"] = files.text(PREVIEW)
    return _insert_examples(document, files)


class _RecipeFiles:
    """The files of one recipe, relative to its folder."""

    def __init__(self, shelf: FileSource, there: dict[str, str], limits: Limits) -> None:
        self._shelf = shelf
        self._limits = limits
        self.there = there

    def text(self, name: str) -> str:
        data = self._shelf.read(self.there[name], self._limits.json_bytes)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise entry_error(
                f"The file {format_entry_name(name)} is not UTF-8.", "entry_encoding"
            ) from None

    def json(self, name: str) -> Any:
        data = self._shelf.read(self.there[name], self._limits.json_bytes)
        try:
            return read_json(data, self._limits)
        except Invalid as wrong:
            raise Invalid(
                f"{name}: {wrong.detail}",
                code=wrong.code,
                findings=[replace(one, detail=f"{name}: {one.detail}") for one in wrong.findings],
                suggestion=wrong.suggestion,
            ) from None


def _find_root(names: Sequence[str]) -> str:
    """Find the recipe's folder: the root, or the only folder in it, as most tools pack."""
    if RECIPE in names:
        return ""
    tops = {name.partition("/")[0] for name in names}
    if len(tops) == 1:
        root = f"{tops.pop()}/"
        if root + RECIPE in names:
            return root
    hint = suggest_nearest(RECIPE, [name for name in names if "/" not in name])
    raise entry_error(f"There is no {RECIPE} here.", "no_recipe", hint)


def _require_object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise entry_error(f"{name}: a recipe is a JSON object.", "type")
    return value


def _insert_source(document: dict[str, Any], files: _RecipeFiles) -> dict[str, Any]:
    """Insert the script's source in place of its file name."""
    template = document.get("template")
    script = template.get("script") if isinstance(template, dict) else None
    name = script.get("source_file") if isinstance(script, dict) else None
    if not isinstance(template, dict) or not isinstance(script, dict) or not isinstance(name, str):
        return document
    if "source" in script:
        detail = "The script has a source and a source_file."
        raise _build_pointer_error(_SOURCE_FILE, detail, "twice", "Keep one of them.")
    fault = name_fault(name)
    if fault is not None:
        raise _build_pointer_error(
            _SOURCE_FILE,
            f"The file {format_entry_name(name)} is refused: {fault}.",
            "bad_entry_name",
        )
    if name not in files.there:
        hint = suggest_nearest(name, files.there)
        raise _build_pointer_error(
            _SOURCE_FILE, f"There is no file {format_entry_name(name)} beside it.", "no_file", hint
        )
    rest = {key: value for key, value in script.items() if key != "source_file"}
    filled = {**rest, "source": files.text(name)}
    return {**document, "template": {**template, "script": filled}}


def _insert_examples(document: dict[str, Any], files: _RecipeFiles) -> dict[str, Any]:
    names = sorted(
        name for name in files.there if name.startswith(EXAMPLES) and name.endswith(".json")
    )
    written = document.get("examples", [])
    if not names or not isinstance(written, list):
        return document
    return {**document, "examples": [*written, *(files.json(name) for name in names)]}


def _build_pointer_error(
    pointer: str, detail: str, code: str, suggestion: str | None = None
) -> Invalid:
    finding = Finding(pointer, detail, code, suggestion)
    return Invalid(detail, code=code, findings=[finding], suggestion=suggestion)
