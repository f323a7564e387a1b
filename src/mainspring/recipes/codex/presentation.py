"""How recipes and created resources are shown."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import find_additions, read_authority
from mainspring.recipes.codex.catalog import CodexServices, RecipeInstall, list_live_installs
from mainspring.recipes.codex.dependencies import list_requirements
from mainspring.recipes.package import RecipePackage, format_digest
from mainspring.recipes.package.references import (
    SETTINGS,
    build_stand_ins,
    fill_with_stand_ins,
    find_references,
)
from mainspring.recipes.package.validation import compile_definition

if TYPE_CHECKING:
    from mainspring.contracts.capability import CapabilityHandler
    from mainspring.contracts.context import CallContext, Transaction
    from mainspring.recipes.codex.catalog import Recipe, RecipeCatalog
    from mainspring.recipes.kinds import RecipeEntity


# A recipe's permissions, in the wording of the consent.

_REFERENCE: Final = re.compile(r"\{\{-?\s*install\.([a-z0-9_]{1,64})\.([a-z0-9_]{1,64})\s*-?\}\}")
# A shorter stand-in could be part of any word.
_SHORTEST: Final = 5
# The number of recipes that are described.
_MOST: Final = 100
_STARTS: Final = re.compile(r"/triggers?/")


async def may_of(
    catalog: RecipeCatalog, tx: Transaction, workspace_id: UUID, recipe: Recipe, limits: Limits
) -> list[str]:
    """Return its own permissions, then those of its dependencies, with their names."""
    said = await asyncio.to_thread(describe_authority, recipe.package, limits)
    seen, waiting = {recipe.id}, [recipe]
    while waiting and len(seen) <= _MOST:
        above = waiting.pop(0)
        for need in list_requirements(above.package):
            found = await catalog.find_dependency(tx, workspace_id, above, need.slug)
            if found is None or found.id in seen:
                continue
            seen.add(found.id)
            more = await asyncio.to_thread(describe_authority, found.package, limits)
            said += [f"{found.package.name}: {one}" for one in more]
            waiting.append(found)
    return said


def describe_authority(package: RecipePackage, limits: Limits) -> list[str]:
    """Return this recipe's own permissions; boards, workflows and bundles have none."""
    if package.kind not in ("automation", "integration"):
        return []
    filled = fill_with_stand_ins(package.document)
    try:
        document = compile_definition(package, filled["template"])
    except Invalid:
        return []
    # They were checked against the template on publication, and still have references.
    grants = [replace(one, params=_replace_references(one.params)) for one in package.grants]
    found = find_additions(None, read_authority(document, grants, limits))
    names = _map_stand_in_names(package)
    return [_replace_stand_ins(one.says, names) for one in found] + _list_schedule_settings(package)


def _replace_references(value: Any) -> Any:
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _format_reference(found[1], found[2]), value)
    if isinstance(value, Mapping):
        return {key: _replace_references(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_references(part) for part in value]
    return value


def _format_reference(of: str, what: str) -> str:
    return f"<{what}>" if of == SETTINGS else f"<{of.replace('_', ' ')} {what}>"


def _map_stand_in_names(package: RecipePackage) -> dict[str, str]:
    """Map stand-in values to the words to show."""
    filling = build_stand_ins(package.document)
    found = {one.id: _format_reference(name, "id") for name, one in filling.installs.items()}
    for setting in package.settings:
        value = filling.settings.get(setting.name)
        if isinstance(value, str) and len(value) >= _SHORTEST and not setting.has_default:
            found[value] = _format_reference(SETTINGS, setting.name)
    return found


def _replace_stand_ins(text: str, names: Mapping[str, str]) -> str:
    for value, word in names.items():
        text = text.replace(value, word)
    return text


def _list_schedule_settings(package: RecipePackage) -> list[str]:
    """List settings that decide when it starts."""
    found = dict.fromkeys(
        one.what
        for one in find_references(package.template)
        if one.of == SETTINGS and _STARTS.search(one.pointer)
    )
    words = ", ".join(f"<{name}>" for name in found)
    return [f"When it starts is also said by {words}."] if words else []


MOST_RECIPES: Final = 100
DEFAULT_RECIPES: Final = 50
MOST_INSTALLS: Final = 500
DEFAULT_INSTALLS: Final = 100
_EXCERPT: Final = 200
# Ranked full-text search by stems. Prefix matches come last: coin finds CoinMarketCap.
_SEARCH = """
    SELECT t.n FROM unnest($1::text[]) WITH ORDINALITY AS t(words, n),
        websearch_to_tsquery('english', $2) AS whole,
        (SELECT to_tsquery('english', $3) AS begun) AS b,
        LATERAL (SELECT to_tsvector('english', t.words) AS known) AS k
    WHERE known @@ whole OR known @@ begun
    ORDER BY ts_rank(known, whole) DESC, ts_rank(known, begun) DESC, t.n
"""
_WORD: Final = re.compile(r"\w+")
# Search operators such as -this or "just this".
_OPERATOR: Final = re.compile(r"""["]|(?:^|\s)-|\bor\b""", re.IGNORECASE)


def list_handler(services: CodexServices) -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, tx = ctx.actor.workspace_id, ctx.tx
        found = [
            one for one in await services.catalog.list_all(tx, space) if _is_match(one, arguments)
        ]
        if "search" in arguments:
            words, text = [_build_search_text(one) for one in found], arguments["search"]
            rows = await tx.fetch(_SEARCH, words, text, _build_prefix_query(text))
            found = [found[row["n"] - 1] for row in rows]
        here = _group_by_recipe(await list_live_installs(tx, space, MOST_INSTALLS))
        most = int(arguments.get("limit", DEFAULT_RECIPES))
        return {
            "recipes": [_summarize_entry(one, here.get(str(one.id), [])) for one in found[:most]]
        }

    return listed


def get_handler(services: CodexServices) -> CapabilityHandler:
    async def get(ctx: CallContext, given: Mapping[str, Any]) -> dict[str, Any]:
        space, tx = ctx.actor.workspace_id, ctx.tx
        recipe = await services.catalog.find(tx, space, given)
        here = _group_by_recipe(await list_live_installs(tx, space, MOST_INSTALLS))
        whole = _describe_recipe(recipe, here.get(str(recipe.id), []))
        may = await may_of(services.catalog, tx, space, recipe, services.limits)
        return {"recipe": {**whole, "may": may}}

    return get


def build_installs_handler(services: CodexServices) -> CapabilityHandler:
    async def listed(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        space, tx = ctx.actor.workspace_id, ctx.tx
        found = await list_live_installs(tx, space, int(arguments.get("limit", DEFAULT_INSTALLS)))
        newest: dict[str, Recipe | None] = {}
        for one in found:
            if str(one.recipe_id) not in newest:
                newest[str(one.recipe_id)] = await services.catalog.by_id(tx, space, one.recipe_id)
        bundles = {one.id: one for one in found if one.kind == "bundle"}
        return {"installs": [_install(one, newest[str(one.recipe_id)], bundles) for one in found]}

    return listed


def summarize_recipe(recipe: Recipe) -> dict[str, Any]:
    """A recipe with its version."""
    return {
        "id": str(recipe.id),
        "slug": recipe.slug,
        "name": recipe.package.name,
        "kind": recipe.kind,
        "version": recipe.version,
    }


def describe_entity(made: RecipeEntity, entity_kind: str) -> dict[str, Any]:
    """Describe a created resource with the details of its kind."""
    return {"kind": entity_kind, "id": str(made.id), "name": made.name, **made.details}


def _install(
    install: RecipeInstall, recipe: Recipe | None, bundles: Mapping[Any, RecipeInstall]
) -> dict[str, Any]:
    bundle = None if install.bundle_id is None else bundles.get(install.bundle_id)
    latest = None if recipe is None else recipe.version
    newer = recipe is not None and recipe.semver > install.semver
    return {
        **install.describe(),
        "recipe_kind": install.kind,
        "latest_version": latest,
        "update_available": newer,
        "bundle": None if bundle is None else {"id": str(bundle.entity_id), "name": bundle.name},
        "orphaned_datasets": list(install.orphaned),
        "installed_at": install.installed_at.isoformat(),
        "upgraded_at": None if install.upgraded_at is None else install.upgraded_at.isoformat(),
    }


def _is_match(recipe: Recipe, arguments: Mapping[str, Any]) -> bool:
    package = recipe.package
    return (
        arguments.get("kind") in (None, package.kind)
        and arguments.get("category") in (None, package.category)
        and ("tag" not in arguments or arguments["tag"] in package.tags)
    )


def _build_search_text(recipe: Recipe) -> str:
    """The text that a recipe is searched by."""
    package = recipe.package
    return " ".join(
        [package.name, package.description, recipe.slug, package.category, *package.tags]
    )


def _build_prefix_query(text: str) -> str:
    """Build a prefix query; None when the text has operators."""
    if _OPERATOR.search(text):
        return ""
    return " & ".join(f"{word}:*" for word in _WORD.findall(text))


def _summarize_entry(recipe: Recipe, here: Sequence[RecipeInstall]) -> dict[str, Any]:
    package = recipe.package
    return {
        **summarize_recipe(recipe),
        "category": package.category,
        "tags": list(package.tags),
        "description_excerpt": _shorten_excerpt(package.description),
        "preview_image_url": recipe.document.get("preview_image_url"),
        "author": package.author or package.publisher,
        "created_at": recipe.created_at.isoformat(),
        "updated_at": recipe.updated_at.isoformat(),
        "origin": recipe.origin,
        "installed": len(here),
        "update_available": any(one.semver < recipe.semver for one in here),
    }


def _describe_recipe(recipe: Recipe, here: Sequence[RecipeInstall]) -> dict[str, Any]:
    return {
        **recipe.document,
        **_summarize_entry(recipe, here),
        "digest": format_digest(recipe.package.digest),
        "signed": recipe.package.public_key is not None,
        "versions": list(recipe.versions),
        "installs": [one.describe() for one in here],
    }


def _shorten_excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _EXCERPT else line[: _EXCERPT - 1].rstrip() + "…"


def _group_by_recipe(found: Iterable[RecipeInstall]) -> dict[str, list[RecipeInstall]]:
    made: dict[str, list[RecipeInstall]] = {}
    for one in found:
        made.setdefault(str(one.recipe_id), []).append(one)
    return made
