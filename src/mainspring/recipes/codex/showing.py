"""What a recipe may do, in the sentences that a person will be asked to agree to.

Whoever looks at the shelf should know before an install what they will be asked after it: what
it calls, how often it starts and what it may spend. A recipe is not filled in yet, so what only
the install knows stands there by its name, such as ``<host>``.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.authority import find_additions, read_authority
from mainspring.recipes.codex.needs import list_requirements
from mainspring.recipes.package import RecipePackage
from mainspring.recipes.package.judging import compile_definition
from mainspring.recipes.package.references import SETTINGS, find_references
from mainspring.recipes.package.standing_in import build_stand_ins, fill_with_stand_ins

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.recipes.codex.shelf import Recipe, RecipeCatalog

_REFERENCE: Final = re.compile(r"\{\{-?\s*install\.([a-z0-9_]{1,64})\.([a-z0-9_]{1,64})\s*-?\}\}")
# A stand-in of fewer letters could be a part of any word.
_SHORTEST: Final = 5
# Recipes that are looked through for one; nobody reads more.
_MOST: Final = 100
_STARTS: Final = re.compile(r"/triggers?/")


async def may_of(
    shelf: RecipeCatalog, tx: Transaction, workspace_id: UUID, recipe: Recipe, limits: Limits
) -> list[str]:
    """Its own sentences, and then those of everything that it needs, with their names."""
    said = await asyncio.to_thread(describe_authority, recipe.package, limits)
    seen, waiting = {recipe.id}, [recipe]
    while waiting and len(seen) <= _MOST:
        above = waiting.pop(0)
        for need in list_requirements(above.package):
            found = await shelf.needed(tx, workspace_id, above, need.slug)
            if found is None or found.id in seen:
                continue
            seen.add(found.id)
            more = await asyncio.to_thread(describe_authority, found.package, limits)
            said += [f"{found.package.name}: {one}" for one in more]
            waiting.append(found)
    return said


def describe_authority(package: RecipePackage, limits: Limits) -> list[str]:
    """What this recipe alone may do; a board, a workflow and a bundle do nothing."""
    if package.kind not in ("automation", "integration"):
        return []
    filled = fill_with_stand_ins(package.document)
    try:
        document = compile_definition(package, filled["template"])
    except Invalid:
        return []
    # They were held against the template when it was published, and still have their references.
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
    """The word for each value that only stands in."""
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
    """Settings by which whoever installs decides when it starts."""
    found = dict.fromkeys(
        one.what
        for one in find_references(package.template)
        if one.of == SETTINGS and _STARTS.search(one.pointer)
    )
    words = ", ".join(f"<{name}>" for name in found)
    return [f"When it starts is also said by {words}."] if words else []
