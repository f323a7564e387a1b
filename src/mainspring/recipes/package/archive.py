"""A recipe as a .zip: read in memory, within bounds that no header can talk its way past.

What a header claims is used to refuse early and never to trust: each entry is inflated piece by
piece up to its bound. Only the two ways of packing that can be read piece by piece are taken.
"""

from __future__ import annotations

import io
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Final

from mainspring.contracts.errors import Invalid
from mainspring.recipes.package.entries import (
    MOST_BYTES,
    MOST_ENTRIES,
    MOST_RATIO,
    EntryNames,
    entry_error,
    entry_too_large_error,
    format_entry_name,
    is_litter,
    package_too_large_error,
    too_many_entries_error,
)

_FIRST: Final = b"PK\x03\x04"
_LISTED: Final = b"PK\x01\x02"
_PIECE: Final = 65_536
_ENCRYPTED: Final = 0x1 | 0x40
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# Everything that the reader of .zip files says of one that is broken.
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
    """The entries of a .zip that were found to be harmless by name, not yet inflated."""

    def __init__(self, data: bytes) -> None:
        self._zip, self._entries = _open_zip(data)
        self._spent = 0

    @property
    def names(self) -> list[str]:
        return [*self._entries]

    def read(self, name: str, most: int) -> bytes:
        """One entry, never more of it than its bound and what is left for all."""
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
            detail = f"The entry {format_entry_name(name)} is damaged: it does not hold what the archive says."  # noqa: E501
            raise entry_error(detail, "archive_damaged", "Pack the folder again.") from None
        self._spent += len(made)
        return bytes(made)


def is_archive(data: bytes) -> bool:
    return data.startswith(_FIRST)


def _open_zip(data: bytes) -> tuple[zipfile.ZipFile, dict[str, zipfile.ZipInfo]]:
    if len(data) > MOST_BYTES:
        raise entry_error(f"An archive has at most {MOST_BYTES:,} bytes.", "archive_too_large")
    # Counted before the list is built, which costs more than the archive itself.
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
        # What comes before a NUL is all that the reader would show of a name.
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
    (_is_device, "entry_link", "it is neither a file nor a folder"),
    (lambda one: bool(one.flag_bits & _ENCRYPTED), "entry_encrypted", "it is encrypted"),
    (
        lambda one: one.compress_type not in _METHODS,
        "entry_method",
        "it is packed in a way that is not read here; deflate is",
    ),
    (
        _is_bomb,
        "entry_ratio",
        f"it would become more than {MOST_RATIO} times as large as it is packed",
    ),
)
