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
_STEPS: Final = {**_NAMES, "description": "Steps that need it."}

FLAG_SCHEMA: Final[dict[str, Any]] = build_object_part(
    {
        "pointer": _text("JSON pointer into the definition."),
        "code": _text("Kind of flag."),
        "text": {"type": "string", "maxLength": LONGEST_SENTENCE},
        "level": {"enum": ["note", "warning"]},
        "by": {"enum": ["rules", "model"]},
        "suggestion": _text("Possible remedy."),
    },
    ["pointer", "code", "text", "level", "by"],
)
IMPACT_SCHEMA: Final[dict[str, Any]] = build_object_part(
    {
        "outside": _list(
            build_object_part(
                {
                    "system": _text("Product name of the system."),
                    "hosts": {
                        **_NAMES,
                        "description": "Its hosts, if the definition names them.",
                    },
                    "why": _STEPS,
                    "effect": {"enum": ["read", "send"]},
                }
            )
        ),
        "grants": _list(
            build_object_part(
                {
                    "capability": _text("What it can call."),
                    "label": _text("What it does, in a few words."),
                    "effect": {"enum": ["read", "keep", "send"]},
                    "params": {"type": "object", "description": "Limits of its arguments."},
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
                    "name": _text("Name of the secret; never its value."),
                    "hosts": {**_NAMES, "description": "Hosts it is sent to."},
                    "capabilities": {**_NAMES, "description": "Capabilities that use it."},
                }
            )
        ),
        "wakes": _list(
            build_object_part(
                {
                    "type": _text("Kind of trigger, or manual."),
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
            "description": "What waits in the inbox for a person.",
        },
        "writes": {
            **_list(
                build_object_part(
                    {
                        "step": _text("The step that sends it."),
                        "capability": _text("The capability that sends it."),
                        "label": _text("What that does, in a few words."),
                        "says": _text("What is sent and where, in words."),
                        "account": {
                            "type": ["string", "null"],
                            "description": "The account that sends it; null: none of the owner's.",
                        },
                        "text": {
                            "type": ["string", "null"],
                            "description": "The text template; null: it is made in the run.",
                        },
                        "mode": {"enum": ["ask", "automatic"]},
                        "pointer": _text("JSON pointer of its approval mode."),
                        "values": build_object_part(
                            {
                                "ask": {"description": "The value that makes each one a draft."},
                                "automatic": {
                                    "description": "The value that sends it without approval."
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
            "description": "Each outside write, whether a person approves each one, and the "
            "alternatives.",
        },
    }
)
