"""JSON schemas of the page capabilities."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.limits import Limits
from mainspring.workspace.pages.content import (
    LONGEST_REF,
    LONGEST_SLUG,
    LONGEST_TITLE,
    LONGEST_TYPE,
    MOST_VALUES,
    SLUG_PATTERN,
    TYPE_PATTERN,
)

JsonSchema = dict[str, Any]

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
LONGEST_QUESTION: Final = 2_000
MOST_PAGES: Final = 100
DEFAULT_LIST: Final = 50
DEFAULT_SEARCH: Final = 20
_EXAMPLE_ID: Final = "01900000-0000-7000-8000-00000000000a"

SLUG: Final[JsonSchema] = {
    "type": "string",
    "pattern": SLUG_PATTERN,
    "x-mainspring-says": "A slug is lower-case letters and digits, and between them dots, "
    "underscores and dashes.",
    "maxLength": LONGEST_SLUG,
}
ID: Final[JsonSchema] = {"type": "string", "format": "uuid"}
TYPE: Final[JsonSchema] = {
    "type": "string",
    "pattern": TYPE_PATTERN,
    "x-mainspring-says": "A type is lower-case letters, digits and underscores, a letter first.",
    "maxLength": LONGEST_TYPE,
}
_TITLE: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": LONGEST_TITLE}
_REF: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": LONGEST_REF}
_VALUES: Final[JsonSchema] = {"type": "object", "maxProperties": MOST_VALUES}
_MOMENT: Final[JsonSchema] = {"type": "string", "format": "date-time"}
_SAID_MOMENT: Final[JsonSchema] = {
    "description": "A time such as 2026-01-31T09:00:00Z, or a day in UTC.",
    "type": "string",
    "minLength": 8,
    "maxLength": 40,
}
_QUESTION: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": LONGEST_QUESTION}
_CURSOR: Final[JsonSchema] = {"type": "string", "minLength": 1, "maxLength": 200}
_NEXT: Final[JsonSchema] = {
    "type": ["string", "null"],
    "description": "Cursor of the next page; null on the last page.",
}
_OR_NULL: Final[JsonSchema] = {"type": ["string", "null"]}


def limit(default: int) -> JsonSchema:
    return {"type": "integer", "minimum": 1, "maximum": MOST_PAGES, "default": default}


def shape(
    properties: JsonSchema,
    *,
    required: tuple[str, ...] = (),
    examples: list[Any],
    wrong: list[tuple[Any, str]],
    **more: Any,
) -> JsonSchema:
    """An object schema with these properties and no others."""
    return {
        "$schema": _DIALECT,
        "type": "object",
        "additionalProperties": False,
        "required": list(required),
        "properties": properties,
        **more,
        "examples": examples,
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in wrong
        ],
    }


def one_of(*names: str) -> dict[str, Any]:
    """Exactly one of these arguments."""
    return {"oneOf": [{"required": [name]} for name in names]}


NAMED: Final = one_of("slug", "id")
_SUMMARY: Final[JsonSchema] = {
    "id": ID,
    "slug": SLUG,
    "type": TYPE,
    "title": {"type": "string"},
    "source_ref": _OR_NULL,
    "source": {"type": "string"},
    "created_at": _MOMENT,
    "updated_at": _MOMENT,
    "ingested_at": _MOMENT,
}
_SUMMARY_EXAMPLE: Final[JsonSchema] = {
    "id": _EXAMPLE_ID,
    "slug": "weekly-report-12",
    "type": "derived",
    "title": "Weekly report 12",
    "source_ref": None,
    "source": "automation",
    "created_at": "2026-01-02T00:00:00+00:00",
    "updated_at": "2026-01-02T00:00:00+00:00",
    "ingested_at": "2026-01-02T00:00:00+00:00",
}


def _build_entry_schema(more: JsonSchema | None = None) -> JsonSchema:
    properties = {**_SUMMARY, **(more or {})}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


_TOLD: Final[JsonSchema] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "at", "action", "actor_kind", "actor_id", "run_id", "detail"],
    "properties": {
        "id": ID,
        "at": _MOMENT,
        "action": {"enum": ["created", "updated", "ingested_again", "deleted", "restored"]},
        "actor_kind": {"type": "string"},
        "actor_id": ID,
        "run_id": _OR_NULL,
        "detail": {"type": "object"},
    },
}


def create_input(limits: Limits) -> JsonSchema:
    text = {"type": "string", "maxLength": limits.page_bytes}
    return shape(
        {
            "slug": {**SLUG, "description": "Default: made from the title."},
            "type": {**TYPE, "description": "Such as note or derived."},
            "title": _TITLE,
            "body": {**text, "description": "Text without front matter."},
            "markdown": {
                **text,
                "description": "Full text; front matter can set slug, type, title and source_ref.",
                "maxLength": limits.page_bytes + limits.page_values_bytes,
            },
            "frontmatter": {**_VALUES},
            "source_ref": {
                **_REF,
                "description": "Identifies the origin; the same value updates the same page.",
            },
            "provenance": {**_VALUES, "description": "Free text about the origin."},
        },
        examples=[
            {"type": "note", "title": "Office hours", "body": "Mondays at nine."},
            {
                "slug": "weekly-report-12",
                "type": "derived",
                "title": "Weekly report 12",
                "body": "All is well.",
                "frontmatter": {"week": 12},
                "source_ref": "reports:2026-W12",
            },
            {"markdown": "---\ntitle: Office hours\ntype: note\n---\n\nMondays at nine."},
        ],
        wrong=[
            ({"type": "note", "title": "x"}, "there is no text"),
            ({"type": "note", "title": "x", "body": "a", "markdown": "a"}, "one text, not two"),
            ({"type": "Note", "title": "x", "body": "a"}, "types are written in lower case"),
            ({"type": "note", "title": "x", "body": "a", "slug": "A b"}, "not a slug"),
            ({"markdown": "a", "frontmatter": {}}, "the text brings its front matter along"),
        ],
        oneOf=[
            {"required": ["type", "title", "body"], "properties": {"markdown": False}},
            {"required": ["markdown"], "properties": {"body": False, "frontmatter": False}},
        ],
    )


KEPT: Final = shape(
    {
        "id": ID,
        "slug": SLUG,
        "became": {"enum": ["created", "updated", "ingested_again", "unchanged"]},
    },
    required=("id", "slug", "became"),
    examples=[{"id": _EXAMPLE_ID, "slug": "weekly-report-12", "became": "created"}],
    wrong=[({"id": _EXAMPLE_ID}, "it must say what became of the page")],
)


def update_input(limits: Limits) -> JsonSchema:
    text = {"type": "string", "maxLength": limits.page_bytes}
    return shape(
        {
            "slug": SLUG,
            "id": ID,
            "title": _TITLE,
            "type": TYPE,
            "body": text,
            "frontmatter": {**_VALUES, "description": "Replaces all values."},
            "content_hash": {
                "type": "string",
                "pattern": "^[0-9a-f]{64}$",
                "description": "Hash of the content you read; refused if it changed.",
            },
        },
        examples=[{"slug": "office-hours", "body": "Mondays at ten."}],
        wrong=[
            ({"body": "x"}, "which page?"),
            ({"slug": "a", "id": _EXAMPLE_ID}, "one name, not two"),
            ({"slug": "a", "source_ref": "x"}, "where it came from does not change"),
        ],
        **NAMED,
    )


_WHICH: Final[JsonSchema] = {"slug": SLUG, "id": ID}
_ONE_EXAMPLES: Final[list[Any]] = [{"slug": "weekly-report-12"}, {"id": _EXAMPLE_ID}]
_ONE_WRONG: Final[list[tuple[Any, str]]] = [
    ({}, "which page?"),
    ({"slug": "a", "id": _EXAMPLE_ID}, "one name, not two"),
    ({"slug": "Not a slug"}, "a slug has small letters, digits and dashes"),
]
ONE_INPUT: Final = shape(_WHICH, examples=_ONE_EXAMPLES, wrong=_ONE_WRONG, **NAMED)
PART_NAMES: Final = ("markdown", "body", "timeline")
GET_INPUT: Final = shape(
    {
        **_WHICH,
        "include": {
            "description": "Only these of the long parts.",
            "type": "array",
            "items": {"enum": list(PART_NAMES)},
            "uniqueItems": True,
            "default": list(PART_NAMES),
        },
    },
    examples=[*_ONE_EXAMPLES, {"slug": "weekly-report-12", "include": ["body"]}],
    wrong=[*_ONE_WRONG, ({"slug": "a", "include": ["title"]}, "the short parts always come")],
    **NAMED,
)
_WHOLE: Final[JsonSchema] = {
    **_SUMMARY,
    "markdown": {"type": "string", "description": "Full text with front matter."},
    "body": {"type": "string", "description": "Text without front matter."},
    "frontmatter": {"type": "object"},
    "provenance": {"type": "object"},
    "content_hash": {"type": "string"},
    "created_by": ID,
    "run_id": _OR_NULL,
    "timeline": {"type": "array", "items": _TOLD},
}
WHOLE_OUTPUT: Final = shape(
    _WHOLE,
    required=tuple(name for name in _WHOLE if name not in PART_NAMES),
    examples=[
        {
            **_SUMMARY_EXAMPLE,
            "markdown": "---\ntitle: Weekly report 12\n---\n\nAll is well.",
            "body": "All is well.",
            "frontmatter": {},
            "provenance": {"source": "automation"},
            "content_hash": "0" * 64,
            "created_by": _EXAMPLE_ID,
            "run_id": None,
            "timeline": [],
        }
    ],
    wrong=[({"body": "x"}, "which page?")],
)
DELETED: Final = shape(
    {"id": ID, "slug": SLUG, "changed": {"type": "boolean"}},
    required=("id", "slug", "changed"),
    examples=[{"id": _EXAMPLE_ID, "slug": "weekly-report-12", "changed": True}],
    wrong=[({}, "which page?")],
)
LIST_INPUT: Final = shape(
    {
        "type": TYPE,
        "ingested_after": _SAID_MOMENT,
        "ingested_before": _SAID_MOMENT,
        "limit": limit(DEFAULT_LIST),
        "cursor": _CURSOR,
    },
    examples=[{}, {"type": "note", "ingested_after": "2026-01-31", "limit": 10}],
    wrong=[
        ({"limit": MOST_PAGES + 1}, "more than one page holds"),
        ({"limit": 0}, "at least one"),
        ({"since": "2026-01-31"}, "it is called ingested_after"),
    ],
)


def pages_output(entry: JsonSchema, example: JsonSchema, **more: JsonSchema) -> JsonSchema:
    """The schema of a page list with its other fields."""
    return shape(
        {"pages": {"type": "array", "items": entry, "maxItems": MOST_PAGES}, **more},
        required=("pages", *more),
        examples=[example],
        wrong=[({}, "an empty list is a list too")],
    )


LIST_OUTPUT: Final = pages_output(
    _build_entry_schema(), {"pages": [_SUMMARY_EXAMPLE], "next": None}, next=_NEXT
)
EVENTS_INPUT: Final = shape(
    {
        "start": _SAID_MOMENT,
        "end": _SAID_MOMENT,
        "limit": limit(DEFAULT_LIST),
        "cursor": _CURSOR,
    },
    required=("start", "end"),
    examples=[{"start": "2026-01-31", "end": "2026-02-01"}],
    wrong=[
        ({"start": "2026-01-31"}, "until when?"),
        ({"start": "x", "end": "y"}, "these are no moments"),
    ],
)
EVENTS_OUTPUT: Final = pages_output(
    _build_entry_schema({"start": _MOMENT, "end": _OR_NULL, "frontmatter": {"type": "object"}}),
    {
        "pages": [
            {
                **_SUMMARY_EXAMPLE,
                "type": "calendar_event",
                "start": "2026-01-31T09:00:00+00:00",
                "end": None,
                "frontmatter": {"start": "2026-01-31T09:00:00Z"},
            }
        ],
        "next": None,
    },
    next=_NEXT,
)
TIMELINE_INPUT: Final = shape(
    {
        **_WHICH,
        "limit": limit(DEFAULT_LIST),
        "before": {**ID, "description": "Only older entries."},
    },
    examples=_ONE_EXAMPLES,
    wrong=_ONE_WRONG,
    **NAMED,
)
TIMELINE_OUTPUT: Final = shape(
    {"entries": {"type": "array", "items": _TOLD, "maxItems": MOST_PAGES}},
    required=("entries",),
    examples=[{"entries": []}],
    wrong=[({}, "what happened?")],
)

_ASKED: Final[JsonSchema] = {
    "q": {**_QUESTION, "description": "What to find."},
    "query": {**_QUESTION, "description": "Alias of q."},
    "text": {**_QUESTION, "description": "Alias of q."},
    "tags": {
        "description": "Pages with at least one of these tags.",
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": 200},
        "minItems": 1,
        "maxItems": 50,
    },
    "since": {
        **_SAID_MOMENT,
        "description": "Pages added or changed since this time (2026-01-31T09:00:00Z) or day in "
        "UTC.",
    },
}
_ASKED_TWICE: Final[JsonSchema] = {
    "not": {},
    "x-mainspring-says": "Give only one of q, query or text.",
}
# At most one query; none only when tags or a time select the pages.
_ONE_QUESTION: Final[JsonSchema] = {
    "anyOf": [{"required": [name]} for name in _ASKED],
    "dependentSchemas": {
        "q": {"properties": {"query": _ASKED_TWICE, "text": _ASKED_TWICE}},
        "query": {"properties": {"text": _ASKED_TWICE}},
    },
}
_ASK_WRONG: Final[list[tuple[Any, str]]] = [
    ({}, "what is looked for?"),
    ({"q": "budget", "query": "budget"}, "one question, under one name"),
    ({"q": "budget", "limit": MOST_PAGES + 1}, "more than one answer holds"),
    ({"q": "budget", "kind": "note"}, "it is called type"),
    ({"q": ""}, "what is looked for?"),
]
ASK_INPUT: Final = shape(
    {**_ASKED, "type": TYPE, "limit": limit(DEFAULT_SEARCH)},
    examples=[
        {"q": "budget"},
        {"query": '"annual budget" -draft', "type": "note", "limit": 5},
        {"tags": ["competitor"], "since": "2026-01-31T09:00:00Z"},
    ],
    wrong=_ASK_WRONG,
    **_ONE_QUESTION,
)
SPACE: Final[JsonSchema] = {
    "search_space_id": {**ID, "description": "Your workspace."},
    "brain_id": {**ID, "description": "Alias of search_space_id."},
}
SPACE_ASK_INPUT: Final = shape(
    {**_ASKED, "type": TYPE, "limit": limit(DEFAULT_SEARCH), **SPACE},
    examples=[
        {"query": "When is the office open?"},
        {"tags": ["competitor"], "since": "2026-01-31T09:00:00Z"},
    ],
    wrong=_ASK_WRONG,
    **_ONE_QUESTION,
)
FETCH_INPUT: Final = shape(
    {"document_id": ID, **_WHICH, **SPACE},
    examples=[{"document_id": _EXAMPLE_ID}, {"slug": "weekly-report-12"}],
    wrong=[({}, "which page?"), ({"slug": "a", "document_id": _EXAMPLE_ID}, "one name, not two")],
    **one_of("document_id", "slug", "id"),
)
_FOUND: Final[JsonSchema] = {
    "score": {"type": "number"},
    "snippet": {"type": "string", "description": "Part of the body as plain text."},
    "highlights": {
        "description": "Matches in the snippet: [start, end) in characters.",
        "type": "array",
        "items": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
    },
}
_USED: Final[JsonSchema] = {
    "description": "Search methods used.",
    "type": "array",
    "items": {"enum": ["text", "trigram", "embedding"]},
}
_FOUND_EXAMPLE: Final[JsonSchema] = {
    **_SUMMARY_EXAMPLE,
    "score": 0.6,
    "snippet": "All is well.",
    "highlights": [[0, 3]],
}
SEARCH_OUTPUT: Final = pages_output(
    _build_entry_schema(_FOUND), {"pages": [_FOUND_EXAMPLE], "used": ["text"]}, used=_USED
)
_PARTS: Final[JsonSchema] = {
    "description": "Rank and score per search method.",
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "required": ["place", "score"],
        "properties": {"place": {"type": "integer"}, "score": {"type": "number"}},
    },
}
QUERY_OUTPUT: Final = pages_output(
    _build_entry_schema({**_FOUND, "parts": _PARTS}),
    {
        "pages": [{**_FOUND_EXAMPLE, "parts": {"text": {"place": 1, "score": 0.6}}}],
        "used": ["text", "trigram"],
        "model": None,
        "note": "No embedding model is set, so pages were found by words and titles alone.",
    },
    used=_USED,
    model={"type": ["string", "null"], "description": "Embedding model, if used."},
    note={"type": ["string", "null"], "description": "Why a search method was not used."},
)
