"""The models that an automation asks: those that it names, and where it leaves that open.

A name that is only known in the run may be any. What it is as long as nobody says otherwise is
read where that can be seen, so that another model in the same place is another one here too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from mainspring.definition.authority_steps import FlattenedStep
from mainspring.definition.authority_words import quote_name

_USUAL: Final = "/execution/model"
# The whole automation, where an action is looked for.
_WHOLE: Final = ""
_OPEN: Final = ("{{", "{%")
_INPUT: Final = re.compile(r"\{\{\s*inputs\.([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


@dataclass(frozen=True, slots=True)
class ModelReferences:
    """Whom it asks."""

    # Each name with its place.
    named: Mapping[str, str] = field(default_factory=dict)
    # Each place where the run decides.
    decided: tuple[str, ...] = ()
    # The actions that name one, and those that leave it to the installation.
    naming: frozenset[str] = frozenset()
    left_open: Mapping[str, str] = field(default_factory=dict)


def read_models(document: Mapping[str, Any], steps: Sequence[FlattenedStep]) -> ModelReferences:
    usual = (document.get("execution") or {}).get("model")
    found = [
        (one.action, one.config["model"], f"{one.pointer}/config/model")
        for one in steps
        if isinstance(one.config.get("model"), str)
    ]
    if isinstance(usual, str):
        found.append((_WHOLE, usual, _USUAL))
    silent = {one.action: one.pointer for one in steps if "model" not in one.config}
    return ModelReferences(
        {name: at for _, text, at in reversed(found) for name in _names(text, document)},
        tuple(at for _, text, at in found if _is_open(text)),
        frozenset(action for action, _, _ in found),
        {} if isinstance(usual, str) or not silent else {_WHOLE: _USUAL, **silent},
    )


def find_added_models(
    before: ModelReferences, after: ModelReferences, now: str
) -> Iterator[tuple[str, str]]:
    """Models that it could not ask before: the place, and a sentence."""
    for name, at in reversed(list(after.named.items())):
        if name not in before.named:
            yield at, f"It{now} asks the model {quote_name(name)}."
    if after.decided and not before.decided:
        yield after.decided[0], f"It{now} asks any model that a run decides on."
    lost = (before.naming & after.left_open.keys()) - before.left_open.keys()
    if lost:
        yield after.left_open[min(lost)], "It now asks whatever model the installation uses."


def _is_open(text: str) -> bool:
    return any(mark in text for mark in _OPEN)


def _names(text: str, document: Mapping[str, Any]) -> Iterator[str]:
    if not _is_open(text):
        yield text
        return
    found = _INPUT.fullmatch(text.strip())
    if found is None:
        return
    shape = (document.get("inputs") or {}).get("schema") or {}
    entry = (shape.get("properties") or {}).get(found[1])
    given = [
        one.get("inputs") for one in document.get("triggers") or () if isinstance(one, Mapping)
    ]
    chosen = [one.get(found[1]) for one in given if isinstance(one, Mapping)]
    usual = entry.get("default") if isinstance(entry, Mapping) else None
    yield from (one for one in (usual, *chosen) if isinstance(one, str))
