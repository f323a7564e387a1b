"""The files of a recipe that somebody else put together: what may be among them, and how much.

Nothing is ever unpacked to a disk, so a bad name can overwrite nothing here. It is refused all
the same: what cannot be written on every system is either a slip or an attempt.
"""

from __future__ import annotations

import re
from typing import Final

from mainspring.contracts.errors import Finding, Invalid

MOST_ENTRIES: Final = 200
MOST_BYTES: Final = 4 * 1_048_576
# More than any text shrinks by; what is packed tighter was made to be large.
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
# What systems leave beside the files that people mean.
_LITTER: Final = ("__MACOSX",)


class EntryNames:
    """The names seen so far, with the bounds that hold for all of them together."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def add(self, name: str) -> None:
        """Takes note of one more entry, or refuses it by its name."""
        if len(self.names) >= MOST_ENTRIES:
            raise too_many_entries_error()
        fault = name_fault(name)
        if fault is not None:
            raise entry_error(
                f"The entry {format_entry_name(name)} is refused: {fault}.", "bad_entry_name"
            )
        other = self.names.get(name.casefold())
        if other == name:
            raise entry_error(f"The entry {format_entry_name(name)} is there twice.", "entry_twice")
        if other is not None:
            detail = f"The entries {format_entry_name(other)} and {format_entry_name(name)} differ only in capitals."  # noqa: E501
            raise entry_error(detail, "entry_case", "Give one of them another name.")
        if name.lower().endswith(_ARCHIVES):
            detail = f"The entry {format_entry_name(name)} is an archive inside the recipe, which is not read."  # noqa: E501
            raise entry_error(detail, "nested_archive", "Leave it out, or put its files beside it.")
        self.names[name.casefold()] = name


def name_fault(name: str) -> str | None:
    """Why a name cannot be that of a file of a recipe; None when it can."""
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
        return f"it lies more than {_DEEPEST} folders deep"
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
    """Whether an entry is of the system and not of the recipe; it is never looked into."""
    return any(part.startswith(".") or part in _LITTER for part in name.split("/"))


def entry_error(detail: str, code: str, suggestion: str | None = None) -> Invalid:
    """The problem of one entry, or of all of them."""
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
    """A name for a sentence: short, and with nothing that a terminal would obey."""
    plain = name if len(name) <= 80 else name[:80] + "…"
    return repr(plain)
