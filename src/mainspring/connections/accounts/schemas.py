"""What the capabilities about integrations take and answer."""

from __future__ import annotations

from typing import Any, Final

from mainspring.connections.accounts.member_access import STATES
from mainspring.contracts.manifest import TIERS
from mainspring.contracts.object_schema import build_object_part, build_object_schema

_TEXT: Final = {"type": "string"}
_NULL_TEXT: Final = {"type": ["string", "null"]}
_MOMENT: Final = {"type": ["string", "null"], "format": "date-time"}
_BOOL: Final = {"type": "boolean"}
_ID: Final = {"type": "string", "format": "uuid"}
_SOME_ID: Final = "0190f3a0-0000-7000-8000-00000000000c"
_WHEN: Final = "2026-01-01T00:00:00+00:00"
_NAME: Final = {
    "type": "string",
    "pattern": "^[a-z][a-z0-9_]{0,63}$",
    "maxLength": 64,
    "description": "Source key, such as gmail.",
    "x-mainspring-says": "This must be the name of an integration, such as gmail.",
}
_PROVIDER: Final = {
    **_NAME,
    "description": "Such as google.",
    "x-mainspring-says": "This must be the name of a provider, such as google.",
}
_WRONG: Final = {
    "type": ["object", "null"],
    "required": ["code", "detail"],
    "properties": {"code": _TEXT, "detail": _TEXT, "suggestion": _NULL_TEXT},
}
_FIELD: Final = build_object_part(
    {
        "name": _TEXT,
        "label": _TEXT,
        "help": _NULL_TEXT,
        "secret": _BOOL,
        "required": _BOOL,
        "type": {"enum": ["string", "integer", "boolean"]},
        "default": {"type": ["string", "integer", "number", "boolean", "null"]},
    }
)
_HEALTH: Final = {
    **build_object_part(
        {
            "id": _ID,
            "label": _TEXT,
            "health": {
                "enum": ["ok", "failing", "reconnect", "unknown"],
                "description": "reconnect: access is denied until it is connected again.",
            },
            "failures_in_row": {"type": "integer", "minimum": 0},
            "last_ok_at": _MOMENT,
            "last_failed_at": _MOMENT,
            "last_error": _WRONG,
            "scopes": {"type": "array", "items": _TEXT},
            "settings": {"type": "object"},
            "access_ends_at": {**_MOMENT, "description": "It is refreshed before."},
            "connected_at": {"type": "string", "format": "date-time"},
            "automation_id": {
                "type": ["string", "null"],
                "format": "uuid",
                "description": "The automation of watch_integration, if any.",
            },
            "owner": {
                "enum": ["member", "workspace"],
                "description": "workspace: every member's automations can use it.",
            },
            "held_by": {**_ID, "description": "The member who connected it."},
        }
    ),
    "type": ["object", "null"],
}
_ADAPTER: Final = build_object_part(
    {
        "kind": _TEXT,
        "label": _TEXT,
        "description": _TEXT,
        "connection": {"enum": ["needed", "used", "none"]},
        "fields": {
            "type": "array",
            "description": "Parts of a ref.",
            "items": build_object_part(
                {"name": _TEXT, "label": _TEXT, "placeholder": _TEXT, "required": _BOOL}
            ),
        },
        "operations": {
            "type": "array",
            "items": build_object_part(
                {
                    "id": _TEXT,
                    "label": _TEXT,
                    "description": _TEXT,
                    "sample": {"type": "object", "description": "Example arguments."},
                }
            ),
        },
    }
)
_INTEGRATION: Final = build_object_part(
    {
        "name": {**_TEXT, "description": "Source key for fetch and act."},
        "label": _TEXT,
        "oauth_provider": _NULL_TEXT,
        "supports": build_object_part({"fetch": _BOOL, "act": _BOOL, "adapter": _BOOL}),
        "polls": {**_BOOL, "description": "Whether watch_integration can read from it."},
        "connected": {**_BOOL, "description": "Whether the caller can use it now."},
        "description": _TEXT,
        "state": {
            "enum": list(STATES),
            "description": "reconnect: connect it again. not_needed: no connection is needed. "
            "operator: the operator has not configured it. secret_missing: it "
            "needs a secret.",
        },
        "account": {**_NULL_TEXT, "description": "The account at the provider."},
        "tier": {"enum": list(TIERS)},
        "auth": {"enum": ["none", "operator", "secret", "token", "oauth"]},
        "how": {**_TEXT, "description": "How to authenticate."},
        "fields": {"type": "array", "items": _FIELD},
        "connect_url": {**_TEXT, "description": "The page to connect it."},
        "connection": _HEALTH,
        "adapters": {
            "type": "array",
            "items": _ADAPTER,
            "description": "What boards can link to.",
        },
        "prompts_over": {
            "enum": ["chat", "account", None],
            "description": "How members receive questions there. chat: in the chat that they "
            "link; account: as the account that they link; null: not "
            "possible.",
        },
    }
)
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

LIST: Final = build_object_schema(
    {
        "include_unconnected": {
            "type": "boolean",
            "default": True,
            "description": "false: only connected ones.",
        }
    },
    [],
    [{}, {"include_unconnected": False}],
    [({"include_unconnected": "yes"}, "true or false"), ({"connected": True}, "no such argument")],
)
LISTED: Final = build_object_schema(
    {"integrations": {"type": "array", "items": _INTEGRATION}},
    ["integrations"],
    [{"integrations": [_GMAIL, _LINEAR]}],
    [({"integrations": [{"name": "gmail"}]}, "each says whether it is connected")],
)
CONNECT: Final = build_object_schema(
    {
        "integration": _NAME,
        "fields": {
            "type": "object",
            "maxProperties": 12,
            "writeOnly": True,
            "description": "Values by name; list_integrations lists them. Secrets are stored in "
            "the vault. After a sign-in: what to follow.",
            "additionalProperties": {"type": ["string", "integer", "boolean"]},
        },
        "label": {
            "type": "string",
            "minLength": 1,
            "maxLength": 80,
            "description": "Default: the integration's name.",
        },
        "share": {
            "type": "boolean",
            "default": False,
            "description": "Also call share_integration_connection.",
        },
    },
    ["integration"],
    [
        {"integration": "gmail"},
        {"integration": "linear", "fields": {"token": "lin_api_0123456789"}},
    ],
    [
        ({"fields": {"token": "x"}}, "of which integration?"),
        ({"integration": "Gmail"}, "names are in small letters"),
        ({"integration": "linear", "fields": "lin_api_0123456789"}, "fields have names"),
        ({"integration": "linear", "token": "x"}, "what lets it in stands in fields"),
    ],
)
CONNECTED: Final = build_object_schema(
    {
        "integration": _INTEGRATION,
        "sign_in_url": {
            **_NULL_TEXT,
            "description": "Open it in the browser where you use Mainspring; it is connected when "
            "you return.",
        },
        "note": _NULL_TEXT,
    },
    ["integration", "sign_in_url", "note"],
    [{"integration": _GMAIL, "sign_in_url": None, "note": None}],
    [({"integration": _GMAIL}, "it says whether someone has to sign in")],
)
ONE: Final = build_object_schema(
    {"integration": _NAME},
    ["integration"],
    [{"integration": "gmail"}],
    [({}, "which one?"), ({"integration": "Google Mail"}, "names are in small letters")],
)
SIGN_IN: Final = build_object_schema(
    {
        "sign_in_url": _TEXT,
        "redirect_url": {**_TEXT, "description": "Where the provider returns to."},
    },
    ["sign_in_url", "redirect_url"],
    [
        {
            "sign_in_url": "https://accounts.google.com/o/oauth2/v2/auth?client_id=…",
            "redirect_url": "http://127.0.0.1:8787/api/v1/integrations/callback/google",
        }
    ],
    [({"sign_in_url": None}, "there is an address")],
)
DISCONNECTED: Final = build_object_schema(
    {
        "disconnected": _BOOL,
        "note": {**_TEXT, "description": "Why it was not revoked at the provider, if so."},
    },
    ["disconnected"],
    [{"disconnected": True}],
    [({"disconnected": "yes"}, "true or false")],
)
SHARED: Final = build_object_schema(
    {"shared": _BOOL, "integration": _INTEGRATION},
    ["shared", "integration"],
    [{"shared": True, "integration": _GMAIL}],
    [({"shared": True}, "it says how the connection stands")],
)
TESTED: Final = build_object_schema(
    {"works": _BOOL, "problem": _WRONG, "integration": _INTEGRATION},
    ["works", "problem", "integration"],
    [{"works": True, "problem": None, "integration": _GMAIL}],
    [({"works": True}, "it says how the connection stands")],
)
_CLIENT: Final = build_object_part(
    {
        "provider": _TEXT,
        "scope": {"enum": ["workspace", "installation"]},
        "client_id": _TEXT,
        "has_secret": _BOOL,
        "created_at": {"type": "string", "format": "date-time"},
        "updated_at": {"type": "string", "format": "date-time"},
    }
)
_A_CLIENT: Final[dict[str, Any]] = {
    "provider": "google",
    "scope": "workspace",
    "client_id": "1234.apps.googleusercontent.com",
    "has_secret": True,
    "created_at": _WHEN,
    "updated_at": _WHEN,
}
_BACK: Final = "http://127.0.0.1:8787/api/v1/integrations/callback/google"
SET_CLIENT: Final = build_object_schema(
    {
        "provider": _PROVIDER,
        "client_id": {"type": "string", "minLength": 1, "maxLength": 500},
        "client_secret": {
            "type": "string",
            "minLength": 1,
            "maxLength": 8_192,
            "writeOnly": True,
            "description": "Default: the stored one of this client id, or none.",
        },
    },
    ["provider", "client_id"],
    [
        {
            "provider": "google",
            "client_id": "1234.apps.googleusercontent.com",
            "client_secret": "GOCSPX-0123456789",
        },
    ],
    [
        ({"provider": "google"}, "a client has an id"),
        ({"provider": "google", "client_id": ""}, "an id is not empty"),
        ({"client_id": "1234"}, "of which provider?"),
    ],
)
CLIENT_SET: Final = build_object_schema(
    {
        "client": _CLIENT,
        "redirect_url": {**_TEXT, "description": "Register this redirect URI at the provider."},
    },
    ["client", "redirect_url"],
    [{"client": _A_CLIENT, "redirect_url": _BACK}],
    [({"client": {"provider": "google"}}, "it returns the client id")],
)
NOTHING: Final = build_object_schema(
    {}, [], [{}], [({"provider": "google"}, "there are no arguments")]
)
CLIENTS: Final = build_object_schema(
    {
        "clients": {"type": "array", "items": _CLIENT},
        "providers": {
            "type": "array",
            "items": build_object_part(
                {
                    "provider": _TEXT,
                    "integrations": {"type": "array", "items": _TEXT},
                    "redirect_url": _TEXT,
                    "has_client": _BOOL,
                }
            ),
            "description": "Each provider with the redirect URI to register there.",
        },
    },
    ["clients", "providers"],
    [
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
    ],
    [({"clients": []}, "the providers are listed too")],
)
ONE_CLIENT: Final = build_object_schema(
    {"provider": _PROVIDER},
    ["provider"],
    [{"provider": "google"}],
    [({}, "of which provider?"), ({"provider": "Google!"}, "names are in small letters")],
)
CLIENT_REMOVED: Final = build_object_schema(
    {"removed": _BOOL}, ["removed"], [{"removed": True}], [({"removed": 1}, "true or false")]
)
