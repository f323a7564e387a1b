"""A declarative integration that is written alone, without the envelope of a recipe.

It says everything that is needed: the definition is compiled from it, and what the envelope tells
people (grants, hosts, secrets) is read from that definition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.recipes.compiling.automation import compile_automation
from mainspring.recipes.compiling.declared import compile_declarative

_VERSION: Final = "1.0.0"
_CATEGORY: Final = "integrations"

RecipeDocument = dict[str, Any]


def is_bare(document: Any) -> bool:
    """Whether a document is a declarative integration, and not a definition or a recipe."""
    if not isinstance(document, Mapping):
        return False
    others = {"schema_version", "plan", "format", "template"}
    return "endpoints" in document and others.isdisjoint(document)


def compile_bare_definition(document: Mapping[str, Any]) -> RecipeDocument:
    """The definition that a bare object means; ``Invalid`` with pointers into the object."""
    return compile_automation(
        "integration",
        document,
        name=str(document.get("name", "")),
        description=str(document.get("description", "")),
    )


def wrap_bare_recipe(document: Mapping[str, Any]) -> RecipeDocument:
    """The recipe that a bare object means.

    What is wrong with the object is found when the recipe is read; until then its envelope asks
    for nothing.
    """
    compiled, _ = compile_declarative(document, {})
    grants = compiled.get("grants", [])
    hosts = sorted({host for grant in grants for host in grant["params"]["hosts"]})
    name = document.get("name") or document.get("slug") or "Integration"
    made = {
        "format": "mainspring.recipe",
        "format_version": 1,
        "slug": document.get("slug")
        or (compiled["plan"][0]["config"]["source"] if compiled else ""),
        "version": _VERSION,
        "kind": "integration",
        "name": name,
        "description": document.get("description") or name,
        "publisher": document.get("publisher") or name,
        "category": _CATEGORY,
        "grants": grants,
        "hosts": hosts,
        "template": dict(document),
    }
    secret = (document.get("auth") or {}).get("secret_name") if compiled else None
    if secret is not None:
        reason = f"It is sent to {', '.join(hosts)} as the key of the API."
        made["requires"] = {"publisher_secrets": [{"name": secret, "reason": reason}]}
    return made
