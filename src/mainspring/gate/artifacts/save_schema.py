"""What artifacts.save takes and answers, as schemas with examples."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.limits import Limits

MAX_NAME = 200
MAX_MEDIA_TYPE = 127
KINDS = ("audio", "document", "image", "data")
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_WORD = "[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]*"
MEDIA_TYPE = f"^{_WORD}/{_WORD}$"
NAME = r"^[^/\\\x00-\x1f\x7f]+$"


def input_schema(limits: Limits) -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["name"],
        "oneOf": [{"required": ["text"]}, {"required": ["json"]}, {"required": ["base64"]}],
        "properties": {
            "name": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_NAME,
                "pattern": NAME,
                "x-mainspring-says": "This is the name of a file, without any folder.",
                "description": "The name of the file, without any folder.",
            },
            "text": {"type": "string", "description": "The content, as text in UTF-8."},
            "json": {"description": "The content, as any JSON value."},
            "base64": {"type": "string", "description": "The content, as bytes in base64."},
            "media_type": {
                "type": "string",
                "maxLength": MAX_MEDIA_TYPE,
                "pattern": MEDIA_TYPE,
                "x-mainspring-says": "This must be a media type such as text/plain.",
                "description": "Default: by the end of the name, else by the content.",
            },
            "kind": {"enum": list(KINDS), "description": "Default: by the media type."},
            "retention": {
                "enum": ["transient", "default", "permanent"],
                "default": "default",
                "description": f"transient: {limits.transient_hours} hours; "
                f"default: {limits.artifact_days} days; permanent: until it is deleted.",
            },
            "visibility": {
                "enum": ["private", "workspace", "shared"],
                "default": "workspace",
                "description": "private: never by a link; workspace: its members, who may make "
                "a link; shared: the answer carries a link.",
            },
        },
        "examples": [
            {"name": "report.csv", "text": "a,b\n1,2\n"},
            {"name": "answer.json", "json": {"total": 3}, "retention": "transient"},
            {
                "name": "dot.gif",
                "base64": "R0lGODlhAQABAAAAACw=",
                "media_type": "image/gif",
                "kind": "image",
                "visibility": "shared",
            },
        ],
        "x-mainspring-anti-examples": [
            _not({"name": "report.csv"}, "there is nothing to save"),
            _not({"text": "a"}, "a file has a name"),
            _not({"name": "a.txt", "text": "a", "json": 1}, "which of the two is the content?"),
            _not({"name": "../a.txt", "text": "a"}, "a name is not a path"),
            _not({"name": "a.txt", "text": "a", "media_type": "text"}, "type and subtype"),
            _not({"name": "a.txt", "text": "a", "retention": "forever"}, "say permanent"),
        ],
    }


def output_schema() -> dict[str, Any]:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["artifact_id", "name", "size", "sha256", "media_type", "expires_at"],
        "properties": {
            "artifact_id": {"type": "string", "format": "uuid"},
            "name": {"type": "string"},
            "size": {"type": "integer", "minimum": 0},
            "sha256": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
            "media_type": {"type": "string"},
            "expires_at": {"type": ["string", "null"], "format": "date-time"},
            "url": {
                "type": "string",
                "description": "Only for a shared one: a link that needs no sign-in, "
                "for a week at most.",
            },
        },
        "examples": [
            {
                "artifact_id": "01900000-0000-7000-8000-000000000001",
                "name": "report.csv",
                "size": 8,
                "sha256": "0" * 64,
                "media_type": "text/csv",
                "expires_at": "2026-12-15T10:00:00Z",
            }
        ],
    }


def _not(value: Any, reason: str) -> dict[str, Any]:
    return {"value": value, "reason": reason}
