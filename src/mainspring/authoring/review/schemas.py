"""JSON schemas of a review."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.authoring.review.quoting import LONGEST_SENTENCE, MOST_ENTRIES
from mainspring.contracts.object_schema import build_object_part


def _list(items: Mapping[str, Any], most: int = MOST_ENTRIES) -> dict[str, Any]:
    return {"type": "array", "maxItems": most, "items": dict(items)}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


_NAMES: Final = _list({"type": "string"})
_STEPS: Final = {**_NAMES, "description": "The steps that need it."}

FLAG_SCHEMA: Final[dict[str, Any]] = build_object_part(
    {
        "pointer": _text("The place in the definition, as a JSON pointer."),
        "code": _text("The kind of flag."),
        "text": {"type": "string", "maxLength": LONGEST_SENTENCE},
        "level": {"enum": ["note", "warning"]},
        "by": {"enum": ["rules", "model"]},
        "suggestion": _text("What could be done about it."),
    },
    ["pointer", "code", "text", "level", "by"],
)
IMPACT_SCHEMA: Final[dict[str, Any]] = build_object_part(
    {
        "outside": _list(
            build_object_part(
                {
                    "system": _text("The system, by the name that people know."),
                    "hosts": {
                        **_NAMES,
                        "description": "Where it is, as far as the definition says.",
                    },
                    "why": _STEPS,
                    "effect": {"enum": ["read", "send"]},
                }
            )
        ),
        "grants": _list(
            build_object_part(
                {
                    "capability": _text("What may be called."),
                    "label": _text("What it does, in a few words."),
                    "effect": {"enum": ["read", "keep", "send"]},
                    "params": {"type": "object", "description": "The bounds on its arguments."},
                    "waits_for_person": {"type": "boolean"},
                }
            )
        ),
        "keeps": _list(
            build_object_part(
                {
                    "kind": {
                        "enum": ["automation", "board", "event", "file", "message", "page", "value"]
                    },
                    "what": _text("Which one, in words."),
                    "why": _STEPS,
                }
            )
        ),
        "secrets": _list(
            build_object_part(
                {
                    "name": _text("The secret's name; never its value."),
                    "hosts": {**_NAMES, "description": "The hosts it goes to."},
                    "capabilities": {**_NAMES, "description": "What it is used with."},
                }
            )
        ),
        "wakes": _list(
            build_object_part(
                {
                    "type": _text("The kind of trigger, or manual."),
                    "when": _text("When, in words."),
                    "by": _text("Who or what can start it."),
                    "enabled": {"type": "boolean"},
                }
            )
        ),
        "people": {
            **_list(
                build_object_part(
                    {
                        "capability": _text("What will wait."),
                        "label": _text("What it does, in a few words."),
                        "why": _STEPS,
                    }
                )
            ),
            "description": "What waits in the inbox until a person agrees.",
        },
        "writes": {
            **_list(
                build_object_part(
                    {
                        "step": _text("The step that sends it."),
                        "capability": _text("What it is sent with."),
                        "label": _text("What that does, in a few words."),
                        "says": _text("What is sent and where to, in words."),
                        "account": {
                            "type": ["string", "null"],
                            "description": "The account that sends it; null: none of the owner's accounts.",  # noqa: E501
                        },
                        "text": {
                            "type": ["string", "null"],
                            "description": "The outgoing template; null: it is made in the run.",
                        },
                        "mode": {"enum": ["ask", "automatic"]},
                        "pointer": _text("Where its approval mode is written, as a JSON pointer."),
                        "values": build_object_part(
                            {
                                "ask": {
                                    "description": "What is written there so that each one is a draft."  # noqa: E501
                                },
                                "automatic": {
                                    "description": "What is written there to send it without asking."  # noqa: E501
                                },
                            }
                        ),
                        "only_asks_because": {
                            "type": ["string", "null"],
                            "description": "Why it cannot be sent automatically; null: it can.",
                        },
                    }
                )
            ),
            "description": "Each outside write, whether a person is asked each time, and the choice.",  # noqa: E501
        },
    }
)
