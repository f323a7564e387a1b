"""The capability that parses schedules in words, and its schemas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from mainspring.authoring.phrases.normalization import LONGEST
from mainspring.authoring.phrases.schedule_answers import CLARIFICATIONS, MOMENTS, REFUSALS
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.toolset import Toolset
from mainspring.workspace.boards.schemas import (
    COUNT,
    MOMENT,
    JsonSchema,
    object_of,
    schema_with_examples,
)

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_TEXT: Final[JsonSchema] = {"type": "string"}
_ZONE: Final[JsonSchema] = {"type": "string", "format": "iana-timezone"}
_SPAN: Final = object_of({"start": COUNT, "end": COUNT, "words": _TEXT}, ["start", "end", "words"])
_CHOICE: Final = object_of(
    {
        "sentence": _TEXT,
        "crons": {"type": "array", "items": _TEXT},
        "timezone": {"description": "null: not known yet.", "type": ["string", "null"]},
        "when": {
            "description": "A condition for the steps, if the schedule alone fires too often.",
            "type": ["string", "null"],
        },
    },
    ["sentence", "crons", "timezone", "when"],
)
_CHOICES: Final[JsonSchema] = {"type": "array", "items": _CHOICE}
_READING: Final = object_of(
    {
        "span": _SPAN,
        "triggers": {
            "description": "Config of one schedule trigger each.",
            "type": "array",
            "minItems": 1,
            "items": object_of(
                {"cron": _TEXT, "at": _TEXT, "every": _TEXT, "anchor": _TEXT, "timezone": _ZONE},
                ["timezone"],
            ),
        },
        "sentence": _TEXT,
        "assumptions": {
            "description": "What the text did not say.",
            "type": "array",
            "items": _TEXT,
        },
        "next": {"type": "array", "items": MOMENT, "maxItems": MOMENTS},
    },
    ["span", "triggers", "sentence", "assumptions", "next"],
)
_QUESTION: Final = object_of(
    {
        "span": _SPAN,
        "kind": {"enum": list(CLARIFICATIONS)},
        "question": _TEXT,
        "choices": _CHOICES,
    },
    ["span", "kind", "question", "choices"],
)
_REFUSAL: Final = object_of(
    {"span": _SPAN, "kind": {"enum": list(REFUSALS)}, "reason": _TEXT, "choices": _CHOICES},
    ["span", "kind", "reason", "choices"],
)
_SAID: Final = "every weekday at 9 Berlin time"
READ: Final = schema_with_examples(
    {
        "text": {
            "description": "A request; parts that are not about time are ignored.",
            "type": "string",
            "minLength": 1,
            "maxLength": LONGEST,
        },
        "timezone": {"description": "If the text names none.", **_ZONE},
    },
    ["text"],
    [
        {"text": f"{_SAID} post the digest"},
        {"text": "every 15 minutes during working hours", "timezone": "Africa/Kigali"},
    ],
    ({}, "which words?"),
    ({"text": ""}, "no words"),
    ({"text": "daily at 9", "timezone": "Mars/Base"}, "no such zone"),
)
_ANSWER: Final = {
    "readings": {"type": "array", "items": _READING},
    "clarifications": {"type": "array", "items": _QUESTION},
    "refusals": {"type": "array", "items": _REFUSAL},
    "cut": {"description": "The text was too long and was cut.", "type": "boolean"},
}
ANSWER: Final = schema_with_examples(
    _ANSWER,
    list(_ANSWER),
    [
        {
            "readings": [
                {
                    "span": {"start": 0, "end": 30, "words": "every weekday at 9 Berlin time"},
                    "triggers": [{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}],
                    "sentence": "every weekday at 09:00, Europe/Berlin",
                    "assumptions": [],
                    "next": [
                        "2026-05-26T09:00:00+02:00",
                        "2026-05-27T09:00:00+02:00",
                        "2026-05-28T09:00:00+02:00",
                        "2026-05-29T09:00:00+02:00",
                        "2026-06-01T09:00:00+02:00",
                    ],
                }
            ],
            "clarifications": [],
            "refusals": [],
            "cut": False,
        },
        {"readings": [], "clarifications": [], "refusals": [], "cut": False},
    ],
    ({}, "an answer says that it found nothing"),
)


def read_schedule_capability() -> Capability:
    return Capability(
        "read_schedule",
        "Convert a phrase to schedule triggers\n\n"
        'For text such as "every weekday at 9 Berlin time". Returns triggers with assumptions '
        "and next fire times, a question if the text is ambiguous, or why it cannot be scheduled. "
        "Rule-based, without a model. Text without a time returns an empty result.",
        READ,
        ANSWER,
        _read,
        annotations=Annotations(toolset=Toolset.AUTHORING, effect=Effect.READ, seconds=0.1),
    )


async def _read(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    # Imported on use: the rules are large, and most commands do not need them.
    from mainspring.authoring.phrases.schedule_parser import parse_schedules

    return parse_schedules(arguments["text"], ctx.clock.now(), arguments.get("timezone")).as_dict()
