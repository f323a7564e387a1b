"""Triggers as the authoring tools write them, and what starts an automation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mainspring.authoring.json_pointers import mapping
from mainspring.definition.trigger_kinds import WRITTEN_KINDS
from mainspring.workspace.boards.events import CHANGES
from mainspring.workspace.boards.schemas import SOME_BOARD, JsonSchema, object_of

KINDS: Final = tuple(WRITTEN_KINDS)
_KIND_OF: Final = {type_: kind for kind, (type_, _, _) in WRITTEN_KINDS.items()}
# Fields that restrict a trigger kind.
_NARROWING: Final = {"board_change": "change", "page_ingested": "page_type", "event": "event_type"}

TRIGGER: Final[JsonSchema] = object_of(
    {
        "kind": {"enum": list(KINDS)},
        "cron": {
            "description": "For cron: five fields.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "at": {
            "description": "For cron, instead: date and time, or several; fires once each.",
            "type": ["string", "array"],
            "items": {"type": "string"},
        },
        "every": {
            "description": "For cron, instead: an interval such as 90m, 2d or 3w.",
            "type": "string",
        },
        "anchor": {"description": "The first time of every.", "type": "string"},
        "times": {
            "description": "For cron, instead: several objects with cron, at or every.",
            "type": "array",
            "items": {"type": "object"},
        },
        "except": {
            "description": "Skipped days: {dates: [...], holidays: DE-BY}.",
            "type": "object",
        },
        "jitter": {"description": "Longest random delay, such as 5m.", "type": "string"},
        "tz": {
            "description": "For cron: IANA time zone.",
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
        },
        "misfire": {"enum": ["skip", "fire_once", "fire_all"]},
        "catch_up_seconds": {"type": "integer", "minimum": 0, "maximum": 2_592_000},
        "board_id": {"description": "For board_change.", "type": "string", "format": "uuid"},
        "dataset": {"type": "string", "minLength": 1, "maxLength": 100},
        "change": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": list(CHANGES)},
        },
        "page_type": {
            "description": "For page_ingested.",
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
        },
        "source": {"type": "string", "minLength": 1, "maxLength": 200},
        "created": {"type": "boolean"},
        "event_type": {
            "description": "For event: exact type.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "filters": {
            "description": "Conditions on the payload.",
            "type": "object",
        },
        "input_mapping": {
            "description": "For webhook: a JSONPath into the body for each input.",
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
        "signature": {
            "description": "For webhook: the secret with the sender's signing key.",
            **object_of({"secret": {"type": "string"}}, ["secret"]),
        },
        "auth": {"type": "object"},
        "events": {"type": "array", "items": {"type": "string"}},
    },
    ["kind"],
)
SOME_TRIGGERS: Final = [
    {"kind": "cron", "cron": "0 9 * * 1-5", "tz": "America/New_York"},
    {"kind": "board_change", "board_id": SOME_BOARD, "change": ["rows_appended"]},
]


def map_trigger_pointer(pointer: str) -> str:
    """Map a finding about a stored trigger to the argument it came from."""
    parts = pointer.split("/")
    if len(parts) > 3 and parts[3] == "config":
        name = "tz" if parts[4:5] == ["timezone"] else "/".join(parts[4:5])
        parts[3:5] = [name] if name else []
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class TriggerSelector:
    """What starts an automation: a kind, optionally restricted to types."""

    kind: str
    types: frozenset[str] = frozenset()

    def overlaps(self, other: TriggerSelector) -> bool:
        """Whether one event can start both; without types, any of the kind does."""
        if self.kind != other.kind:
            return False
        return not self.types or not other.types or bool(self.types & other.types)


def wakes_of(triggers: Any) -> tuple[TriggerSelector, ...]:
    """Return what starts a stored definition."""
    return tuple(
        _wake(str(entry.get("type")), mapping(entry.get("config")))
        for entry in (triggers if isinstance(triggers, list | tuple) else ())
        if isinstance(entry, Mapping)
    )


def _wake(type_: str, config: Mapping[str, Any]) -> TriggerSelector:
    kind = _KIND_OF.get(type_, type_)
    narrow = config.get(_NARROWING.get(kind, ""))
    found = [narrow] if isinstance(narrow, str) else narrow if isinstance(narrow, list) else []
    return TriggerSelector(kind, frozenset(map(str, found)))
