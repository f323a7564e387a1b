"""The package that a recipe is: how it is written down, read, sealed and judged.

A package is one JSON document, or a folder or a .zip that becomes one. ``reading`` and ``places``
take it in as something hostile; ``digest`` and ``signing`` say whether it is what was published;
``references`` fills in what only an install knows; ``judging`` compares what it asks for with
what it says it asks for.
"""

from __future__ import annotations

from mainspring.recipes.package.contents import Dependency, Package, Requires, Setting, Wanted
from mainspring.recipes.package.digest import digest_of, shown_digest
from mainspring.recipes.package.judging import (
    compiled_definition,
    judge_filled,
    judge_package,
    settings_to_blame,
)
from mainspring.recipes.package.places import read_archive, read_place
from mainspring.recipes.package.reading import read_package, setting_finding
from mainspring.recipes.package.references import Filling, Named, Owner, fill
from mainspring.recipes.package.schema import recipe_schema
from mainspring.recipes.package.semver import Semver

__all__ = [
    "Dependency",
    "Filling",
    "Named",
    "Owner",
    "Package",
    "Requires",
    "Semver",
    "Setting",
    "Wanted",
    "compiled_definition",
    "digest_of",
    "fill",
    "judge_filled",
    "judge_package",
    "read_archive",
    "read_package",
    "read_place",
    "recipe_schema",
    "setting_finding",
    "settings_to_blame",
    "shown_digest",
]
