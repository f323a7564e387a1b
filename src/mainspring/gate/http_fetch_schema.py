"""What http_fetch takes and gives, as JSON Schema with examples of both kinds."""

from __future__ import annotations

from typing import Any

from mainspring.contracts.limits import Limits
from mainspring.gate.egress.headers import MAX_REQUEST_HEADERS
from mainspring.gate.egress.url import MAX_URL

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
BODILESS = ("GET", "HEAD", "DELETE")
BODIES = ("json", "text", "form")


def input_schema(limits: Limits) -> dict[str, Any]:
    """The arguments; at most one body, and none where the method carries none."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "x-mainspring-instead": dict.fromkeys(("body", "data"), "Send it as json, text or form."),
        "required": ["url"],
        "properties": {**_address(), **_bodies(limits), **_manner(limits)},
        "allOf": [
            {
                "if": {"properties": {"method": {"enum": list(BODILESS)}}},
                "then": {"properties": dict.fromkeys(BODIES, False)},
            },
            {"dependentSchemas": {"json": {"properties": {"text": False, "form": False}}}},
            {"dependentSchemas": {"text": {"properties": {"form": False}}}},
        ],
        "examples": _examples(),
        "x-mainspring-anti-examples": _anti_examples(limits),
    }


def output_schema() -> dict[str, Any]:
    """The envelope: what came back, read as far as it can be read."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "additionalProperties": False,
        "required": ["ok", "status", "headers", "text", "json", "url"],
        "properties": {
            "ok": {"type": "boolean", "description": "Whether the status is 200 to 299."},
            "status": {"type": "integer", "minimum": 200, "maximum": 999},
            "headers": {
                "type": "object",
                "description": "By lower-case name; repeated ones joined by commas.",
                "additionalProperties": {"type": "string"},
            },
            "text": {"type": "string", "description": "The body as text."},
            "json": {"description": "The body's value when it is JSON, else null."},
            "url": {"type": "string", "description": "Where the answer came from."},
        },
        "examples": [
            {
                "ok": True,
                "status": 200,
                "headers": {"content-type": "application/json"},
                "text": '{"price": 12.5}',
                "json": {"price": 12.5},
                "url": "https://api.example.com/prices?id=[secret api_key]",
            }
        ],
        "x-mainspring-anti-examples": [
            {"value": {"ok": True, "status": 200}, "reason": "the envelope is always whole"},
            {
                "value": {"ok": True, "status": "200", "headers": {}, "text": "", "url": ""},
                "reason": "a status is a number, and json is there even when it is null",
            },
        ],
    }


def _address() -> dict[str, Any]:
    secret = {"x-mainspring-scope": "secret"}
    return {
        "url": {
            "type": "string",
            "description": "An http or https URL; a secret may stand in its path or query.",
            "minLength": 8,
            "maxLength": MAX_URL,
            **secret,
        },
        "method": {"enum": list(METHODS), "default": "GET"},
        "headers": {
            "type": "object",
            "maxProperties": MAX_REQUEST_HEADERS,
            "propertyNames": {
                "maxLength": 128,
                "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$",
            },
            "additionalProperties": {"type": "string", "maxLength": 16_384, **secret},
            **secret,
        },
        "query": {
            "type": "object",
            "description": "Added to the URL, percent-encoded.",
            "maxProperties": 200,
            "additionalProperties": {"type": "string", "maxLength": 16_384, **secret},
            **secret,
        },
    }


def _bodies(limits: Limits) -> dict[str, Any]:
    return {
        "json": {"description": "Any JSON value, sent as application/json."},
        "text": {"type": "string", "maxLength": limits.http_request_bytes},
        "form": {
            "type": "object",
            "description": "Sent as application/x-www-form-urlencoded.",
            "maxProperties": 1_000,
            "additionalProperties": {"type": "string"},
        },
    }


def _manner(limits: Limits) -> dict[str, Any]:
    return {
        "timeout_seconds": {
            "type": "number",
            "minimum": 1,
            "maximum": limits.http_seconds,
            "default": min(30, limits.http_seconds),
        },
        "allow_error_status": {
            "type": "boolean",
            "default": False,
            "description": "Answer with the envelope also when the status is not 200 to 299.",
        },
        "idempotency": {
            "type": "boolean",
            "default": True,
            "description": "Send an Idempotency-Key with a request that changes something.",
        },
    }


def _examples() -> list[dict[str, Any]]:
    return [
        {"url": "https://api.example.com/prices", "query": {"symbol": "BTC"}},
        {
            "url": "https://api.example.com/notes",
            "method": "POST",
            "headers": {"Authorization": "Bearer {{ secrets.api_key }}"},
            "json": {"title": "Weekly report", "pinned": None},
        },
        {"url": "https://example.com/form", "method": "PUT", "form": {"name": "Ada"}},
        {
            "url": "https://example.com/notes/7",
            "method": "DELETE",
            "allow_error_status": True,
            "idempotency": False,
            "timeout_seconds": 5,
        },
    ]


def _anti_examples(limits: Limits) -> list[dict[str, Any]]:
    url = "https://example.com/"
    return [
        {"value": {}, "reason": "nowhere to go"},
        {"value": {"url": "a.io"}, "reason": "a URL begins with http:// or https://"},
        {"value": {"url": url, "method": "TRACE"}, "reason": "not a method that is sent"},
        {"value": {"url": url, "method": "get"}, "reason": "methods are upper case"},
        {"value": {"url": url, "json": {}}, "reason": "a GET carries no body"},
        {"value": {"url": url, "method": "DELETE", "text": "x"}, "reason": "nor does a DELETE"},
        {
            "value": {"url": url, "method": "POST", "json": 1, "form": {"a": "b"}},
            "reason": "one body at most",
        },
        {
            "value": {"url": url, "method": "POST", "text": "a", "form": {"a": "b"}},
            "reason": "one body at most",
        },
        {"value": {"url": url, "headers": {"X-Count": 3}}, "reason": "a header is text"},
        {"value": {"url": url, "headers": {"A B": "x"}}, "reason": "no space in a header's name"},
        {"value": {"url": url, "query": {"page": 2}}, "reason": "a query value is text"},
        {
            "value": {"url": url, "timeout_seconds": limits.http_seconds + 1},
            "reason": "longer than any request may take",
        },
        {"value": {"url": url, "body": "x"}, "reason": "bodies are called json, text or form"},
    ]
