"""What the capabilities about questions take and answer."""

from __future__ import annotations

from typing import Any, Final

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SOME_ID: Final = "01900000-0000-7000-8000-0000000000b1"
_SOME_TIME: Final = "2026-12-01T10:00:00+00:00"
USUAL: Final = 50
MOST: Final = 100
_ID: Final[dict[str, Any]] = {"type": "string", "format": "uuid"}
_MAYBE_ID: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "uuid"}
_TIME: Final[dict[str, Any]] = {"type": "string", "format": "date-time"}
_MAYBE_TIME: Final[dict[str, Any]] = {"type": ["string", "null"], "format": "date-time"}

ASK_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["title"],
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "message": {"type": "string", "maxLength": 20_000},
        "form": {"type": "object", "description": "The JSON Schema of the answer."},
        "timeout_seconds": {"type": "integer", "minimum": 60, "maximum": 2_592_000},
        "default": {"description": "The answer when nobody gave one in time."},
        "roles": {"type": "array", "minItems": 1, "items": {"type": "string"}},
        "on_decline": {"enum": ["fail", "continue"]},
        "notify": {"type": "array", "items": {"enum": ["inbox", "email", "telegram"]}},
    },
    "examples": [{"title": "Publish the notes?", "message": "They are attached to the run."}],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "a question has a title"},
        {"value": {"title": "x", "timeout_seconds": 1}, "reason": "nobody is that quick"},
    ],
}
ASK_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["approval_id", "expires_at", "answer"],
    "properties": {
        "approval_id": {**_MAYBE_ID, "description": "Null in a trial, which asks nobody."},
        "expires_at": _MAYBE_TIME,
        "answer": {"description": "In a trial, the answer it goes on with."},
    },
    "examples": [{"approval_id": _SOME_ID, "expires_at": _SOME_TIME, "answer": None}],
    "x-mainspring-anti-examples": [
        {"value": {"approval_id": _SOME_ID}, "reason": "until when it waits is always told"}
    ],
}
LIST_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "status": {"enum": ["pending", "approved", "declined", "expired"], "default": "pending"},
        "after": {**_ID, "description": "Where the page before ended."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL},
    },
    "examples": [{}, {"status": "expired", "limit": 10}],
    "x-mainspring-anti-examples": [
        {"value": {"status": "open"}, "reason": "no such status"},
        {"value": {"limit": 0}, "reason": "at least one"},
    ],
}
_ENTRY: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["approval_id", "run_id", "status", "title", "form", "expires_at"],
    "properties": {
        "approval_id": _ID,
        "automation_id": _ID,
        "automation": {"type": "string"},
        "run_id": _ID,
        "step": {"type": "string"},
        "status": {"enum": ["pending", "approved", "declined", "expired"]},
        "title": {"type": "string"},
        "message": {"type": "string"},
        "form": {"type": ["object", "null"]},
        "default": {"description": "The answer when nobody gives one in time."},
        "roles": {"type": ["array", "null"], "items": {"type": "string"}},
        "answer": {"description": "What was answered."},
        "answered_by": _MAYBE_ID,
        "answered_at": _MAYBE_TIME,
        "created_at": _TIME,
        "expires_at": _TIME,
    },
}
LIST_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["approvals", "next"],
    "properties": {"approvals": {"type": "array", "items": _ENTRY}, "next": _MAYBE_ID},
    "examples": [{"approvals": [], "next": None}],
    "x-mainspring-anti-examples": [
        {"value": {"approvals": []}, "reason": "whether there are more is always told"}
    ],
}
ANSWER_INPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["approval_id", "decision"],
    "properties": {
        "approval_id": _ID,
        "decision": {"enum": ["approved", "declined"]},
        "answer": {"description": "What the form asks for; nothing where there is no form."},
    },
    "examples": [
        {"approval_id": _SOME_ID, "decision": "approved"},
        {"approval_id": _SOME_ID, "decision": "approved", "answer": {"day": "2026-12-01"}},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"approval_id": _SOME_ID}, "reason": "yes or no?"},
        {"value": {"approval_id": _SOME_ID, "decision": "yes"}, "reason": "approved or declined"},
    ],
}
ANSWER_OUTPUT: Final[dict[str, Any]] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["ok", "approval_id", "status", "run_id"],
    "properties": {
        "ok": {"const": True},
        "approval_id": _ID,
        "status": {"enum": ["approved", "declined"]},
        "run_id": _ID,
    },
    "examples": [{"ok": True, "approval_id": _SOME_ID, "status": "approved", "run_id": _SOME_ID}],
    "x-mainspring-anti-examples": [
        {"value": {"ok": True}, "reason": "what was decided is always told"}
    ],
}
