"""Versions of recipes: three numbers, and which of two is newer.

Names behind the numbers are not taken: what is published is a release, and two spellings of one
version would be two answers to the question whether there is an upgrade.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from mainspring.contracts.errors import Finding, Invalid

# Each number fits the integers of the store.
SEMVER_PATTERN: Final = r"^(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})$"
SAYS: Final = "A version is three numbers with points between them, such as 1.2.0."

_VERSION: Final = re.compile(SEMVER_PATTERN.removeprefix("^").removesuffix("$"))


@dataclass(frozen=True, slots=True, order=True)
class Semver:
    """A version, ordered by its numbers."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"

    @classmethod
    def parse(cls, text: object, at: str = "") -> Semver:
        """The version that a text spells, or ``Invalid`` with the place."""
        found = _VERSION.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise Invalid(SAYS, code="bad_version", findings=[Finding(at, SAYS, "bad_version")])
        return cls(int(found[1]), int(found[2]), int(found[3]))

    @property
    def rank(self) -> list[int]:
        """The numbers as the store keeps them, where lists are in the same order."""
        return [self.major, self.minor, self.patch]

    def compare(self, other: Semver) -> int:
        """Below zero when this is the older one, above when it is the newer, zero when neither."""
        return (self > other) - (self < other)

    def at_least(self, lowest: Semver) -> bool:
        """Whether this is enough for whoever asks for that version or a newer one."""
        return self >= lowest
