"""A recipe that was read: its parts by name, and the document that they come from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.grant import Grant
from mainspring.definition.strict_json import hash_content
from mainspring.recipes.kinds import RecipeKind

# Versions of recipes: three numbers, and which of two is newer.

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


# The digest of a recipe: what it says, as thirty-two bytes.

PREFIX: Final = "sha256:"
DIGEST_PATTERN: Final = "^sha256:[0-9a-f]{64}$"

_BESIDE: Final = ("digest", "signature")


def compute_recipe_digest(document: Mapping[str, Any]) -> bytes:
    """The digest of what a recipe says."""
    return hash_content({key: part for key, part in document.items() if key not in _BESIDE})


def format_digest(digest: bytes) -> str:
    """How a digest is written into a recipe."""
    return PREFIX + digest.hex()


def check_digest(document: Mapping[str, Any]) -> Finding | None:
    """What is wrong with the digest that a recipe carries; one without says nothing false."""
    said = document.get("digest")
    if said is None or said == format_digest(compute_recipe_digest(document)):
        return None
    return Finding(
        "/digest",
        "The digest is that of another content: the recipe was changed after it was packed.",
        "wrong_digest",
        "Get it again from whoever published it, or pack it anew: `mainspring recipes pack`.",
    )


@dataclass(frozen=True, slots=True)
class RecipeDependency:
    """Another recipe that must stand first, and the name by which the template refers to it."""

    slug: str
    min_version: Semver
    reason: str
    name: str


@dataclass(frozen=True, slots=True)
class RecipeNeed:
    """Something that whoever installs must have: a secret or a connection, by its name."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class RecipeRequirements:
    """What a recipe cannot work without and does not bring along."""

    secrets: tuple[RecipeNeed, ...] = ()
    publisher_secrets: tuple[RecipeNeed, ...] = ()
    connections: tuple[RecipeNeed, ...] = ()


@dataclass(frozen=True, slots=True)
class RecipeSetting:
    """A value that whoever installs decides."""

    name: str
    type: str
    label: str
    default: Any = None
    has_default: bool = False
    required: bool = True
    # A value that would do; the judge uses it where there is no default.
    example: Any = None


@dataclass(frozen=True, slots=True)
class RecipePackage:
    """One version of a recipe. The template is as it was written, with its references."""

    slug: str
    version: Semver
    kind: RecipeKind
    name: str
    description: str
    publisher: str
    author: str | None
    category: str
    tags: tuple[str, ...]
    dependencies: tuple[RecipeDependency, ...]
    requires: RecipeRequirements
    grants: tuple[Grant, ...]
    hosts: tuple[str, ...]
    settings: tuple[RecipeSetting, ...]
    examples: tuple[Mapping[str, Any], ...]
    template: Mapping[str, Any]
    document: Mapping[str, Any]
    digest: bytes
    # The key that signed it; None: nobody did.
    public_key: bytes | None
