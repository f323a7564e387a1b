"""Requests as people write them, the workspaces they are written in, and what is right.

The files of tests/requests say in their heads how they are read.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from mainspring.authoring.models import AutomationRequest, ProposalQuestion
from mainspring.authoring.resources import BoardSummary, DatasetSummary, WorkspaceResources
from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.limits import Limits
from mainspring.contracts.registry import Registry, Vocabulary
from mainspring.registry import WorkspaceVocabulary, build_registry
from tests.kit.schedule_equivalence import NOW

FOLDER: Final = Path(__file__).resolve().parent.parent / "requests"
# The open requests, and those that nobody looks at who works on what reads them.
SETS: Final = {"requests": FOLDER / "requests.toml", "held back": FOLDER / "held_back.toml"}
WORLDS: Final = FOLDER / "worlds.toml"
LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Tool:
    """What a connection brought: its name, and what it takes."""

    name: str
    description: str
    effect: Effect
    takes: Mapping[str, str]
    required: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class World:
    """One workspace: what it has by name, and what can be said in it."""

    name: str
    resources: WorkspaceResources
    vocabulary: Vocabulary
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """One request and what a right answer to it holds."""

    id: str
    text: str
    world: str
    # Each entry with those that are equally right.
    triggers: tuple[tuple[str, ...], ...]
    timezone: str | None = None
    actions: tuple[tuple[str, ...], ...] = ()
    may: tuple[str, ...] = ()
    asks: tuple[tuple[str, ...], ...] = ()
    complete: bool = False
    thinks: bool | None = None
    mentions: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    execution: Mapping[str, float] = field(default_factory=dict)

    @property
    def wish(self) -> AutomationRequest:
        return AutomationRequest(self.text, NOW, self.timezone)


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a request: a document, and what is still open in it."""

    document: Mapping[str, Any]
    questions: Sequence[ProposalQuestion] = ()


def read_requests(file: Path) -> tuple[Request, ...]:
    """The requests of one file, in its order."""
    stored = tomllib.loads(file.read_text(encoding="utf-8"))
    return tuple(_request(entry) for entry in stored["request"])


def _request(entry: Mapping[str, Any]) -> Request:
    strange = entry.keys() - {one.name for one in fields(Request)}
    if strange:
        raise ValueError(f"{entry.get('id')}: no request has {sorted(strange)}")
    given = dict(entry)
    given["triggers"] = tuple(tuple(one.split(" or ")) for one in entry["triggers"])
    for key in ("actions", "asks"):
        given[key] = tuple(tuple(one.split("|")) for one in entry.get(key, ()))
    for key in ("may", "mentions", "lacks"):
        given[key] = tuple(entry.get(key, ()))
    return Request(**given)


@cache
def _natives() -> Registry:
    return build_registry(LIMITS)


@cache
def read_worlds() -> Mapping[str, World]:
    """Every workspace of the file by its name."""
    stored = tomllib.loads(WORLDS.read_text(encoding="utf-8"))
    return MappingProxyType({name: _world(name, entry) for name, entry in stored.items()})


def _world(name: str, entry: Mapping[str, Any]) -> World:
    tools = tuple(_tool(one) for one in entry.get("tools", ()))
    resources = WorkspaceResources(
        boards=tuple(_board(name, one) for one in entry.get("boards", ())),
        page_types=tuple(entry.get("page_types", ())),
        event_types=dict(entry.get("event_types", {})),
        secrets=tuple(entry.get("secrets", ())),
        automations={one: made_id(name, one) for one in entry.get("automations", ())},
        has_model=entry.get("has_model", False),
    )
    return World(name, resources, _spoken(tools), tools)


def made_id(*names: str) -> str:
    """An id that is always the same for the same names."""
    return str(uuid5(NAMESPACE_URL, "/".join(names)))


def _board(world: str, entry: Mapping[str, Any]) -> BoardSummary:
    datasets = tuple(
        DatasetSummary(one["name"], tuple(one.get("columns", ())), one.get("key"))
        for one in entry.get("datasets", ())
    )
    name = entry["name"]
    return BoardSummary(made_id(world, "board", name), name, entry.get("description", ""), datasets)


def _tool(entry: Mapping[str, Any]) -> Tool:
    effect, required = Effect(entry["effect"]), tuple(entry.get("required", ()))
    return Tool(entry["name"], entry["words"], effect, entry["takes"], required)


def _spoken(tools: Sequence[Tool]) -> Vocabulary:
    ours = _natives()
    theirs = {tool.name: _capability(tool) for tool in tools}
    both = MappingProxyType({**theirs, **ours.capabilities})
    return WorkspaceVocabulary(ours.actions, both, ours.triggers, ours.events)


def _capability(tool: Tool) -> Capability:
    alias, _, name = tool.name.partition(".")
    return Capability(
        id=tool.name,
        description=f"{name}\n\n{tool.description}.\n\nA tool of the connection {alias}.",
        input_schema=schema_of(tool),
        output_schema={"type": "object"},
        handler=_never_called,
        write=Write(preview=lambda _: f"Call {tool.name}") if tool.effect is Effect.SEND else None,
        annotations=Annotations(effect=tool.effect),
    )


def schema_of(tool: Tool) -> dict[str, Any]:
    """What a tool takes, as JSON Schema."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(tool.required),
        "properties": {name: {"type": kind} for name, kind in tool.takes.items()},
    }


async def _never_called(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    del ctx
    return dict(arguments)
