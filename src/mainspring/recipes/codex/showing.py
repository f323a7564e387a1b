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
from mainspring.definition.authority import additions, authority_of
from mainspring.recipes.codex.needs import needs_of
from mainspring.recipes.package import Package
from mainspring.recipes.package.judging import compiled_definition
from mainspring.recipes.package.references import SETTINGS, references
from mainspring.recipes.package.standing_in import stand_in_filled, stand_ins

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.recipes.codex.shelf import Recipe, Shelf

_REFERENCE: Final = re.compile(r"\{\{-?\s*install\.([a-z0-9_]{1,64})\.([a-z0-9_]{1,64})\s*-?\}\}")
# A stand-in of fewer letters could be a part of any word.
_SHORTEST: Final = 5
# Recipes that are looked through for one; nobody reads more.
_MOST: Final = 100
_STARTS: Final = re.compile(r"/triggers?/")


async def may_of(
    shelf: Shelf, tx: Transaction, workspace_id: UUID, recipe: Recipe, limits: Limits
) -> list[str]:
    """Its own sentences, and then those of everything that it needs, with their names."""
    said = await asyncio.to_thread(sentences, recipe.package, limits)
    seen, waiting = {recipe.id}, [recipe]
    while waiting and len(seen) <= _MOST:
        above = waiting.pop(0)
        for need in needs_of(above.package):
            found = await shelf.needed(tx, workspace_id, above, need.slug)
            if found is None or found.id in seen:
                continue
            seen.add(found.id)
            more = await asyncio.to_thread(sentences, found.package, limits)
            said += [f"{found.package.name}: {one}" for one in more]
            waiting.append(found)
    return said


def sentences(package: Package, limits: Limits) -> list[str]:
    """What this recipe alone may do; a board, a workflow and a bundle do nothing."""
    if package.kind not in ("automation", "integration"):
        return []
    filled = stand_in_filled(package.document)
    try:
        document = compiled_definition(package, filled["template"])
    except Invalid:
        return []
    # They were held against the template when it was published, and still have their references.
    grants = [replace(one, params=_spelt(one.params)) for one in package.grants]
    found = additions(None, authority_of(document, grants, limits))
    names = _stand_in_names(package)
    return [_named(one.says, names) for one in found] + _decided(package)


def _spelt(value: Any) -> Any:
    if isinstance(value, str):
        return _REFERENCE.sub(lambda found: _word(found[1], found[2]), value)
    if isinstance(value, Mapping):
        return {key: _spelt(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_spelt(part) for part in value]
    return value


def _word(of: str, what: str) -> str:
    return f"<{what}>" if of == SETTINGS else f"<{of.replace('_', ' ')} {what}>"


def _stand_in_names(package: Package) -> dict[str, str]:
    """The word for each value that only stands in."""
    filling = stand_ins(package.document)
    found = {one.id: _word(name, "id") for name, one in filling.installs.items()}
    for setting in package.settings:
        value = filling.settings.get(setting.name)
        if isinstance(value, str) and len(value) >= _SHORTEST and not setting.has_default:
            found[value] = _word(SETTINGS, setting.name)
    return found


def _named(text: str, names: Mapping[str, str]) -> str:
    for value, word in names.items():
        text = text.replace(value, word)
    return text


def _decided(package: Package) -> list[str]:
    """Settings by which whoever installs decides when it starts."""
    found = dict.fromkeys(
        one.what
        for one in references(package.template)
        if one.of == SETTINGS and _STARTS.search(one.pointer)
    )
    words = ", ".join(f"<{name}>" for name in found)
    return [f"When it starts is also said by {words}."] if words else []
