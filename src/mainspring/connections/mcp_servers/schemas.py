"""What the capabilities about connections take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from mainspring.contracts.model_schema import SchemaModel
from mainspring.workspace.connections.rows import ALIAS

_STATES: Final = ["agreed", "new", "changed", "gone", "refused"]

_MOST_NAMED: Final = 2_000

_SOME_ID: Final = "0190f3a0-0000-7000-8000-00000000000c"

_SOMEBODY: Final = "0190f3a0-0000-7000-8000-00000000000a"

_WHEN: Final = "2026-01-01T00:00:00+00:00"

_A_HASH: Final = "5f" * 32

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


class ConnectMcpServerArguments(SchemaModel):
    alias: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=32,
            pattern=ALIAS,
            description="Prefix of its tools: alias.tool.",
            extra_json_schema={
                "x-mainspring-says": (
                    "An alias is 1 to 32 small letters, digits and _, and begins with a letter."
                )
            },
        ),
    ]
    server_url: Annotated[
        str, Meta(min_length=1, max_length=2000, description="Such as https://example.com/mcp.")
    ]
    auth: Annotated[
        Literal["none", "bearer", "oauth"] | None,
        Meta(description="Default: bearer with a token, otherwise none."),
    ] = None
    token: (
        Annotated[str, Meta(min_length=1, max_length=8192, extra_json_schema={"writeOnly": True})]
        | None
    ) = None
    client_id: Annotated[str, Meta(min_length=1, max_length=500)] | None = None
    client_secret: (
        Annotated[str, Meta(min_length=1, max_length=8192, extra_json_schema={"writeOnly": True})]
        | None
    ) = None
    agree: Annotated[
        bool, Meta(description="Agree to the current tools. false: they wait for agree_to_tools.")
    ] = True

    examples: ClassVar = [
        _LOCAL,
        {**_AWAY, "token": "tok-0123456789"},
        {**_AWAY, "auth": "oauth", "agree": False},
    ]
    anti_examples: ClassVar = [
        ({"server_url": "https://notes.example/mcp"}, "nothing to call its tools by"),
        ({**_AWAY, "alias": "My Notes"}, "an alias stands in names"),
        ({**_AWAY, "command": ["npx", "notes"]}, "nobody starts programs from here"),
        ({**_AWAY, "auth": "basic"}, "a way of signing in that is not known"),
    ]


_Count = Annotated[int, Meta(ge=0)]


class _McpError(SchemaModel, forbid_unknown_fields=False):
    code: str
    detail: str
    suggestion: str | UnsetType | None = UNSET


class _McpConnectionTools(SchemaModel):
    agreed: _Count
    waiting: _Count
    gone: _Count
    refused: _Count


class _McpConnection(SchemaModel):
    id: UUID
    alias: str
    transport: Literal["http", "stdio"]
    server_url: str | None
    auth: Literal["none", "bearer", "oauth"]
    health: Annotated[
        Literal["ok", "failing", "sign_in", "unknown"],
        Meta(description="sign_in: a person has to sign in."),
    ]
    failures_in_row: _Count
    last_ok_at: datetime | None
    last_failed_at: datetime | None
    last_error: _McpError | None
    last_harvested_at: datetime | None
    harvest_error: _McpError | None
    token_ends_at: datetime | None
    tools: _McpConnectionTools
    created_at: datetime
    created_by: UUID


_Hash = Annotated[
    str,
    Meta(
        pattern="^[0-9a-f]{64}$",
        max_length=64,
        description="As shown; a tool that changed since is not accepted.",
        extra_json_schema={
            "x-mainspring-says": "This must be the hash that was shown with the tool."
        },
    ),
]


class _McpTool(SchemaModel):
    name: str
    capability: Annotated[str, Meta(description="Name for steps, agents and scripts.")]
    state: Annotated[str, Meta(extra_json_schema={"enum": _STATES})]
    title: str
    description: str
    effect: Literal["read", "send"]
    effect_because: Annotated[str, Meta(description="How the effect was determined.")]
    side_effects: Annotated[list[str], Meta(description="READS, WRITES, DELETES and USER_VISIBLE.")]
    hints: Annotated[
        dict[str, Any],
        Meta(description="Hints of the server: readOnlyHint, destructiveHint and others."),
    ]
    hash: _Hash
    differences: Annotated[
        list[str],
        Meta(
            description="Changes since it was agreed to; with many changed tools, only for the "
            "first ones and for a tool requested by name."
        ),
    ]
    reason: Annotated[str | None, Meta(description="Why it cannot be used.")]
    used_by: Annotated[list[str], Meta(description="Automations with a grant for it.")]
    agreed_at: datetime | None
    agreed_by: UUID | None
    input_schema: dict[str, Any] | None
    output_schema: dict[str, Any] | None


class ConnectMcpServerResult(SchemaModel):
    connection: _McpConnection
    tools: list[_McpTool]
    sign_in_url: Annotated[
        str | None, Meta(description="Sign in here first; its tools are listed after that.")
    ]
    inherited_by: Annotated[
        list[str],
        Meta(
            description="Automations with grants under this alias. If there are any, connecting "
            "agrees to no tools."
        ),
    ]

    examples: ClassVar = [
        {
            "connection": _A_CONNECTION,
            "tools": [_A_TOOL],
            "sign_in_url": None,
            "inherited_by": [],
        }
    ]
    anti_examples: ClassVar = [
        ({"connection": {**_A_CONNECTION, "token": "tok-0"}}, "a token is never answered")
    ]


class ListConnectionsArguments(SchemaModel):
    examples: ClassVar = [{}]
    anti_examples: ClassVar = [({"all": True}, "all are listed anyway")]


class ListConnectionsResult(SchemaModel):
    connections: list[_McpConnection]

    examples: ClassVar = [{"connections": [_A_CONNECTION]}]
    anti_examples: ClassVar = [
        ({"connections": [{**_A_CONNECTION, "token": "tok-0"}]}, "a token is never answered")
    ]


class McpConnectionArguments(SchemaModel):
    connection_id: UUID

    examples: ClassVar = [{"connection_id": _SOME_ID}]
    anti_examples: ClassVar = [
        ({}, "which one?"),
        ({"connection_id": "notes"}, "a connection is named by its id"),
    ]


class GetConnectionArguments(SchemaModel):
    connection_id: UUID
    tool: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=100,
                description="Only this tool, with schemas and full text.",
            ),
        ]
        | None
    ) = None

    examples: ClassVar = [
        {"connection_id": _SOME_ID},
        {"connection_id": _SOME_ID, "tool": "search_notes"},
    ]
    anti_examples: ClassVar = [({"tool": "search_notes"}, "of which connection?")]


class McpConnectionResult(SchemaModel):
    connection: _McpConnection
    tools: list[_McpTool]

    examples: ClassVar = [{"connection": _A_CONNECTION, "tools": [_A_TOOL]}]
    anti_examples: ClassVar = [
        ({"connection": _A_CONNECTION}, "a connection is shown with its tools")
    ]


_Name = Annotated[str, Meta(min_length=1, max_length=100)]


class _AgreeToToolsTool(SchemaModel):
    name: _Name
    hash: _Hash


class AgreeToToolsArguments(SchemaModel):
    connection_id: UUID
    tools: Annotated[list[_AgreeToToolsTool], Meta(min_length=1, max_length=_MOST_NAMED)]

    examples: ClassVar = [
        {"connection_id": _SOME_ID, "tools": [{"name": "search_notes", "hash": _A_HASH}]}
    ]
    anti_examples: ClassVar = [
        (
            {"connection_id": _SOME_ID, "tools": [{"name": "search_notes"}]},
            "one agrees to what was shown, and the hash says what that was",
        ),
        ({"connection_id": _SOME_ID, "tools": []}, "there is nothing to agree to"),
    ]


class RefuseToolsArguments(SchemaModel):
    connection_id: UUID
    tools: Annotated[list[_Name], Meta(min_length=1, max_length=_MOST_NAMED)]

    examples: ClassVar = [{"connection_id": _SOME_ID, "tools": ["delete_note"]}]
    anti_examples: ClassVar = [
        ({"connection_id": _SOME_ID, "tools": "delete_note"}, "a list of names")
    ]


class SetToolEffectArguments(SchemaModel):
    connection_id: UUID
    tool: _Name
    effect: Annotated[
        Literal["read", "send"] | None,
        Meta(description="Overrides the detected effect; null: detect again."),
    ]

    examples: ClassVar = [
        {"connection_id": _SOME_ID, "tool": "search_notes", "effect": "read"},
        {"connection_id": _SOME_ID, "tool": "search_notes", "effect": None},
    ]
    anti_examples: ClassVar = [
        (
            {"connection_id": _SOME_ID, "tool": "search_notes", "effect": "keep"},
            "what is outside is read or sent to",
        ),
    ]


class SetConnectionTokenArguments(SchemaModel):
    connection_id: UUID
    token: Annotated[
        str, Meta(min_length=1, max_length=8192, extra_json_schema={"writeOnly": True})
    ]

    examples: ClassVar = [{"connection_id": _SOME_ID, "token": "tok-0123456789"}]
    anti_examples: ClassVar = [
        ({"connection_id": _SOME_ID, "token": ""}, "an empty token lets nobody in")
    ]


class BeginSignInResult(SchemaModel):
    sign_in_url: Annotated[str, Meta(description="Open it in the browser where you are signed in.")]

    examples: ClassVar = [{"sign_in_url": "https://notes.example/authorize?state=0123"}]
    anti_examples: ClassVar = [({}, "there is nothing to open")]


class DisconnectMcpServerResult(SchemaModel):
    disconnected: bool

    examples: ClassVar = [{"disconnected": True}, {"disconnected": False}]
    anti_examples: ClassVar = [({"disconnected": 1}, "whether, not how many")]
