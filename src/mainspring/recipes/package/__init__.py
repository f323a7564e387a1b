"""The recipe package format: parsing, signing and validation.

A package is one JSON document, or a folder or .zip that becomes one. ``loader`` and ``parser`` read
untrusted input; ``model`` has the digest and ``signing`` the signature; ``references`` resolves
what only an install knows; ``validation`` compares what a recipe needs with what it declares.
"""

from __future__ import annotations

from mainspring.recipes.package.loader import read_archive, read_place
from mainspring.recipes.package.parser import read_package, validate_setting
from mainspring.recipes.package.references import (
    InstalledReference,
    InstallOwner,
    RecipeDependency,
    RecipeNeed,
    RecipePackage,
    RecipeRequirements,
    RecipeSetting,
    ReferenceValues,
    Semver,
    compute_recipe_digest,
    fill,
    format_digest,
)
from mainspring.recipes.package.schema import build_recipe_schema
from mainspring.recipes.package.validation import (
    compile_definition,
    find_faulty_settings,
    validate_filled,
    validate_package,
)

__all__ = [
    "InstallOwner",
    "InstalledReference",
    "RecipeDependency",
    "RecipeNeed",
    "RecipePackage",
    "RecipeRequirements",
    "RecipeSetting",
    "ReferenceValues",
    "Semver",
    "build_recipe_schema",
    "compile_definition",
    "compute_recipe_digest",
    "fill",
    "find_faulty_settings",
    "format_digest",
    "read_archive",
    "read_package",
    "read_place",
    "validate_filled",
    "validate_package",
    "validate_setting",
]
