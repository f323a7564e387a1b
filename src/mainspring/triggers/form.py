"""The form trigger: a hosted page that asks for the inputs of its automation."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.forms import FORM, MIN_SECONDS, PER_ADDRESS, PER_FORM
from mainspring.definition.webhook_callers import MOST_WAIT_SECONDS, WAIT_SECONDS

_FIELD: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 200}

CONFIG_SCHEMA: Final[dict[str, Any]] = {
    "title": "Form",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "access": {
            "title": "Who may fill it in",
            "description": "public: anyone with the link. members: people who are signed in as a "
            "member of the workspace.",
            "enum": ["public", "members"],
            "default": "public",
        },
        "title": {
            "title": "Title",
            "description": "Left out: the name of the automation.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
        },
        "text": {
            "title": "Text",
            "description": "Shown above the fields. A blank line starts a new paragraph.",
            "type": "string",
            "maxLength": 5_000,
        },
        "submit": {
            "title": "Button",
            "description": "The label of the button that sends the form.",
            "type": "string",
            "minLength": 1,
            "maxLength": 60,
        },
        "thank_you": {
            "title": "Thank-you text",
            "description": "Shown when the form was sent.",
            "type": "string",
            "minLength": 1,
            "maxLength": 5_000,
        },
        "redirect": {
            "title": "Redirect",
            "description": "A page that is opened instead of the thank-you text.",
            "type": "string",
            "pattern": r"^https://[^\s/?#@\\]+([/?#][^\s]*)?$",
            "x-mainspring-says": "A redirect is a whole address that begins with https://.",
            "maxLength": 2_000,
        },
        "pages": {
            "title": "Pages",
            "description": "Which inputs are asked for together, in order. Left out: all of them "
            "on one page.",
            "type": "array",
            "minItems": 1,
            "maxItems": 20,
            "items": {
                "type": "object",
                "required": ["fields"],
                "additionalProperties": False,
                "properties": {
                    "title": {"type": "string", "minLength": 1, "maxLength": 200},
                    "text": {"type": "string", "maxLength": 2_000},
                    "fields": {
                        "description": "Names of inputs.",
                        "type": "array",
                        "items": _FIELD,
                        "minItems": 1,
                        "maxItems": 50,
                    },
                },
            },
        },
        "files": {
            "title": "Files",
            "description": "The inputs that take a file, each with its limits. The input is an "
            "object with artifact_id, name, size, media_type and sha256.",
            "type": "object",
            "maxProperties": 10,
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "max_bytes": {"type": "integer", "minimum": 1},
                    "types": {
                        "description": "Media types, such as application/pdf or image/*.",
                        "type": "array",
                        "items": {
                            "type": "string",
                            "pattern": r"^[a-z0-9.+-]+/(\*|[a-z0-9.+-]+)$",
                            "x-mainspring-says": "Write a media type such as application/pdf or "
                            "image/*.",
                            "maxLength": 100,
                        },
                        "minItems": 1,
                        "maxItems": 20,
                    },
                },
            },
        },
        "rate_limit": {
            "title": "Rate limit",
            "description": "Submissions an hour, from one address and all together.",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "per_address": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1_000,
                    "default": PER_ADDRESS,
                },
                "per_form": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 100_000,
                    "default": PER_FORM,
                },
            },
        },
        "min_seconds": {
            "title": "Shortest time to fill it in",
            "description": "A submission that arrives sooner, in seconds, counts as automated.",
            "type": "integer",
            "minimum": 0,
            "maximum": 60,
            "default": MIN_SECONDS,
        },
        "respond": {
            "title": "Answer",
            "description": "What people see after sending. immediately: the thank-you text or the "
            "redirect. when_done: the output of the run. by_step: the answer of a respond step.",
            "enum": ["immediately", "when_done", "by_step"],
            "default": "immediately",
        },
        "respond_within": {
            "title": "Answer within",
            "description": "How many seconds people wait for the answer; after that they see the "
            "thank-you text, and the run continues.",
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_WAIT_SECONDS,
            "default": WAIT_SECONDS,
        },
    },
    "examples": [
        {},
        {
            "title": "Report a problem",
            "text": "We answer within two days.",
            "submit": "Send report",
            "thank_you": "Thank you. We have your report.",
        },
        {
            "access": "members",
            "redirect": "https://example.com/thanks",
            "rate_limit": {"per_address": 5},
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"access": "everyone"}, "reason": "public or members"},
        {"value": {"redirect": "http://example.com"}, "reason": "only https"},
        {"value": {"pages": [{"title": "You"}]}, "reason": "a page has fields"},
        {"value": {"fields": ["email"]}, "reason": "fields are those of pages"},
    ],
}

PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "title": "Form submission",
    "type": "object",
    "required": ["values", "submitted_at"],
    "properties": {
        "values": {"description": "What was filled in, by input.", "type": "object"},
        "submitted_at": {"type": "string", "format": "date-time"},
        "member": {
            "description": "Who sent a form for members.",
            "type": "object",
            "properties": {
                "id": {"type": "string", "format": "uuid"},
                "name": {"type": "string"},
                "email": {"type": "string"},
            },
        },
    },
    "examples": [
        {"values": {"email": "ada@example.com"}, "submitted_at": "2026-05-26T07:00:01Z"},
        {
            "values": {"days": 3},
            "submitted_at": "2026-05-26T07:00:01Z",
            "member": {
                "id": "01900000-0000-7000-8000-000000000001",
                "name": "Ada",
                "email": "ada@example.com",
            },
        },
    ],
}

TRIGGER: Final = TriggerKind(
    type=FORM,
    description="Starts a run when people fill in a form.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
