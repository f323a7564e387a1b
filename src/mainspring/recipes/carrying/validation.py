"""Validation of imported boards and workflows before anything is stored.

Definitions are validated by the validator; this covers the other resources, with the schemas of the
capabilities that create them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.json_schema import check_schema, compile_schema
from mainspring.definition.validate import validate
from mainspring.recipes.carrying.model import WorkspaceContent, WorkspaceResource
from mainspring.recipes.carrying.references import mark_all, replace_with_stand_ins
from mainspring.recipes.entities.boards import normalize_board
from mainspring.recipes.package.template_schemas import build_template_schemas
from mainspring.workspace.boards.datasets import check_datasets
from mainspring.workspace.boards.schemas import object_of as shape_of
from mainspring.workspace.workflows.validation import find_workflow_problems

if TYPE_CHECKING:
    from mainspring.contracts.registry import Vocabulary

_BOARD_KEYS: Final = ("name", "description", "datasets", "skills", "forms", "dashboard")
_PLANNED: Final = ("title", "charter", "kpis", "deadlines")
_MOST_ATTACHED: Final = 200
_REFERS: Final = re.compile(r"\$(board|automation)\([A-Za-z0-9][A-Za-z0-9_-]*\)")


def validate_content(
    carried: WorkspaceContent, vocabulary: Vocabulary, limits: Limits
) -> WorkspaceContent:
    """Return everything normalized, or raise ``Invalid`` with all problems."""
    findings: list[Finding] = []
    things: list[WorkspaceResource] = []
    for one in carried.resources:
        found: list[Finding] = []
        if one.kind == "board":
            found = _validate_board(one, limits)
        elif one.kind == "workflow":
            found = list(_validate_workflow(one, vocabulary, limits))
        findings += [replace(each, pointer=one.place(each.pointer)) for each in found]
        things.append(one if found else _normalize_resource(one, vocabulary, limits))
    if findings:
        raise Invalid(
            "Nothing was imported: the files have problems.",
            code="invalid_import",
            findings=findings,
        )
    return replace(carried, resources=tuple(things))


def _normalize_resource(
    thing: WorkspaceResource, vocabulary: Vocabulary, limits: Limits
) -> WorkspaceResource:
    """Normalize a resource; an invalid definition is left to the validator."""
    if thing.kind == "board":
        return replace(thing, content=normalize_board(thing.content))
    if thing.kind != "automation":
        return thing
    document, stood_in = replace_with_stand_ins(thing.content)
    report = validate(document, vocabulary, limits)
    if not report.ok:
        return thing
    kept = replace(thing, content=report.accepted().as_dict())
    return thing.with_inside(mark_all(kept.inside, stood_in))


def _validate_board(board: WorkspaceResource, limits: Limits) -> list[Finding]:
    whole: Mapping[str, Any] = build_template_schemas()["board"]
    schema = {**shape_of({key: whole["properties"][key] for key in _BOARD_KEYS}, ["name"])}
    content = dict(board.content)
    found = list(compile_schema(schema, limits).findings(content, ""))
    if found:
        return found
    try:
        check_datasets(content.get("datasets", []))
    except Invalid as problem:
        found += problem.findings
    for part in ("skills", "forms"):
        names = [one["name"] for one in content.get(part) or []]
        found += [
            Finding(f"/{part}/{n}/name", f"Two of the {part} are called {name!r}.", "name_twice")
            for n, name in enumerate(names)
            if name in names[:n]
        ]
    for n, skill in enumerate(content.get("skills") or []):
        if "inputs_schema" in skill:
            found += check_schema(skill["inputs_schema"], limits, f"/skills/{n}/inputs_schema")
    size, most = len((content.get("dashboard") or "").encode()), limits.board_dashboard_bytes
    if size > most:
        detail = f"A dashboard is at most {most:,} bytes; this is {size:,}."
        found.append(Finding("/dashboard", detail, "dashboard_bytes"))
    return found


def _validate_workflow(
    workflow: WorkspaceResource, vocabulary: Vocabulary, limits: Limits
) -> Iterator[Finding]:
    content = dict(workflow.content)
    taken: Mapping[str, Any] = vocabulary.capabilities["create_workflow"].input_schema["properties"]
    reference = {
        "type": "string",
        "maxLength": 150,
        "pattern": r"^\$[a-z]+\([A-Za-z0-9_-]+\)$",
        "x-mainspring-says": "This must be a reference, such as $board(tasks).",
    }
    listed = {"type": "array", "maxItems": _MOST_ATTACHED, "uniqueItems": True, "items": reference}
    schema = shape_of(
        {
            **{key: taken[key] for key in _PLANNED},
            "board": {**reference, "type": ["string", "null"]},
            "automations": listed,
        },
        ["title"],
    )
    found = list(compile_schema(schema, limits).findings(content, ""))
    yield from found
    if not found:
        yield from find_workflow_problems({key: content[key] for key in _PLANNED if key in content})
        yield from _find_wrong_kind_references(content)


def _find_wrong_kind_references(content: Mapping[str, Any]) -> Iterator[Finding]:
    """Find references to the wrong kind of resource."""
    board = content.get("board")
    places = [("/board", board, "board")] if board is not None else []
    for n, one in enumerate(content.get("automations", [])):
        places.append((f"/automations/{n}", one, "automation"))
    for at, text, kind in places:
        found = _REFERS.fullmatch(text)
        if found is None or found[1] != kind:
            yield Finding(at, f"This must refer to a {kind}.", "no_reference", f"As ${kind}(name).")
