"""The webhook trigger: a POST request whose body is mapped to inputs."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.trigger import TriggerKind

CONFIG_SCHEMA: Final[dict[str, Any]] = {
    "title": "Webhook",
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "input_mapping": {
            "title": "Input mapping",
            "description": "Which part of the body each input takes, as an RFC 9535 JSONPath. "
            "Inputs that are not named here keep the trigger's own inputs or their defaults.",
            "type": "object",
            "maxProperties": 100,
            "additionalProperties": {"type": "string", "minLength": 1, "maxLength": 1_000},
            "default": {},
            "examples": [{"branch": "$.ref", "author": "$.head_commit.author.name"}],
        },
        "signature": {
            "title": "Signature",
            "description": "Every call must be signed as Standard Webhooks describes. A signed "
            "call needs no token at the address that ends in hooks and the trigger's id; its "
            "webhook-id is its idempotency key.",
            "type": "object",
            "required": ["secret"],
            "additionalProperties": False,
            "properties": {
                "secret": {
                    "title": "Secret",
                    "description": "The name of the vault's secret that holds the sender's "
                    "signing key, such as whsec_ and its base64.",
                    "type": "string",
                    "pattern": "^[a-z0-9_]+$",
                    "x-mainspring-says": "A secret's name is lower-case letters, digits and "
                    "underscores.",
                    "maxLength": 64,
                    "examples": ["billing_webhook_key"],
                }
            },
        },
    },
    "examples": [
        {},
        {"input_mapping": {"branch": "$.ref", "files": "$.commits[*].added"}},
        {"signature": {"secret": "billing_webhook_key"}},
    ],
    "x-mainspring-anti-examples": [
        {"value": {"input_mapping": ["$.ref"]}, "reason": "a path without a name for it"},
        {"value": {"token": "abc"}, "reason": "a token is given by the server, never written"},
        {
            "value": {"signature": {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}},
            "reason": "the key itself has no place here, only the name of the secret that holds it",
        },
        {"value": {"signature": {}}, "reason": "signed with which key?"},
    ],
}

PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "title": "Webhook payload",
    "description": "The JSON body of the request, whatever its shape.",
    "examples": [{"ref": "refs/heads/main", "commits": []}],
}

TRIGGER: Final = TriggerKind(
    type="webhook",
    description="Goes off when its address is called with its token, or with a signature.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
