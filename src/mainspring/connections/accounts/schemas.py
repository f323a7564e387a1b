"""What the capabilities about integrations take and answer."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, ClassVar, Final, Literal
from uuid import UUID

from msgspec import UNSET, Meta, UnsetType

from mainspring.connections.accounts.member_access import STATES
from mainspring.contracts.manifest import TIERS
from mainspring.contracts.model_schema import SchemaModel

_SOME_ID: Final = "0190f3a0-0000-7000-8000-00000000000c"

_WHEN: Final = "2026-01-01T00:00:00+00:00"

_GMAIL: Final[dict[str, Any]] = {
    "name": "gmail",
    "label": "Gmail",
    "oauth_provider": "google",
    "supports": {"fetch": True, "act": True, "adapter": False},
    "polls": True,
    "connected": True,
    "description": "Mail of a Google account.",
    "state": "ready",
    "account": "ada@example.com",
    "tier": "gold",
    "auth": "oauth",
    "how": "Sign in with Google.",
    "fields": [],
    "connect_url": "/integrations/gmail",
    "connection": {
        "id": _SOME_ID,
        "label": "Gmail",
        "health": "ok",
        "failures_in_row": 0,
        "last_ok_at": _WHEN,
        "last_failed_at": None,
        "last_error": None,
        "scopes": ["https://mail.google.com/"],
        "settings": {},
        "access_ends_at": _WHEN,
        "connected_at": _WHEN,
        "automation_id": None,
        "owner": "member",
        "held_by": _SOME_ID,
    },
    "adapters": [],
    "prompts_over": None,
}

_LINEAR: Final[dict[str, Any]] = {
    "name": "linear",
    "label": "Linear",
    "oauth_provider": None,
    "supports": {"fetch": True, "act": True, "adapter": True},
    "polls": True,
    "connected": False,
    "description": "Issues of a Linear workspace.",
    "state": "not_connected",
    "account": None,
    "tier": "silver",
    "auth": "token",
    "how": "An API key of your own.",
    "fields": [
        {
            "name": "token",
            "label": "API key",
            "help": None,
            "secret": True,
            "required": True,
            "type": "string",
            "default": None,
        },
    ],
    "connect_url": "/integrations/linear",
    "connection": None,
    "adapters": [],
    "prompts_over": None,
}


class ListIntegrationsArguments(SchemaModel):
    include_unconnected: Annotated[bool, Meta(description="false: only connected ones.")] = True

    examples: ClassVar = [{}, {"include_unconnected": False}]
    anti_examples: ClassVar = [
        ({"include_unconnected": "yes"}, "true or false"),
        ({"connected": True}, "no such argument"),
    ]


class _IntegrationEntrySupports(SchemaModel):
    fetch: bool
    act: bool
    adapter: bool


class _ConnectionField(SchemaModel):
    name: str
    label: str
    help: str | None
    secret: bool
    required: bool
    type: Literal["string", "integer", "boolean"]
    default: str | int | float | bool | None


class _ConnectionError(SchemaModel, forbid_unknown_fields=False):
    code: str
    detail: str
    suggestion: str | UnsetType | None = UNSET


class _ConnectionHealth(SchemaModel):
    id: UUID
    label: str
    health: Annotated[
        Literal["ok", "failing", "reconnect", "unknown"],
        Meta(description="reconnect: access is denied until it is connected again."),
    ]
    failures_in_row: Annotated[int, Meta(ge=0)]
    last_ok_at: datetime | None
    last_failed_at: datetime | None
    last_error: _ConnectionError | None
    scopes: list[str]
    settings: dict[str, Any]
    access_ends_at: Annotated[datetime | None, Meta(description="It is refreshed before.")]
    connected_at: datetime
    automation_id: Annotated[
        UUID | None, Meta(description="The automation of watch_integration, if any.")
    ]
    owner: Annotated[
        Literal["member", "workspace"],
        Meta(description="workspace: every member's automations can use it."),
    ]
    held_by: Annotated[UUID, Meta(description="The member who connected it.")]


class _BoardAdapterField(SchemaModel):
    name: str
    label: str
    placeholder: str
    required: bool


class _BoardAdapterOperation(SchemaModel):
    id: str
    label: str
    description: str
    sample: Annotated[dict[str, Any], Meta(description="Example arguments.")]


class _BoardAdapter(SchemaModel):
    kind: str
    label: str
    description: str
    connection: Literal["needed", "used", "none"]
    fields: Annotated[list[_BoardAdapterField], Meta(description="Parts of a ref.")]
    operations: list[_BoardAdapterOperation]


class _IntegrationEntry(SchemaModel):
    name: Annotated[str, Meta(description="Source key for fetch and act.")]
    label: str
    oauth_provider: str | None
    supports: _IntegrationEntrySupports
    polls: Annotated[bool, Meta(description="Whether watch_integration can read from it.")]
    connected: Annotated[bool, Meta(description="Whether the caller can use it now.")]
    description: str
    state: Annotated[
        str,
        Meta(
            description="reconnect: connect it again. not_needed: no connection is needed. "
            "operator: the operator has not configured it. secret_missing: it needs a"
            " secret.",
            extra_json_schema={"enum": list(STATES)},
        ),
    ]
    account: Annotated[str | None, Meta(description="The account at the provider.")]
    tier: Annotated[str, Meta(extra_json_schema={"enum": list(TIERS)})]
    auth: Literal["none", "operator", "secret", "token", "oauth"]
    how: Annotated[str, Meta(description="How to authenticate.")]
    fields: list[_ConnectionField]
    connect_url: Annotated[str, Meta(description="The page to connect it.")]
    connection: _ConnectionHealth | None
    adapters: Annotated[list[_BoardAdapter], Meta(description="What boards can link to.")]
    prompts_over: Annotated[
        Literal["chat", "account"] | None,
        Meta(
            description="How members are asked there. chat: in the chat that they link with their"
            " connection; account: as the account that they link; null: not possible."
        ),
    ]


class ListIntegrationsResult(SchemaModel):
    integrations: list[_IntegrationEntry]

    examples: ClassVar = [{"integrations": [_GMAIL, _LINEAR]}]
    anti_examples: ClassVar = [
        ({"integrations": [{"name": "gmail"}]}, "each says whether it is connected")
    ]


_Name = Annotated[
    str,
    Meta(
        pattern="^[a-z][a-z0-9_]{0,63}$",
        max_length=64,
        description="Source key, such as gmail.",
        extra_json_schema={
            "x-mainspring-says": "This must be the name of an integration, such as gmail."
        },
    ),
]


class ConnectIntegrationArguments(SchemaModel):
    integration: _Name
    fields: (
        Annotated[
            dict[str, str | int | bool],
            Meta(
                max_length=12,
                description="Values by name; list_integrations lists them. Secrets are stored in "
                "the vault. After a sign-in: what to follow.",
                extra_json_schema={"writeOnly": True},
            ),
        ]
        | None
    ) = None
    label: (
        Annotated[
            str, Meta(min_length=1, max_length=80, description="Default: the integration's name.")
        ]
        | None
    ) = None
    share: Annotated[bool, Meta(description="Also call share_integration_connection.")] = False

    examples: ClassVar = [
        {"integration": "gmail"},
        {"integration": "linear", "fields": {"token": "lin_api_0123456789"}},
    ]
    anti_examples: ClassVar = [
        ({"fields": {"token": "x"}}, "of which integration?"),
        ({"integration": "Gmail"}, "names are in small letters"),
        ({"integration": "linear", "fields": "lin_api_0123456789"}, "fields have names"),
        ({"integration": "linear", "token": "x"}, "what lets it in stands in fields"),
    ]


class ConnectIntegrationResult(SchemaModel):
    integration: _IntegrationEntry
    sign_in_url: Annotated[
        str | None,
        Meta(
            description="Open it in the browser where you use Mainspring; it is connected when "
            "you return."
        ),
    ]
    note: str | None

    examples: ClassVar = [{"integration": _GMAIL, "sign_in_url": None, "note": None}]
    anti_examples: ClassVar = [({"integration": _GMAIL}, "it says whether somebody has to sign in")]


class IntegrationArguments(SchemaModel):
    integration: _Name

    examples: ClassVar = [{"integration": "gmail"}]
    anti_examples: ClassVar = [
        ({}, "which one?"),
        ({"integration": "Google Mail"}, "names are in small letters"),
    ]


class BeginIntegrationSignInResult(SchemaModel):
    sign_in_url: str
    redirect_url: Annotated[str, Meta(description="Where the provider returns to.")]

    examples: ClassVar = [
        {
            "sign_in_url": "https://accounts.google.com/o/oauth2/v2/auth?client_id=…",
            "redirect_url": "http://127.0.0.1:8787/api/v1/integrations/callback/google",
        }
    ]
    anti_examples: ClassVar = [({"sign_in_url": None}, "there is an address")]


class DisconnectIntegrationResult(SchemaModel):
    disconnected: bool
    note: Annotated[
        str | None, Meta(description="Why it was not revoked at the provider, if so.")
    ] = None

    examples: ClassVar = [{"disconnected": True}]
    anti_examples: ClassVar = [({"disconnected": "yes"}, "true or false")]


class ShareIntegrationResult(SchemaModel):
    shared: bool
    integration: _IntegrationEntry

    examples: ClassVar = [{"shared": True, "integration": _GMAIL}]
    anti_examples: ClassVar = [({"shared": True}, "it says how the connection stands")]


class TestIntegrationConnectionResult(SchemaModel):
    works: bool
    problem: _ConnectionError | None
    integration: _IntegrationEntry

    examples: ClassVar = [{"works": True, "problem": None, "integration": _GMAIL}]
    anti_examples: ClassVar = [({"works": True}, "it says how the connection stands")]


_A_CLIENT: Final[dict[str, Any]] = {
    "provider": "google",
    "scope": "workspace",
    "client_id": "1234.apps.googleusercontent.com",
    "has_secret": True,
    "created_at": _WHEN,
    "updated_at": _WHEN,
}

_BACK: Final = "http://127.0.0.1:8787/api/v1/integrations/callback/google"

_Provider = Annotated[
    str,
    Meta(
        pattern="^[a-z][a-z0-9_]{0,63}$",
        max_length=64,
        description="Such as google.",
        extra_json_schema={
            "x-mainspring-says": "This must be the name of a provider, such as google."
        },
    ),
]


class SetOauthClientArguments(SchemaModel):
    provider: _Provider
    client_id: Annotated[str, Meta(min_length=1, max_length=500)]
    client_secret: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=8192,
                description="Default: the stored one of this client id, or none.",
                extra_json_schema={"writeOnly": True},
            ),
        ]
        | None
    ) = None

    examples: ClassVar = [
        {
            "provider": "google",
            "client_id": "1234.apps.googleusercontent.com",
            "client_secret": "GOCSPX-0123456789",
        },
    ]
    anti_examples: ClassVar = [
        ({"provider": "google"}, "a client has an id"),
        ({"provider": "google", "client_id": ""}, "an id is not empty"),
        ({"client_id": "1234"}, "of which provider?"),
    ]


class _OauthClient(SchemaModel):
    provider: str
    scope: Literal["workspace", "installation"]
    client_id: str
    has_secret: bool
    created_at: datetime
    updated_at: datetime


class SetOauthClientResult(SchemaModel):
    client: _OauthClient
    redirect_url: Annotated[str, Meta(description="Register this redirect URI at the provider.")]

    examples: ClassVar = [{"client": _A_CLIENT, "redirect_url": _BACK}]
    anti_examples: ClassVar = [({"client": {"provider": "google"}}, "it says as whom we are known")]


class ListOauthClientsArguments(SchemaModel):
    examples: ClassVar = [{}]
    anti_examples: ClassVar = [({"provider": "google"}, "there are no arguments")]


class _ListOauthClientsProvider(SchemaModel):
    provider: str
    integrations: list[str]
    redirect_url: str
    has_client: bool


class ListOauthClientsResult(SchemaModel):
    clients: list[_OauthClient]
    providers: Annotated[
        list[_ListOauthClientsProvider],
        Meta(description="Each provider with the redirect URI to register there."),
    ]

    examples: ClassVar = [
        {
            "clients": [_A_CLIENT],
            "providers": [
                {
                    "provider": "google",
                    "integrations": ["gmail"],
                    "redirect_url": _BACK,
                    "has_client": True,
                }
            ],
        }
    ]
    anti_examples: ClassVar = [({"clients": []}, "the providers are listed too")]


class OauthClientArguments(SchemaModel):
    provider: _Provider

    examples: ClassVar = [{"provider": "google"}]
    anti_examples: ClassVar = [
        ({}, "of which provider?"),
        ({"provider": "Google!"}, "names are in small letters"),
    ]


class RemoveOauthClientResult(SchemaModel):
    removed: bool

    examples: ClassVar = [{"removed": True}]
    anti_examples: ClassVar = [({"removed": 1}, "true or false")]
