"""Values that stand in for an install that has not happened, so that a recipe can be judged.

Each reference gets one that could be real: an id that looks like one and differs for each
dependency, the default of a setting or its example. They are never kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.recipes.package.references import (
    InstalledReference,
    InstallOwner,
    ReferenceValues,
    fill,
)

# A host, a word and a title alike, which is all that most settings are.
_SOME_TEXT: Final = "stand-in.example"
_SOME: Final[Mapping[Any, Any]] = {"string": _SOME_TEXT, "number": 1, "boolean": True}


def build_stand_in_id(name: str) -> str:
    """An id that nothing has, the same for the same name."""
    made = sha256(name.encode()).hexdigest()
    return f"01900000-0000-7{made[:3]}-8{made[3:6]}-{made[6:18]}"


def build_stand_ins(document: Mapping[str, Any]) -> ReferenceValues:
    """A filling for a document that nobody has judged yet; what cannot be read is left out."""
    installs = {
        name: InstalledReference(build_stand_in_id(name), f"The {name} of somebody")
        for entry in _iterate_objects(document.get("dependencies"))
        if isinstance(name := _get_entry_name(entry), str)
    }
    settings = {
        entry["name"]: _choose_sample_value(entry)
        for entry in _iterate_objects(document.get("settings"))
        if isinstance(entry.get("name"), str)
    }
    return ReferenceValues(
        InstallOwner(build_stand_in_id("owner"), "somebody@example.com"), installs, settings
    )


def fill_with_stand_ins(document: Mapping[str, Any]) -> dict[str, Any]:
    """The document with stand-ins, or as it is where something cannot be filled in."""
    filling = build_stand_ins(document)
    made = dict(document)
    for key in ("template", "grants", "hosts"):
        if key in made:
            try:
                made[key] = fill({key: made[key]}, filling)[key]
            except Invalid:
                continue
    return made


def _choose_sample_value(entry: Mapping[str, Any]) -> Any:
    for key in ("default", "example"):
        if isinstance(entry.get(key), str | int | float):
            return entry[key]
    kind = entry.get("type")
    return _SOME.get(kind, _SOME_TEXT) if isinstance(kind, str) else _SOME_TEXT


def _get_entry_name(entry: Mapping[str, Any]) -> Any:
    slug = entry.get("slug")
    return entry.get("as") or (slug.replace("-", "_") if isinstance(slug, str) else None)


def _iterate_objects(entries: Any) -> Iterator[Mapping[str, Any]]:
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, Mapping):
            yield entry
