"""A recipe that was read: its parts by name, and the document that they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mainspring.contracts.grant import Grant
from mainspring.recipes.kinds import RecipeKind
from mainspring.recipes.package.semver import Semver


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
