"""The shapes of act_on_integration: an exact action, or a request in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mainspring.gate.installs import install_id_of

MOST_FILES: Final = 5
FILE_BYTES: Final = 10 * 1024 * 1024
# Base64 has four characters for three bytes; what stands around the files is small.
ARGUMENTS_BYTES: Final = MOST_FILES * (FILE_BYTES + 2) // 3 * 4 + 1_048_576
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_EXAMPLE_TIME: Final = "2026-08-01T10:00:00+00:00"

_OTHER_SHAPE: Final[dict[str, Any]] = {
    "not": {},
    "x-mainspring-says": "Give source and request, or install_id, action_name and input; not a "
    "part of both.",
}
MAIL: Final[dict[str, Any]] = {
    "install_id": str(install_id_of("email")),
    "action_name": "send_email",
    "input": {
        "to": ["ada@example.com"],
        "subject": "Re: next week",
        "body": "Friday works for us.",
    },
}
_FILE: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["filename", "content_base64"],
    "properties": {
        "filename": {"type": "string", "minLength": 1, "maxLength": 255},
        "content_base64": {"type": "string", "minLength": 1},
        "mime_type": {"type": "string", "minLength": 1, "maxLength": 255},
    },
}


def acting_input(sources: Sequence[str]) -> dict[str, Any]:
    """What act_on_integration takes: one of two shapes, and what goes with either."""
    words = {"source": "email", "request": "Tell ada@example.com that Friday works."}
    mixed = {**MAIL, "request": "and be quick"}
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "properties": {**_tuple(), **_words_schema(sources), **_beside()},
        "if": {"anyOf": [{"required": ["source"]}, {"required": ["request"]}]},
        "then": {
            "required": ["source", "request"],
            "properties": dict.fromkeys(("install_id", "action_name", "input"), _OTHER_SHAPE),
        },
        "else": {"required": ["install_id", "action_name", "input"]},
        "examples": [
            MAIL,
            words,
            {
                "install_id": str(install_id_of("slack")),
                "action_name": "slack_post",
                "input": {"channel": "C0123456789", "text": "The build is green again."},
                "batch_id": "01900000-0000-7000-8000-0000000000b1",
                "notify": ["inbox", "telegram"],
            },
        ],
        "x-mainspring-anti-examples": [
            {
                "value": {"action_name": "send_email", "input": {}},
                "reason": "of which integration?",
            },
            {
                "value": {**MAIL, "install_id": "email"},
                "reason": "an integration is named by its install id",
            },
            {"value": {"source": "email"}, "reason": "and what is to be done?"},
            {"value": {"request": words["request"]}, "reason": "with which integration?"},
            {"value": {**MAIL, "input": "Friday works."}, "reason": "an input is an object"},
            {"value": mixed, "reason": "one shape or the other"},
            {"value": {**words, "notify": ["sms"]}, "reason": "the inbox or Telegram"},
            {
                "value": {**MAIL, "attachments": [{"filename": "a.pdf"}]},
                "reason": "a file has a content",
            },
        ],
    }


def _tuple() -> dict[str, Any]:
    return {
        "install_id": {
            "type": "string",
            "format": "uuid",
            "description": "Which integration; query with type integration_action finds it.",
        },
        "action_name": {
            "type": "string",
            "description": "One of its actions, such as send_email.",
            "minLength": 1,
            "maxLength": 200,
        },
        "input": {
            "type": "object",
            "description": "What the action takes. send_email: to, subject, body, and if there "
            "is one the thread_id that it answers.",
        },
    }


def _words_schema(sources: Sequence[str]) -> dict[str, Any]:
    source: dict[str, Any] = {
        "type": "string",
        "description": "Which integration, where the action is said in words.",
    }
    return {
        "source": {**source, "enum": list(sources)} if sources else source,
        "request": {
            "type": "string",
            "minLength": 1,
            "maxLength": 1_000,
            "description": "What is to be done, in words. It is read as one action; what is not "
            "clear is asked back.",
        },
    }


def _beside() -> dict[str, Any]:
    return {
        "attachments": {
            "type": "array",
            "maxItems": MOST_FILES,
            "items": _FILE,
            "description": "Files that leave with it, 10 MB each at most.",
        },
        "attach_from_page": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "description": "Gmail only: the slug of an email page whose attachments leave with it.",
        },
        "notify": {
            "type": "array",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": ["inbox", "telegram"]},
            "default": ["inbox"],
            "description": "Where people are asked to agree.",
        },
        "batch_id": {
            "type": "string",
            "format": "uuid",
            "description": "The same for all drafts of one turn; people answer them as a set.",
        },
    }


OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": ["kind"],
    "properties": {
        "kind": {
            "description": "draft; clarification: answer the question and call again; noop: "
            "nothing was to be done; suppressed when the run only tried it.",
            "enum": ["draft", "clarification", "noop", "suppressed"],
        },
        "draft_id": {"type": "string", "format": "uuid"},
        "action": {"type": "string", "description": "What would be done, by its name."},
        "preview": {"type": "string", "description": "What would happen, in a sentence."},
        "payload": {"type": "object", "description": "What would be done, as it was asked for."},
        "expires_at": {"type": "string", "format": "date-time"},
        "hash": {"type": "string", "description": "Of what a person is shown."},
        "account": {"type": "string", "description": "The account that it would leave over."},
        "question": {"type": "string"},
        "reason": {"type": "string"},
        "note": {
            "type": "string",
            "description": "How a request in words was read, where no model could be asked.",
        },
    },
    "allOf": [
        {
            "if": {"properties": {"kind": {"enum": ["draft", "suppressed"]}}},
            "then": {"required": ["draft_id", "preview", "payload", "expires_at"]},
        },
        {
            "if": {"properties": {"kind": {"const": "clarification"}}},
            "then": {"required": ["question"]},
        },
        {"if": {"properties": {"kind": {"const": "noop"}}}, "then": {"required": ["reason"]}},
    ],
    "examples": [
        {
            "kind": "draft",
            "draft_id": "01900000-0000-7000-8000-0000000000d1",
            "action": "send_email",
            "preview": "Send to ada@example.com “Re: next week”: Friday works for us.",
            "payload": MAIL,
            "expires_at": _EXAMPLE_TIME,
        },
        {"kind": "clarification", "question": "Which Omer do you mean?"},
        {"kind": "noop", "reason": "There is nobody to answer."},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"kind": "draft"}, "reason": "a draft says what waits, and until when"},
        {"value": {"kind": "clarification"}, "reason": "what is asked?"},
    ],
}
