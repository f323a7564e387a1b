"""Triggers as the tools of authoring write them, and as a definition keeps them.

The tools say ``{kind: "cron", cron, tz}``; a definition says type and config. Every other kind
has the name of its type, and its settings stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from mainspring.authoring.places import mapping
from mainspring.contracts.errors import Finding
from mainspring.definition.pointers import under
from mainspring.definition.words import did_you_mean
from mainspring.workspace.boards.events import CHANGES
from mainspring.workspace.boards.shapes import SOME_BOARD, Schema, thing

_FILTERS: Final = {"filters": "filters"}
# For each kind: its type, its settings by the names of both sides, and those it cannot do without.
_KINDS: Final[Mapping[str, tuple[str, Mapping[str, str], tuple[str, ...]]]] = MappingProxyType(
    {
        "cron": (
            "schedule",
            {
                "cron": "cron",
                "tz": "timezone",
                "misfire": "misfire",
                "catch_up_seconds": "catch_up_seconds",
            },
            ("cron", "tz"),
        ),
        "board_change": (
            "board_change",
            {"board_id": "board_id", "dataset": "dataset", "change": "change", **_FILTERS},
            ("board_id",),
        ),
        "page_ingested": (
            "page_ingested",
            {"page_type": "page_type", "source": "source", "created": "created", **_FILTERS},
            (),
        ),
        "webhook": (
            "webhook", {"input_mapping": "input_mapping", "signature": "signature"}, (),
        ),
        "event": ("event", {"event_type": "event_type", **_FILTERS}, ("event_type",)),
    }
)  # fmt: skip
KINDS: Final = tuple(_KINDS)
_KIND_OF: Final = {type_: kind for kind, (type_, _, _) in _KINDS.items()}
# What narrows a kind to some of its moments.
_NARROWING: Final = {"board_change": "change", "page_ingested": "page_type", "event": "event_type"}

TRIGGER: Final[Schema] = thing(
    {
        "kind": {"enum": list(KINDS)},
        "cron": {
            "description": "For cron: minute, hour, day of month, month, day of week.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "tz": {
            "description": "For cron: the IANA name of the time zone.",
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
            "description": "For page_ingested: only pages of this type.",
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
        },
        "source": {"type": "string", "minLength": 1, "maxLength": 200},
        "created": {"type": "boolean"},
        "event_type": {
            "description": "For event: its exact type.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "filters": {
            "description": "What else must hold for the payload.",
            "type": "object",
        },
        "input_mapping": {
            "description": "For webhook: a JSONPath into the body for each input.",
            "type": "object",
            "additionalProperties": {"type": "string"},
        },
        "signature": {
            "description": "For webhook: the secret that holds the sender's signing key.",
            **thing({"secret": {"type": "string"}}, ["secret"]),
        },
    },
    ["kind"],
)
SOME_TRIGGERS: Final = [
    {"kind": "cron", "cron": "0 9 * * 1-5", "tz": "America/New_York"},
    {"kind": "board_change", "board_id": SOME_BOARD, "change": ["rows_appended"]},
]


def as_entries(triggers: Sequence[Mapping[str, Any]]) -> tuple[list[dict[str, Any]], list[Finding]]:
    """The triggers as a definition keeps them, and what is wrong with them as they stand.

    A trigger is known by its kind and its number among those of its kind, so that a webhook
    keeps its token when a schedule is put before it.
    """
    entries: list[dict[str, Any]] = []
    findings: list[Finding] = []
    counts: dict[str, int] = {}
    for place, given in enumerate(triggers):
        kind = str(given["kind"])
        type_, names, needed = _KINDS[kind]
        counts[kind] = counts.get(kind, 0) + 1
        at = f"/triggers/{place}"
        findings += _misplaced(given, kind, names, needed, at)
        config = {names[name]: value for name, value in given.items() if name in names}
        slug = f"{kind.replace('_', '-')}-{counts[kind]}"
        entries.append({"id": slug, "type": type_, "config": config})
    return entries, findings


def _misplaced(
    given: Mapping[str, Any], kind: str, names: Mapping[str, str], needed: Sequence[str], at: str
) -> Iterable[Finding]:
    for name in needed:
        if name not in given:
            yield Finding(at, f"A trigger of the kind {kind} needs {name}.", "missing")
    for name in given.keys() - {"kind"} - names.keys():
        detail = f"A trigger of the kind {kind} has no {name}."
        yield Finding(under(at, name), detail, "unknown_key", did_you_mean(name, names))


def written_pointer(pointer: str) -> str:
    """Where a finding about a kept trigger stands in what was written."""
    parts = pointer.split("/")
    if len(parts) > 3 and parts[3] == "config":
        name = "tz" if parts[4:5] == ["timezone"] else "/".join(parts[4:5])
        parts[3:5] = [name] if name else []
    return "/".join(parts)


@dataclass(frozen=True, slots=True)
class Wake:
    """What wakes an automation: a kind, and perhaps only some types of it."""

    kind: str
    types: frozenset[str] = frozenset()

    def meets(self, other: Wake) -> bool:
        """Whether one moment can wake both; without types, any of the kind does."""
        if self.kind != other.kind:
            return False
        return not self.types or not other.types or bool(self.types & other.types)


def wakes_of(triggers: Any) -> tuple[Wake, ...]:
    """What wakes a stored definition."""
    return tuple(
        _wake(str(entry.get("type")), mapping(entry.get("config")))
        for entry in (triggers if isinstance(triggers, list | tuple) else ())
        if isinstance(entry, Mapping)
    )


def _wake(type_: str, config: Mapping[str, Any]) -> Wake:
    kind = _KIND_OF.get(type_, type_)
    narrow = config.get(_NARROWING.get(kind, ""))
    found = [narrow] if isinstance(narrow, str) else narrow if isinstance(narrow, list) else []
    return Wake(kind, frozenset(map(str, found)))
