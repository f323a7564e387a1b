"""What files are called: names that follow from the things in them, and fit every file system."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

LONGEST: Final = 60
_GAPS: Final = re.compile(r"[^a-z0-9]+")
# What a name may be when a person has chosen it.
_PART: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
# Names that other systems keep for their devices.
_DEVICES: Final = frozenset(
    {"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(10))}
)


def build_file_slug(name: str) -> str:
    """The name in small letters, digits and hyphens; one that has none of them is a digest."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    slug = _GAPS.sub("-", plain).strip("-")[:LONGEST].rstrip("-")
    if not slug:
        return f"x-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"x-{slug}" if slug in _DEVICES else slug


def build_file_slugs(names: Sequence[str]) -> list[str]:
    """One for each name, in the order of the names; each is given out once.

    The names come in an order that follows from the things alone. Whoever comes later gets a
    number, and never one that is somebody's own name.
    """
    wished = [build_file_slug(name) for name in names]
    taken: set[str] = set()
    given = []
    for slug in wished:
        chosen, number = slug, 2
        while chosen in taken or (chosen != slug and chosen in wished):
            chosen, number = f"{slug}-{number}", number + 1
        taken.add(chosen)
        given.append(chosen)
    return given


def is_part(text: str) -> bool:
    """Whether a file or a folder can have this name everywhere, its ending left out."""
    return _PART.fullmatch(text) is not None and text.lower() not in _DEVICES


def find_case_collisions(paths: Iterable[str]) -> list[tuple[str, str]]:
    """Paths that are one and the same where capitals do not count."""
    seen: dict[str, str] = {}
    found = []
    for path in sorted(paths):
        first = seen.setdefault(path.lower(), path)
        if first != path:
            found.append((first, path))
    return found
