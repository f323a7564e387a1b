"""The poll trigger and its presets: their settings and the payload of their runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.addresses import LONGEST as LONGEST_URL
from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.jsonpath import LONGEST as LONGEST_PATH
from mainspring.definition.polls import (
    EVERY_PATTERN,
    GITHUB_EVENTS,
    MOST_ITEMS,
    USUAL_EVERY,
    USUAL_MOST,
)

_EVERY: Final[dict[str, Any]] = {
    "title": "Interval",
    "description": "How often it looks: a number and m, h, d or w.",
    "type": "string",
    "pattern": EVERY_PATTERN,
    "x-mainspring-says": "An interval is a number and m, h, d or w, such as 10m or 1d.",
    "examples": ["10m", "1h", "1d"],
}
_COMMON: Final[dict[str, Any]] = {
    "first_look": {
        "title": "First look",
        "description": "silent: what is there already starts nothing. fire: it counts as new.",
        "enum": ["silent", "fire"],
        "default": "silent",
    },
    "per": {
        "title": "Runs",
        "description": "item: one run for each item. batch: one run for all items of a look, and "
        "one more when some of them are new and others changed.",
        "enum": ["item", "batch"],
        "default": "item",
    },
    "max_items": {
        "title": "Items per look",
        "description": "How many items start a run after one look. The others follow after the "
        "next looks.",
        "type": "integer",
        "minimum": 1,
        "maximum": MOST_ITEMS,
        "default": USUAL_MOST,
    },
}
_URL: Final[dict[str, Any]] = {
    "title": "Address",
    "type": "string",
    "minLength": 8,
    "maxLength": LONGEST_URL,
    "pattern": r"^[Hh][Tt][Tt][Pp][Ss]?://[^\s]+$",
    "x-mainspring-says": "This must be a whole web address.",
}
_CHANGES: Final[dict[str, Any]] = {
    "title": "Changes",
    "description": "true: an item that changes starts a run as well.",
    "type": "boolean",
    "default": False,
}
_PUSH: Final[dict[str, Any]] = {
    "title": "Report at once",
    "description": "true: the provider is asked to report changes to the public address of this "
    "server, and each report makes it look at once.",
    "type": "boolean",
    "default": False,
}
_QUERY: Final[dict[str, Any]] = {
    "title": "Search",
    "type": "string",
    "minLength": 1,
    "maxLength": 900,
}


def _path(title: str, description: str, example: str) -> dict[str, Any]:
    return {
        "title": title,
        "description": description,
        "type": "string",
        "format": "jsonpath",
        "minLength": 1,
        "maxLength": LONGEST_PATH,
        "examples": [example],
    }


def _schema(
    title: str,
    properties: Mapping[str, Any],
    required: list[str],
    examples: list[Any],
    *wrong: tuple[Any, str],
) -> dict[str, Any]:
    return {
        "title": title,
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": {**properties, **_COMMON},
        "examples": examples,
        "x-mainspring-anti-examples": [
            {"value": value, "reason": reason} for value, reason in wrong
        ],
    }


def _preset(
    title: str,
    properties: Mapping[str, Any],
    required: list[str],
    examples: list[Any],
    *wrong: tuple[Any, str],
) -> dict[str, Any]:
    """The settings of a preset, which has a default interval."""
    every = {"every": {**_EVERY, "default": USUAL_EVERY}}
    return _schema(title, {**properties, **every}, required, examples, *wrong)


CONFIG_SCHEMA: Final = _schema(
    "Poll",
    {
        "capability": {
            "title": "Capability",
            "description": "A capability that only reads. It is called with the automation's "
            "grants.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "x-mainspring-source": "capabilities",
        },
        "arguments": {
            "title": "Arguments",
            "description": 'The same at every look, except {"$now": "-1h"} and '
            '{"$today": "-2d"}, which are replaced with that time and day.',
            "type": "object",
            "default": {},
        },
        "every": _EVERY,
        "items": _path(
            "Items",
            "JSONPath of the items in the result: the list, or each of them. Default: the result "
            "is one item.",
            "$.rows",
        ),
        "id": _path("Identifier", "JSONPath in an item of what identifies it.", "$.id"),
        "changed_on": _path(
            "Changed on",
            "JSONPath of the part of an item that counts as a change. Default: only new items "
            "start runs.",
            "$.updated_at",
        ),
    },
    ["capability", "every"],
    [
        {
            "capability": "adapter_query",
            "arguments": {
                "kind": "http_json",
                "op": "http_json.get",
                "ref": {"url": "https://api.example.com/orders"},
            },
            "every": "10m",
            "items": "$.rows",
            "id": "$.id",
            "changed_on": "$.status",
        },
        {
            "capability": "http_fetch",
            "arguments": {"url": "https://api.example.com/version"},
            "every": "1h",
            "changed_on": "$.json.version",
        },
    ],
    ({"every": "10m"}, "what is read?"),
    ({"capability": "adapter_query", "every": "10"}, "ten of what?"),
    ({"capability": "adapter_query", "every": "10m", "per": "row"}, "item or batch"),
)

_PAYLOAD: Final[dict[str, Any]] = {
    "title": "Poll payload",
    "type": "object",
    "required": ["change", "looked_at"],
    "properties": {
        "item": {"description": "With per item: the item as the capability returned it."},
        "items": {"description": "With per batch: all items of this run.", "type": "array"},
        "change": {"enum": ["new", "changed"]},
        "looked_at": {"type": "string", "format": "date-time"},
    },
    "examples": [
        {
            "item": {"id": "42", "title": "Release 1.2"},
            "change": "new",
            "looked_at": "2026-05-26T07:00:01Z",
        },
        {
            "items": [{"id": "42", "title": "Release 1.2"}],
            "change": "changed",
            "looked_at": "2026-05-26T07:00:01Z",
        },
    ],
}

TRIGGER: Final = TriggerKind(
    type="poll",
    description="Fires when a poll finds items that are new or changed.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=_PAYLOAD,
)

_PRESETS: Final = (
    (
        "rss_item",
        "Fires when a feed has a new entry.",
        _preset(
            "Feed entry",
            {"url": {**_URL, "description": "Of an RSS or Atom feed."}, "changes": _CHANGES},
            ["url"],
            [
                {"url": "https://example.com/news.xml"},
                {"url": "https://a.example/f", "every": "1h"},
            ],
            ({"every": "10m"}, "which feed?"),
            ({"url": "news.xml"}, "a whole address"),
        ),
    ),
    (
        "url_changed",
        "Fires when the text at an address changes.",
        _preset(
            "Address changed",
            {
                "url": _URL,
                "part": _path(
                    "Part",
                    "JSONPath of the part of the http_fetch result to compare. Default: the "
                    "whole text.",
                    "$.json.version",
                ),
            },
            ["url"],
            [
                {"url": "https://example.com/terms"},
                {"url": "https://api.example.com/status", "part": "$.json.version"},
            ],
            ({"part": "$.json"}, "of which address?"),
            ({"url": "https://a.example", "changes": True}, "a change is all it waits for"),
        ),
    ),
    (
        "github",
        "Fires when something happens in a GitHub repository.",
        _preset(
            "GitHub",
            {
                "repository": {
                    "title": "Repository",
                    "description": "The owner and the name, with a slash.",
                    "type": "string",
                    "maxLength": 140,
                    "pattern": r"^[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+$",
                    "x-mainspring-says": "A repository is an owner and a name: octo/hello.",
                },
                "event": {"title": "Event", "enum": list(GITHUB_EVENTS)},
                "branch": {
                    "title": "Branch",
                    "description": "For commit_pushed. Default: the repository's default branch.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 200,
                },
                "push": _PUSH,
            },
            ["repository", "event"],
            [
                {"repository": "octo/hello", "event": "issue_opened", "push": True},
                {"repository": "octo/hello", "event": "commit_pushed", "branch": "main"},
            ],
            ({"repository": "octo/hello"}, "which event?"),
            ({"repository": "hello", "event": "issue_opened"}, "whose repository?"),
        ),
    ),
    (
        "calendar_event",
        "Fires when a calendar has a new event, or one is about to start.",
        _preset(
            "Calendar event",
            {
                "url": {
                    **_URL,
                    "description": "Of a published calendar (iCalendar). Default: the connected "
                    "Google calendars.",
                },
                "starts_in_minutes": {
                    "title": "Minutes before the start",
                    "description": "Each occurrence fires once, when it starts within this many "
                    "minutes. Default: fires for new events.",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1_440,
                },
                "changes": _CHANGES,
                "push": _PUSH,
            },
            [],
            [
                {"url": "https://calendar.example.com/team.ics", "starts_in_minutes": 30},
                {"changes": True},
            ],
            ({"url": "team.ics"}, "a whole address"),
            ({"starts_in_minutes": 0}, "then it has started"),
        ),
    ),
    (
        "email_received",
        "Fires when a mail arrives in a connected mailbox.",
        _preset(
            "Mail received",
            {
                "mailbox": {
                    "title": "Mailbox",
                    "description": "imap: the connected mailbox of the Email integration. gmail: "
                    "the connected Gmail account.",
                    "enum": ["imap", "gmail"],
                    "default": "imap",
                },
                "query": {**_QUERY, "description": "Only mails that match, as in its search."},
            },
            [],
            [{}, {"mailbox": "gmail", "query": "from:ada@example.com"}],
            ({"mailbox": "work"}, "imap or gmail"),
            ({"query": ""}, "leave it out for every mail"),
        ),
    ),
    (
        "file_added",
        "Fires when Google Drive has a new file that matches a search.",
        _preset(
            "File added",
            {
                "query": {**_QUERY, "description": "Words in the name or the text of the file."},
                "changes": _CHANGES,
                "push": _PUSH,
            },
            ["query"],
            [{"query": "invoice"}, {"query": "report", "changes": True, "every": "1h"}],
            ({}, "which files?"),
            ({"query": ""}, "at least one word"),
        ),
    ),
)
TRIGGERS: Final = (
    TRIGGER,
    *(TriggerKind(name, text, schema, _PAYLOAD) for name, text, schema in _PRESETS),
)
