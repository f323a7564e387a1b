"""``send_email`` for act_on_integration, with the field names of mail programs.

The text is ``body``, and ``thread_id`` names the conversation. The operator's mail server knows no
conversations, which the preview says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.integration import WriteOffer
from mainspring.integrations.email.capabilities import SEND_EMAIL

_SHOWN_THREAD: Final = 60


def _arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    named = {"text" if name == "body" else name: value for name, value in arguments.items()}
    named.pop("thread_id", None)
    return named


def _note(arguments: Mapping[str, Any]) -> str | None:
    thread = arguments.get("thread_id")
    if thread is None:
        return None
    shown = " ".join(str(thread).split())[:_SHOWN_THREAD]
    return f"It begins a new conversation: this mail server knows no thread {shown}."


def _schema() -> dict[str, Any]:
    own = SEND_EMAIL.input_schema
    known = {"body" if name == "text" else name: one for name, one in own["properties"].items()}
    thread = {
        "type": "string",
        "description": "The conversation that it answers.",
        "minLength": 1,
        "maxLength": 998,
        "pattern": r"\S",
        "x-mainspring-says": "This must be the id of a thread.",
    }
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["to", "subject", "body"],
        "properties": {**known, "thread_id": thread},
        "x-mainspring-instead": {"text": "The text of a mail is called body here."},
    }


SEND: Final = WriteOffer(
    SEND_EMAIL.id, _schema(), _arguments, _note, editable=("to", "cc", "bcc", "subject", "body")
)
