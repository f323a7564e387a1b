"""What the capabilities about connections take and answer."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.object_schema import build_object_part, build_object_schema
from mainspring.workspace.connections.rows import ALIAS

_ID: Final = {"type": "string", "format": "uuid"}
_MOMENT: Final = {"type": ["string", "null"], "format": "date-time"}
_WORDS: Final = {"type": "array", "items": {"type": "string"}}
_TEXT: Final = {"type": "string"}
_NULL_TEXT: Final = {"type": ["string", "null"]}
_COUNT: Final = {"type": "integer", "minimum": 0}
_STATES: Final = ["agreed", "new", "changed", "gone", "refused"]
_MOST_NAMED: Final = 2_000
_SOME_ID: Final = "0190f3a0-0000-7000-8000-00000000000c"
_SOMEBODY: Final = "0190f3a0-0000-7000-8000-00000000000a"
_WHEN: Final = "2026-01-01T00:00:00+00:00"
_HASH: Final = {
    "type": "string",
    "pattern": "^[0-9a-f]{64}$",
    "maxLength": 64,
    "description": "As shown; a tool that changed since is not accepted.",
    "x-mainspring-says": "This must be the hash that was shown with the tool.",
}
_A_HASH: Final = "5f" * 32
_NAME: Final = {"type": "string", "minLength": 1, "maxLength": 100}
_WRONG: Final = {
    "type": ["object", "null"],
    "required": ["code", "detail"],
    "properties": {"code": _TEXT, "detail": _TEXT, "suggestion": _NULL_TEXT},
}
_CONNECTION: Final = build_object_part(
    {
        "id": _ID,
        "alias": _TEXT,
        "transport": {"enum": ["http", "stdio"]},
        "server_url": _NULL_TEXT,
        "auth": {"enum": ["none", "bearer", "oauth"]},
        "health": {
            "enum": ["ok", "failing", "sign_in", "unknown"],
            "description": "sign_in: a person has to sign in.",
        },
        "failures_in_row": _COUNT,
        "last_ok_at": _MOMENT,
        "last_failed_at": _MOMENT,
        "last_error": _WRONG,
        "last_harvested_at": _MOMENT,
        "harvest_error": _WRONG,
        "token_ends_at": _MOMENT,
        "tools": build_object_part(
            {"agreed": _COUNT, "waiting": _COUNT, "gone": _COUNT, "refused": _COUNT}
        ),
        "created_at": {"type": "string", "format": "date-time"},
        "created_by": _ID,
    }
)
_A_CONNECTION: Final[dict[str, Any]] = {
    "id": _SOME_ID,
    "alias": "notes",
    "transport": "http",
    "server_url": "https://notes.example/mcp",
    "auth": "oauth",
    "health": "ok",
    "failures_in_row": 0,
    "last_ok_at": _WHEN,
    "last_failed_at": None,
    "last_error": None,
    "last_harvested_at": _WHEN,
    "harvest_error": None,
    "token_ends_at": None,
    "tools": {"agreed": 12, "waiting": 1, "gone": 0, "refused": 0},
    "created_at": _WHEN,
    "created_by": _SOMEBODY,
}
_TOOL: Final = build_object_part(
    {
        "name": _TEXT,
        "capability": {**_TEXT, "description": "Name for steps, agents and scripts."},
        "state": {"enum": _STATES},
        "title": _TEXT,
        "description": _TEXT,
        "effect": {"enum": ["read", "send"]},
        "effect_because": {**_TEXT, "description": "How the effect was determined."},
        "side_effects": {**_WORDS, "description": "READS, WRITES, DELETES and USER_VISIBLE."},
        "hints": {
            "type": "object",
            "description": "Hints of the server: readOnlyHint, destructiveHint and others.",
        },
        "hash": _HASH,
        "differences": {
            **_WORDS,
            "description": "Changes since it was agreed to; with many changed tools, only for the "
            "first ones and for a tool requested by name.",
        },
        "reason": {**_NULL_TEXT, "description": "Why it cannot be used."},
        "used_by": {**_WORDS, "description": "Automations with a grant for it."},
        "agreed_at": _MOMENT,
        "agreed_by": {"type": ["string", "null"], "format": "uuid"},
        "input_schema": {"type": ["object", "null"]},
        "output_schema": {"type": ["object", "null"]},
    }
)
_A_TOOL: Final[dict[str, Any]] = {
    "name": "search_notes",
    "capability": "notes.search_notes",
    "state": "changed",
    "title": "",
    "description": "Finds notes by their words.",
    "effect": "read",
    "effect_because": "its name says 'search'",
    "side_effects": ["READS"],
    "hints": {"readOnlyHint": True},
    "hash": _A_HASH,
    "differences": ["- description: Finds notes.", "+ description: Finds notes by their words."],
    "reason": None,
    "used_by": ["Weekly digest"],
    "agreed_at": _WHEN,
    "agreed_by": _SOMEBODY,
    "input_schema": None,
    "output_schema": None,
}
_LOCAL: Final = {"alias": "notes", "server_url": "http://localhost:3001/mcp"}
_AWAY: Final = {"alias": "notes", "server_url": "https://notes.example/mcp"}

CONNECT: Final = build_object_schema(
    {
        "alias": {
            "type": "string",
            "minLength": 1,
            "maxLength": 32,
            "pattern": ALIAS,
            "description": "Prefix of its tools: alias.tool.",
            "x-mainspring-says": "An alias is 1 to 32 small letters, digits and _, and begins "
            "with a letter.",
        },
        "server_url": {
            "type": "string",
            "minLength": 1,
            "maxLength": 2_000,
            "description": "Such as https://example.com/mcp.",
        },
        "auth": {
            "enum": ["none", "bearer", "oauth"],
            "description": "Default: bearer with a token, otherwise none.",
        },
        "token": {"type": "string", "minLength": 1, "maxLength": 8_192, "writeOnly": True},
        "client_id": {"type": "string", "minLength": 1, "maxLength": 500},
        "client_secret": {"type": "string", "minLength": 1, "maxLength": 8_192, "writeOnly": True},
        "agree": {
            "type": "boolean",
            "default": True,
            "description": "Agree to the current tools. false: they wait for agree_to_tools.",
        },
    },
    ["alias", "server_url"],
    [
        _LOCAL,
        {**_AWAY, "token": "tok-0123456789"},
        {**_AWAY, "auth": "oauth", "agree": False},
    ],
    [
        ({"server_url": "https://notes.example/mcp"}, "nothing to call its tools by"),
        ({**_AWAY, "alias": "My Notes"}, "an alias stands in names"),
        ({**_AWAY, "command": ["npx", "notes"]}, "no one starts programs from here"),
        ({**_AWAY, "auth": "basic"}, "a way of signing in that is not known"),
    ],
)
CONNECTED: Final = build_object_schema(
    {
        "connection": _CONNECTION,
        "tools": {"type": "array", "items": _TOOL},
        "sign_in_url": {
            **_NULL_TEXT,
            "description": "Sign in here first; its tools are listed after that.",
        },
        "inherited_by": {
            **_WORDS,
            "description": "Automations with grants under this alias. If there are any, "
            "connecting agrees to no tools.",
        },
    },
    ["connection", "tools", "sign_in_url", "inherited_by"],
    [
        {
            "connection": _A_CONNECTION,
            "tools": [_A_TOOL],
            "sign_in_url": None,
            "inherited_by": [],
        }
    ],
    [({"connection": {**_A_CONNECTION, "token": "tok-0"}}, "a token is never answered")],
)
NOTHING: Final = build_object_schema({}, [], [{}], [({"all": True}, "all are listed anyway")])
LISTED: Final = build_object_schema(
    {"connections": {"type": "array", "items": _CONNECTION}},
    ["connections"],
    [{"connections": [_A_CONNECTION]}],
    [({"connections": [{**_A_CONNECTION, "token": "tok-0"}]}, "a token is never answered")],
)
ONE: Final = build_object_schema(
    {"connection_id": _ID},
    ["connection_id"],
    [{"connection_id": _SOME_ID}],
    [({}, "which one?"), ({"connection_id": "notes"}, "a connection is named by its id")],
)
LOOK: Final = build_object_schema(
    {
        "connection_id": _ID,
        "tool": {**_NAME, "description": "Only this tool, with schemas and full text."},
    },
    ["connection_id"],
    [{"connection_id": _SOME_ID}, {"connection_id": _SOME_ID, "tool": "search_notes"}],
    [({"tool": "search_notes"}, "of which connection?")],
)
SHOWN: Final = build_object_schema(
    {"connection": _CONNECTION, "tools": {"type": "array", "items": _TOOL}},
    ["connection", "tools"],
    [{"connection": _A_CONNECTION, "tools": [_A_TOOL]}],
    [({"connection": _A_CONNECTION}, "a connection is shown with its tools")],
)
AGREE: Final = build_object_schema(
    {
        "connection_id": _ID,
        "tools": {
            "type": "array",
            "minItems": 1,
            "maxItems": _MOST_NAMED,
            "items": build_object_part({"name": _NAME, "hash": _HASH}),
        },
    },
    ["connection_id", "tools"],
    [{"connection_id": _SOME_ID, "tools": [{"name": "search_notes", "hash": _A_HASH}]}],
    [
        (
            {"connection_id": _SOME_ID, "tools": [{"name": "search_notes"}]},
            "one agrees to what was shown, and the hash says what that was",
        ),
        ({"connection_id": _SOME_ID, "tools": []}, "there is nothing to agree to"),
    ],
)
REFUSE: Final = build_object_schema(
    {
        "connection_id": _ID,
        "tools": {"type": "array", "minItems": 1, "maxItems": _MOST_NAMED, "items": _NAME},
    },
    ["connection_id", "tools"],
    [{"connection_id": _SOME_ID, "tools": ["delete_note"]}],
    [({"connection_id": _SOME_ID, "tools": "delete_note"}, "a list of names")],
)
EFFECT: Final = build_object_schema(
    {
        "connection_id": _ID,
        "tool": _NAME,
        "effect": {
            "enum": ["read", "send", None],
            "description": "Overrides the detected effect; null: detect again.",
        },
    },
    ["connection_id", "tool", "effect"],
    [
        {"connection_id": _SOME_ID, "tool": "search_notes", "effect": "read"},
        {"connection_id": _SOME_ID, "tool": "search_notes", "effect": None},
    ],
    [
        (
            {"connection_id": _SOME_ID, "tool": "search_notes", "effect": "keep"},
            "what is outside is read or sent to",
        ),
    ],
)
TOKEN: Final = build_object_schema(
    {
        "connection_id": _ID,
        "token": {"type": "string", "minLength": 1, "maxLength": 8_192, "writeOnly": True},
    },
    ["connection_id", "token"],
    [{"connection_id": _SOME_ID, "token": "tok-0123456789"}],
    [({"connection_id": _SOME_ID, "token": ""}, "an empty token is not valid")],
)
SIGN_IN: Final = build_object_schema(
    {"sign_in_url": {**_TEXT, "description": "Open it in the browser where you are signed in."}},
    ["sign_in_url"],
    [{"sign_in_url": "https://notes.example/authorize?state=0123"}],
    [({}, "there is nothing to open")],
)
DISCONNECTED: Final = build_object_schema(
    {"disconnected": {"type": "boolean"}},
    ["disconnected"],
    [{"disconnected": True}, {"disconnected": False}],
    [({"disconnected": 1}, "whether, not how many")],
)
