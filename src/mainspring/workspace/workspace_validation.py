"""Validation of a definition in its workspace.

The validator reports errors of a definition itself. This module adds findings that can be fixed
without editing it: a tool that waits for approval, an unreachable model. It is saved all the same,
with the findings as warnings.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.agent import AGENT_TASK
from mainspring.contracts.errors import Finding, Problem
from mainspring.definition.strict_json import join_pointer
from mainspring.definition.tool_patterns import is_pattern
from mainspring.definition.validate import ValidationReport, validate

if TYPE_CHECKING:
    from mainspring.contracts.grant import Grant
    from mainspring.contracts.limits import Limits
    from mainspring.contracts.model import ModelCatalog
    from mainspring.contracts.preflight import DefinitionOwner, Preflight
    from mainspring.contracts.registry import Vocabulary, WorkspaceVocabularies

# Each name is a database query, and more findings than this are not useful.
_MOST_MODELS: Final = 20
# Keys under which a definition names what is called.
_NAMING: Final = ("action", "tool", "capability")
_LONGEST: Final = 200


async def load_vocabulary(
    vocabulary: WorkspaceVocabularies, workspace_id: UUID, document: Any
) -> Vocabulary:
    """Load a workspace's vocabulary; withheld tools only when the document names them."""
    # In a thread: a hostile, deeply nested document is slow to traverse.
    places = await asyncio.to_thread(list, _iterate_tool_names(document))
    named = {name for _, name in places} - vocabulary.capabilities.keys()
    return await vocabulary.of(workspace_id, needing=sorted(named))


async def validate_in_workspace(
    document: Any,
    whose: DefinitionOwner,
    vocabulary: Vocabulary,
    models: ModelCatalog,
    limits: Limits,
    preflight: Preflight,
) -> ValidationReport:
    """Validate in a thread, with this installation's findings added."""
    own = None if whose.automation_id is None else str(whose.automation_id)
    report = await asyncio.to_thread(validate, document, vocabulary, limits, automation_id=own)
    if report.definition is None:
        return report
    written = report.definition.as_dict()
    doubts = await find_missing_dependencies(
        written, report.grants, vocabulary, models, preflight, whose
    )
    return replace(report, warnings=(*report.warnings, *doubts))


async def find_missing_dependencies(
    document: Mapping[str, Any],
    grants: Iterable[Grant],
    vocabulary: Vocabulary,
    models: ModelCatalog,
    preflight: Preflight,
    whose: DefinitionOwner,
) -> tuple[Finding, ...]:
    """Find what a definition needs and would not find if it ran now."""
    asking = {name for name, one in vocabulary.capabilities.items() if one.annotations.asks_models}
    held = await asyncio.to_thread(list, _find_withheld_tools(document, vocabulary))
    held += await preflight.findings(document, vocabulary, whose)
    if not any(grant.capability in asking for grant in grants):
        return tuple(held)
    asked = await asyncio.to_thread(list_named_models, document, asking)
    return (*held, *await find_missing_models(asked, whose.workspace_id, models))


async def find_missing_models(
    places: Iterable[tuple[str, str]], workspace_id: UUID, models: ModelCatalog
) -> tuple[Finding, ...]:
    """Find models that cannot be called now, each with its pointer."""
    result: dict[str, Finding | None] = {}
    found = []
    for at, name in places:
        if name not in result and len(result) < _MOST_MODELS:
            result[name] = await _explain_unavailable_model(name, workspace_id, models)
        doubt = result.get(name)
        if doubt is not None:
            found.append(replace(doubt, pointer=at))
    return tuple(found)


def list_named_models(
    document: Mapping[str, Any], asking: Collection[str]
) -> list[tuple[str, str]]:
    """List every place that selects a model, with its name; no name is the default model."""
    named, bare, steps = [], [], 0
    actions = [AGENT_TASK, *asking]
    for at, entry in _iterate_objects(document):
        config = entry.get("config")
        if entry.get("action") not in actions or not isinstance(config, Mapping):
            continue
        steps += 1
        name = config.get("model")
        if not isinstance(name, str) or not name:
            bare.append((join_pointer(at, "config"), ""))
        elif "{{" not in name:
            named.append((join_pointer(at, "config", "model"), name))
    usual = (document.get("execution") or {}).get("model")
    if usual and (bare or not steps):
        return [*named, ("/execution/model", usual)]
    return [*named, *bare]


async def _explain_unavailable_model(
    name: str, workspace_id: UUID, models: ModelCatalog
) -> Finding | None:
    try:
        found = await models.find(workspace_id, name)
    except Problem as problem:
        return Finding("", problem.detail, problem.code, problem.suggestion)
    if found.price is not None:
        return None
    return Finding(
        "",
        f"What the model {found.name[:200]!r} costs is not known, so it would not be asked.",
        "unknown_price",
        f"Name another, or set its price: `mainspring models price {found.name[:200]} --input USD "
        "--output USD`, in dollars for a million tokens.",
    )


def _find_withheld_tools(document: Mapping[str, Any], vocabulary: Vocabulary) -> Iterator[Finding]:
    for at, name in _iterate_tool_names(document):
        tool = vocabulary.capabilities.get(name)
        if tool is not None and tool.annotations.held_back:
            alias = name.partition(".")[0]
            way = f"`mainspring connections agree {alias}` shows what waits there, and asks."
            yield Finding(at, tool.annotations.held_back, "tool_held_back", way)


def _iterate_tool_names(document: Any) -> Iterator[tuple[str, str]]:
    """Yield every place where an external tool may be named, and the name."""
    for at, entry in _iterate_objects(document):
        for key in _NAMING:
            if _may_be_tool(entry.get(key)):
                yield join_pointer(at, key), entry[key]
        tools = entry.get("tools")
        for place, name in enumerate(tools if isinstance(tools, list) else ()):
            if _may_be_tool(name):
                yield join_pointer(at, "tools", place), name


def _may_be_tool(name: Any) -> bool:
    return isinstance(name, str) and "." in name and not is_pattern(name) and len(name) <= _LONGEST


def _iterate_objects(document: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every object of a document with its pointer, in document order."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        at, value = waiting.pop()
        inside: Iterable[tuple[str | int, Any]] = ()
        if isinstance(value, Mapping):
            yield at, value
            inside = value.items()
        elif isinstance(value, list):
            inside = enumerate(value)
        below = [
            (join_pointer(at, key), one) for key, one in inside if isinstance(one, (Mapping, list))
        ]
        waiting += reversed(below)
