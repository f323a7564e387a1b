"""Slugs: the name of a page in its workspace, the same on every surface."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import Final

LONGEST_SLUG: Final = 200
SLUG_PATTERN: Final = r"^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$"
_SLUG: Final = re.compile(SLUG_PATTERN.rstrip("$"))
_OTHER: Final = re.compile(r"[^a-z0-9]+")
_ROOM: Final = 80


def is_slug(text: str) -> bool:
    return len(text) <= LONGEST_SLUG and _SLUG.fullmatch(text) is not None


def build_slug(title: str) -> str:
    """A slug made from a title: the same title always makes the same one."""
    plain = unicodedata.normalize("NFKD", title.replace("ß", "ss"))
    letters = plain.encode("ascii", "ignore").decode().lower()
    made = _OTHER.sub("-", letters).strip("-")
    if len(made) > _ROOM:
        # Long titles often differ only at their end.
        made = f"{made[:_ROOM].rstrip('-')}-{mark_of(title)}"
    elif sum(letter.isalnum() for letter in plain) > 2 * len(made.replace("-", "")):
        # Most of the title is in letters that a slug does not have.
        made = f"{made or 'page'}-{mark_of(title)}"
    return made or f"page-{mark_of(title)}"


def build_source_slug(slug: str, source_ref: str) -> str:
    """Another slug, for a page of another source that has the same title."""
    return f"{slug[: LONGEST_SLUG - 9]}-{mark_of(source_ref)}"


def list_numbered_slugs(slug: str, title: str) -> list[str]:
    """Other slugs, for a page with another title that makes the same one."""
    made = [f"{slug[: LONGEST_SLUG - 2]}-{number}" for number in range(2, 10)]
    return [*made, build_source_slug(slug, title)]


def is_same_title(one: str, other: str) -> bool:
    """Whether two titles are one, however they are spaced and in whatever case."""
    return _read_out(one) == _read_out(other)


def _read_out(title: str) -> str:
    return " ".join(unicodedata.normalize("NFC", title).casefold().split())


def mark_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
