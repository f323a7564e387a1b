"""Presets: named triggers that are event triggers underneath.

Each has an event type and translates its own settings to a filter over that event's payload. The
matcher only knows the event and the filter, so ordering, records, chain limits and everything else
are those of event triggers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.chat_triggers import CHAT_MESSAGE, build_chat_filter
from mainspring.definition.filters import FILTER_SCHEMA
from mainspring.triggers import chat_message
from mainspring.workspace.boards.events import BOARD_CHANGED, CHANGES

PAGE_INGESTED: Final = "page.ingested"
_SOME_BOARD: Final = "01900000-0000-7000-8000-00000000000b"

Filter = dict[str, Any]


def _schema(
    title: str,
    properties: dict[str, Any],
    required: list[str],
    examples: list[Any],
    *wrong: tuple[Any, str],
) -> dict[str, Any]:
    return {
        "title": title,
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": {
            **properties,
            "filters": {
                "title": "Filter",
                "description": "What else must hold for the payload of the event.",
                "$ref": "#/$defs/filter",
            },
        },
        # The filter schema's references start at the root, so its definitions are copied here.
        "$defs": FILTER_SCHEMA["$defs"],
        "examples": examples,
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in wrong
        ],
    }


_BOARD_CHANGE: Final = _schema(
    "Board change",
    {
        "board_id": {"title": "Board", "type": "string", "format": "uuid"},
        "dataset": {
            "title": "Dataset",
            "description": "Only changes of this dataset.",
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
        },
        "change": {
            "title": "Kinds of change",
            "description": "Default: every kind.",
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": list(CHANGES)},
        },
    },
    ["board_id"],
    [
        {"board_id": _SOME_BOARD},
        {
            "board_id": _SOME_BOARD,
            "dataset": "default",
            "change": ["rows_appended"],
            "filters": {"count": {"gte": 10}},
        },
    ],
    ({"dataset": "default"}, "of which board?"),
    ({"board_id": "CRM"}, "an id, not a name"),
    ({"board_id": _SOME_BOARD, "change": ["append"]}, "there is no such kind of change"),
)
_PAGE_CONFIG: Final = _schema(
    "Page ingested",
    {
        "page_type": {
            "title": "Page type",
            "description": "Only pages of this type.",
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
        },
        "source": {
            "title": "Source",
            "description": "Only pages of this source.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "created": {
            "title": "New or known",
            "description": "true: only pages that are new; false: only those that changed.",
            "type": "boolean",
        },
    },
    [],
    [{}, {"page_type": "email", "source": "gmail", "filters": {"title": {"contains": "Invoice"}}}],
    ({"type": "email"}, "it is called page_type"),
    ({"page_type": "email", "filters": {"title": {"like": "x"}}}, "no such operator"),
)
_PAGE_PAYLOAD: Final[dict[str, Any]] = {
    "title": "Page",
    "description": "The page and its source.",
    "type": "object",
    "properties": {
        "page_id": {"type": "string", "format": "uuid"},
        "slug": {"type": "string"},
        "type": {"type": "string"},
        "title": {"type": "string"},
        "source": {"type": ["string", "null"]},
        "source_ref": {"type": ["string", "null"]},
        "created": {"type": "boolean"},
    },
}


def _of_board(config: Mapping[str, Any]) -> Filter:
    wanted: Filter = {"board_id": {"equals": str(config["board_id"]).lower()}}
    if "dataset" in config:
        wanted["dataset"] = {"equals": config["dataset"]}
    if "change" in config:
        wanted["change"] = {"in": list(config["change"])}
    return wanted


def _of_page(config: Mapping[str, Any]) -> Filter:
    names = {"page_type": "type", "source": "source", "created": "created"}
    return {path: {"equals": config[name]} for name, path in names.items() if name in config}


BOARD_CHANGE: Final = TriggerKind(
    type="board_change",
    description="Fires when rows or parts of a board change.",
    config_schema=_BOARD_CHANGE,
    payload_schema=BOARD_CHANGED.payload_schema,
)
PAGE_INGESTED_TRIGGER: Final = TriggerKind(
    type="page_ingested",
    description="Fires when a page is written, new or known.",
    config_schema=_PAGE_CONFIG,
    payload_schema=_PAGE_PAYLOAD,
)
TRIGGERS: Final = (BOARD_CHANGE, PAGE_INGESTED_TRIGGER, chat_message.TRIGGER)

_PRESETS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Filter]]]] = MappingProxyType(
    {
        BOARD_CHANGE.type: (BOARD_CHANGED.type, _of_board),
        PAGE_INGESTED_TRIGGER.type: (PAGE_INGESTED, _of_page),
    }
)
# Every trigger type that the matcher handles.
LISTENING: Final = ("event", CHAT_MESSAGE, *_PRESETS)


def listens_to(trigger_type: str, config: Mapping[str, Any]) -> tuple[str, Filter]:
    """The event type of a trigger, and the filter for its payload."""
    own = dict(config.get("filters") or {})
    if trigger_type == CHAT_MESSAGE:
        event_type, wanted = f"{config['via']}.{CHAT_MESSAGE}", build_chat_filter(config)
    elif trigger_type in _PRESETS:
        event_type, made = _PRESETS[trigger_type]
        wanted = made(config)
    else:
        return str(config["event_type"]), own
    if not own:
        return event_type, wanted
    return event_type, {"$and": [wanted, own]} if wanted else own
