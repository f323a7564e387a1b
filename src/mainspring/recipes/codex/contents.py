"""What a recipe makes in one workspace: its template with everything filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.recipes.package import RecipePackage, ReferenceValues, compile_definition, fill

_WISHES: Mapping[str, Mapping[str, str]] = {
    "board": {"board_name": "name", "name": "name", "board_description": "description"},
    "workflow": {"title": "title", "name": "title", "charter": "charter", "roster": "roster"},
}


def build_content(
    package: RecipePackage, filling: ReferenceValues, wishes: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of a board, an automation or a workflow, as its kind takes it.

    An integration is an automation by now.
    """
    template = fill(package.template, filling, "/template")
    if package.kind in ("automation", "integration"):
        document = compile_definition(package, template)
        if "name" in wishes:
            document["name"] = wishes["name"]
        return {"definition": document}
    for wish, key in _WISHES.get(package.kind, {}).items():
        if wish in wishes:
            template[key] = wishes[wish]
    if package.kind == "workflow":
        _resolve(package, template, filling)
    return template


def _resolve(package: RecipePackage, template: dict[str, Any], filling: ReferenceValues) -> None:
    """Dependencies that a workflow names by their slugs become what they are here."""
    known = {one.slug: filling.installs[one.name] for one in package.dependencies}
    if template.get("board") in known:
        template["board"] = known[template["board"]].id
    template["automations"] = [
        known[one].id if one in known else one for one in template.get("automations", [])
    ]


def name_of(kind: str, content: Mapping[str, Any]) -> str:
    """What a thing is called in its content."""
    if kind == "automation":
        return str(content["definition"]["name"])
    return str(content["title" if kind == "workflow" else "name"])


def rename_content(kind: str, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The same under another name: what something is called here is nobody else's to change."""
    if kind == "automation":
        return {**content, "definition": {**content["definition"], "name": name}}
    return {**content, "title" if kind == "workflow" else "name": name}
