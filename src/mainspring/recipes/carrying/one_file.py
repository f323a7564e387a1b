"""A single file with automations, taken as a workspace that holds nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.errors import Finding, Invalid
from mainspring.definition.pointers import join_pointer
from mainspring.recipes.carrying.carried import WorkspaceContent, WorkspaceResource, assign_slugs
from mainspring.recipes.carrying.references import mark_all
from mainspring.workspace.portable import FORMAT


def read_one_file(value: Any) -> WorkspaceContent:
    """An export of many automations, or one definition."""
    listed: Any = [value]
    if isinstance(value, Mapping) and value.get("format") == FORMAT:
        listed = value.get("automations")
    if not isinstance(listed, list):
        raise _no_automations_error("/automations")
    things = []
    for place, document in enumerate(listed):
        if not isinstance(document, Mapping) or not isinstance(document.get("name"), str):
            raise _no_automations_error(join_pointer("", "automations", place))
        thing = WorkspaceResource("automation", str(place), document)
        things.append(thing.with_inside(mark_all(thing.inside, {})))
    return WorkspaceContent(tuple(thing for _, thing in assign_slugs(things)))


def _no_automations_error(pointer: str) -> Invalid:
    detail = "This is neither a definition nor an export of automations."
    return Invalid(detail, code="invalid_import", findings=[Finding(pointer, detail, "type")])
