"""The shapes of what brings data in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from mainspring.connections.ingestion.sources import DataSources

REQUEST_MOST: Final = 1_000
MOST_LISTED: Final = 500
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_BRAIN: Final = "01900000-0000-7000-8000-000000000001"
_ONE_SHAPE: Final = "Give either input or request, and not both."

Schema = dict[str, Any]


def _source(names: Sequence[str], text: str) -> Schema:
    shown: Schema = {"type": "string", "minLength": 1, "maxLength": 64, "description": text}
    return {**shown, "enum": list(names)} if names else shown


def fetch_input(reachable: DataSources) -> Schema:
    """What fetch_from_integration takes: a source, and one of two ways to say what."""
    names = reachable.fetched
    source = "gmail" if "gmail" in names or not names else names[0]
    examples = [{"source": source, **_question(reachable, source)}]
    examples.append({"source": source, "request": "from:noah ethera after:2026/04/01"})
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["source"],
        "properties": {
            "source": _source(names, "From list_integrations."),
            "input": {
                "type": "object",
                "description": f"Arguments of the source. {_inputs(reachable)}",
            },
            "request": {
                "type": "string",
                "minLength": 1,
                "maxLength": REQUEST_MOST,
                "description": "Plain words: a search of the source, or for a calendar a sentence "
                "with two dates.",
            },
            "brain_id": {
                "type": "string",
                "format": "uuid",
                "description": "Your workspace.",
            },
        },
        "if": {"required": ["request"]},
        "then": {"properties": {"input": {"not": {}, "x-mainspring-says": _ONE_SHAPE}}},
        "else": {"required": ["input"]},
        "x-mainspring-instead": {"query": _ONE_SHAPE, "limit": "Put it in input."},
        "examples": examples,
        "x-mainspring-anti-examples": [
            {"value": {"source": source}, "reason": "what of it?"},
            {"value": {"source": source, "request": ""}, "reason": "an empty request"},
            {"value": {"source": source, "input": "from:noah"}, "reason": "an input is an object"},
            {
                "value": {"source": source, "input": {}, "request": "from:noah"},
                "reason": "one way to say it, and not both",
            },
            {"value": {"request": "from:noah"}, "reason": "from where?"},
        ],
    }


def _question(reachable: DataSources, name: str) -> Mapping[str, Any]:
    one = reachable.get(name)
    if one is None or one.source is None:
        return {"input": {"query": "from:noah ethera", "limit": 100}}
    examples = one.source.input_schema.get("examples") or [{}]
    return {"input": examples[0]}


def _inputs(reachable: DataSources) -> str:
    told = []
    for name in reachable.fetched:
        source = reachable[name].source
        fields = ", ".join(source.input_schema.get("properties", {})) if source else ""
        told.append(f"{name}: {fields or 'nothing'}")
    return "; ".join(told) + ("." if told else "")


_ERROR: Final[Schema] = {
    "type": "object",
    "required": ["source_ref", "detail"],
    "properties": {
        "source_ref": {"type": "string", "description": "The item at the source."},
        "detail": {"type": "string"},
        "code": {"type": "string"},
    },
}
FETCHED: Final[Schema] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": [
        "source",
        "request",
        "brain_id",
        "ingested_count",
        "page_slugs",
        "translation_log",
    ],
    "properties": {
        "source": {"type": "string"},
        "request": {"type": "string", "description": "The request as text."},
        "brain_id": {"type": "string", "format": "uuid"},
        "ingested_count": {
            "type": "integer",
            "description": "New and changed pages.",
        },
        "page_slugs": {
            "type": "array",
            "items": {"type": "string"},
            "description": f"Those pages; the first {MOST_LISTED}.",
        },
        "errors": {
            "type": "array",
            "items": _ERROR,
            "description": "Items that could not be read or stored; the rest succeeded.",
        },
        "translation_log": {
            "type": "array",
            "items": {"type": "string"},
            "description": "How the request was understood.",
        },
        "verify_mode": {"type": "boolean"},
        "note": {"type": "string"},
    },
    "examples": [
        {
            "source": "gmail",
            "request": "from:noah ethera",
            "brain_id": _BRAIN,
            "ingested_count": 1,
            "page_slugs": ["re-ethera-5b1f4c2e"],
            "translation_log": ['The request was read as {"query": "from:noah ethera"}.'],
        }
    ],
}


def poll_input(reachable: DataSources) -> Schema:
    names = reachable.poll_names
    source = "gmail" if "gmail" in names or not names else names[0]
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["source"],
        "properties": {
            "source": _source(names, "From list_integrations."),
            "poll": {
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "description": "Only this poll of the source. Default: all.",
            },
        },
        "examples": [{"source": source}],
        "x-mainspring-anti-examples": [
            {"value": {}, "reason": "from where?"},
            {"value": {"source": source, "poll": ""}, "reason": "a poll has a name"},
            {"value": {"source": source, "cursor": {}}, "reason": "the cursor is kept here"},
        ],
    }


POLLED: Final[Schema] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": ["source", "ingested_count", "page_slugs", "more"],
    "properties": {
        "source": {"type": "string"},
        "ingested_count": {"type": "integer"},
        "page_slugs": {"type": "array", "items": {"type": "string"}},
        "errors": {"type": "array", "items": _ERROR},
        "more": {"type": "boolean", "description": "There is more to read now."},
        "note": {"type": "string"},
    },
    "examples": [
        {
            "source": "gmail",
            "ingested_count": 2,
            "page_slugs": ["re-ethera-5b1f4c2e", "invoice-12-0d94b1aa"],
            "more": False,
        }
    ],
}


def problems_input(reachable: DataSources) -> Schema:
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "source": _source(sorted(reachable), "Only this source."),
            "limit": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
        },
        "examples": [{}, {"limit": 10}],
        "x-mainspring-anti-examples": [
            {"value": {"limit": 0}, "reason": "none at all?"},
            {"value": {"limit": "all"}, "reason": "a number"},
        ],
    }


PROBLEMS: Final[Schema] = {
    "$schema": _DIALECT,
    "type": "object",
    "required": ["problems"],
    "properties": {
        "problems": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["source", "source_ref", "problem", "times", "first_at", "last_at"],
                "properties": {
                    "source": {"type": "string"},
                    "source_ref": {"type": "string"},
                    "problem": {"type": "object"},
                    "times": {"type": "integer"},
                    "first_at": {"type": "string", "format": "date-time"},
                    "last_at": {"type": "string", "format": "date-time"},
                },
            },
        }
    },
    "examples": [{"problems": []}],
}


def read_input(reachable: DataSources) -> Schema:
    """What read_from_integration takes: a source and its arguments."""
    names = reachable.fetched
    source = "gmail" if "gmail" in names or not names else names[0]
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": ["source", "input"],
        "properties": {
            "source": _source(names, "From list_integrations."),
            "input": {
                "type": "object",
                "description": f"Arguments of the source. {_inputs(reachable)}",
            },
        },
        "examples": [{"source": source, **_question(reachable, source)}],
        "x-mainspring-anti-examples": [
            {"value": {"source": source}, "reason": "what of it?"},
            {"value": {"source": source, "input": "from:noah"}, "reason": "an input is an object"},
        ],
    }


READ: Final[Schema] = {
    "$schema": _DIALECT,
    "type": "object",
    "additionalProperties": False,
    "required": ["source", "items", "more", "errors"],
    "properties": {
        "source": {"type": "string"},
        "items": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "type", "title", "text", "fields"],
                "properties": {
                    "id": {"type": "string", "description": "Identifies the item over time."},
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "text": {"type": "string", "description": "How its text begins."},
                    "fields": {"type": "object", "description": "What else is known of it."},
                },
            },
        },
        "more": {"type": "boolean", "description": "Whether there are items beyond these."},
        "errors": {
            "type": "array",
            "items": _ERROR,
            "description": "Items that could not be read; the rest succeeded.",
        },
    },
    "examples": [
        {
            "source": "gmail",
            "items": [
                {
                    "id": "gmail:thread:18c2",
                    "type": "email",
                    "title": "Next week",
                    "text": "Does Friday work for you?",
                    "fields": {"message_id": "18c2", "from": "ada@example.com"},
                }
            ],
            "more": False,
            "errors": [],
        }
    ],
    "x-mainspring-anti-examples": [{"value": {"items": []}, "reason": "of which source?"}],
}
