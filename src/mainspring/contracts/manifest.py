"""The manifest of an integration: its identity, authentication and hosts.

It is plain data next to the code of the integration. An operator may point an integration to
another base URL, such as a company's own server: its hosts are then those of that URL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.addresses import read_base_address
from mainspring.contracts.errors import Invalid

TIERS: Final = ("bronze", "silver", "gold")
_NAME: Final = r"^[a-z][a-z0-9_]{0,63}$"
_TEXT: Final[dict[str, Any]] = {"type": "string", "minLength": 1, "maxLength": 1_000}
_ADDRESS: Final[dict[str, Any]] = {"type": "string", "pattern": r"^https?://[^\s]+$"}
_FIELD: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["name", "label"],
    "properties": {
        "name": {"type": "string", "pattern": _NAME},
        "label": _TEXT,
        "help": _TEXT,
        "secret": {"type": "boolean", "default": False},
        "required": {"type": "boolean", "default": True},
        "default": {"type": ["string", "number", "boolean"]},
        "type": {"enum": ["string", "integer", "boolean"], "default": "string"},
    },
}
_AUTH: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["kind", "how"],
    "properties": {
        "kind": {
            "description": "none: no sign-in. operator: set for the installation. secret: a "
            "secret of the owner. token: a person gives fields, some of them secret. oauth: a "
            "person signs in at the provider.",
            "enum": ["none", "operator", "secret", "token", "oauth"],
        },
        "how": _TEXT,
        "secrets": {"type": "array", "items": {"type": "string"}},
        "fields": {"type": "array", "minItems": 1, "maxItems": 12, "items": _FIELD},
        # Integrations of one provider share its OAuth client, such as all of Google's.
        "provider": {"type": "string", "pattern": _NAME},
        "authorize_url": _ADDRESS,
        "token_url": _ADDRESS,
        "revoke_url": _ADDRESS,
        "scopes": {"type": "array", "items": {"type": "string", "minLength": 1}},
        "scope_separator": {"enum": [" ", ","], "default": " "},
        "pkce": {"type": "boolean", "default": True},
        "client_auth": {"enum": ["post", "basic"], "default": "post"},
        "extra": {"type": "object", "additionalProperties": {"type": "string"}},
        "token_field": {"type": "string"},
    },
    "allOf": [
        {
            "if": {"properties": {"kind": {"const": "oauth"}}},
            "then": {"required": ["provider", "authorize_url", "token_url", "scopes"]},
        },
        {
            "if": {"properties": {"kind": {"const": "token"}}},
            "then": {"required": ["fields"]},
        },
    ],
}
MANIFEST_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "name", "description", "tier", "auth", "hosts", "capabilities"],
    "properties": {
        "id": {"type": "string", "pattern": _NAME},
        "name": {"type": "string", "minLength": 1, "maxLength": 80},
        "description": _TEXT,
        "tier": {"enum": list(TIERS)},
        "auth": _AUTH,
        "hosts": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        "capabilities": {"type": "array", "uniqueItems": True, "items": {"type": "string"}},
        # The key in fetch_from_integration and act_on_integration, where it is not the id.
        "source": {"type": "string", "pattern": _NAME},
    },
}


def resolve_base_address(addresses: Mapping[str, str], name: str, usual: str) -> tuple[str, str]:
    """The base URL of an API, and the host and port that may be called for it."""
    found = read_base_address(addresses.get(name, usual))
    if found is None:
        raise Invalid(
            f"The address set for {name} is not a web address.",
            code="bad_integration_url",
            suggestion=f"Write it like {usual}.",
        )
    return found


def apply_sign_in_addresses(
    manifest: Mapping[str, Any], addresses: Mapping[str, str]
) -> dict[str, Any]:
    """The manifest with the sign-in URLs that the operator set for its provider."""
    auth = dict(manifest["auth"])
    provider = str(auth.get("provider", ""))
    for name in ("authorize_url", "token_url", "revoke_url"):
        set_to = addresses.get(f"{provider}.{name}")
        if set_to is not None:
            auth[name] = set_to
    return {**manifest, "auth": auth}


def get_source_name(manifest: Mapping[str, Any]) -> str:
    """The key of an integration's sources and writes."""
    return str(manifest.get("source") or manifest["id"])
