"""The webhook trigger: a request whose body is mapped to inputs."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.webhook_callers import MOST_WAIT_SECONDS, WAIT_SECONDS
from mainspring.triggers.webhook_signatures import CUSTOM, PROVIDERS

_SECRET_NAME: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": "^[a-z0-9_]+$",
    "x-mainspring-says": "A secret's name is lower-case letters, digits and underscores.",
    "maxLength": 64,
}
_HEADER_NAME: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": "^[A-Za-z0-9-]+$",
    "maxLength": 100,
    "x-mainspring-says": "A header's name is letters, digits and dashes.",
}
_AUTH: Final[dict[str, Any]] = {
    "title": "Authentication",
    "description": "How callers authenticate. bearer: the webhook's token in the Authorization "
    "header. secret_url: the token in the address, for senders that cannot sign or set a header. "
    "basic: a user name and a secret. header: a secret in a header. standard_webhooks: "
    "signed as Standard Webhooks or Svix describe. signature: signed as the provider does.",
    "type": "object",
    "required": ["type"],
    "additionalProperties": False,
    "properties": {
        "type": {
            "enum": ["bearer", "secret_url", "basic", "header", "standard_webhooks", "signature"],
        },
        "provider": {
            "description": "For signature: the sender, or custom for the fields below.",
            "enum": [*PROVIDERS, CUSTOM],
        },
        "secret": {
            **_SECRET_NAME,
            "description": "The name of the secret that holds the sender's key or password.",
        },
        "secrets": {
            "description": "Several secrets, any of which is accepted: for rotation.",
            "type": "array",
            "items": _SECRET_NAME,
            "minItems": 1,
            "maxItems": 4,
        },
        "username": {
            "description": "For basic.",
            "type": "string",
            "pattern": "^[^:\\x00-\\x1f]+$",
            "maxLength": 200,
            "x-mainspring-says": "A user name has no colon and no control characters.",
        },
        "header": {
            **_HEADER_NAME,
            "description": "For header and custom: the header with the secret or the signature.",
        },
        "algorithm": {
            "description": "For custom.",
            "enum": ["hmac-sha256", "hmac-sha1", "ed25519", "ecdsa-sha256", "equal"],
            "default": "hmac-sha256",
        },
        "encoding": {
            "description": "For custom: of the signature.",
            "enum": ["hex", "base64"],
            "default": "hex",
        },
        "key_encoding": {
            "description": "For custom: how the secret's text becomes the key.",
            "enum": ["text", "base64"],
            "default": "text",
        },
        "signed": {
            "description": "For custom: the signed text, with {body}, {timestamp}, {id}, "
            "{method}, {url} and {form}.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "pattern": "\\{(body|form)\\}",
            "x-mainspring-says": "A signature has to cover the body: write {body} in signed.",
            "default": "{body}",
        },
        "prefix": {
            "description": "For custom: what comes before a signature in the header.",
            "type": "string",
            "maxLength": 40,
        },
        "separator": {
            "description": "For custom: what comes between several entries of the header.",
            "type": "string",
            "maxLength": 4,
        },
        "timestamp_header": {**_HEADER_NAME, "description": "For custom."},
        "timestamp_prefix": {
            "description": "For custom: of the entry with the timestamp in the signature header.",
            "type": "string",
            "maxLength": 40,
        },
        "timestamp_unit": {"description": "For custom.", "enum": ["s", "ms"], "default": "s"},
        "id_header": {**_HEADER_NAME, "description": "For custom: the header with the id."},
        "tolerance_seconds": {
            "description": "For custom: how old a signature may be.",
            "type": "integer",
            "minimum": 1,
            "maximum": 86_400,
            "default": 300,
        },
    },
}

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
        "auth": _AUTH,
        "methods": {
            "title": "Methods",
            "description": "The HTTP methods that start a run. The query of a GET is its body.",
            "type": "array",
            "items": {"enum": ["GET", "POST", "PUT", "PATCH", "DELETE"]},
            "minItems": 1,
            "uniqueItems": True,
            "default": ["POST"],
        },
        "cors": {
            "title": "CORS",
            "description": "The web pages whose scripts may call the webhook and read its answer.",
            "type": "object",
            "required": ["origins"],
            "additionalProperties": False,
            "properties": {
                "origins": {
                    "description": "Origins such as https://example.com, or * for all.",
                    "type": "array",
                    "items": {
                        "type": "string",
                        "pattern": "^(\\*|https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?)$",
                        "maxLength": 200,
                        "x-mainspring-says": "An origin is a scheme and a host, without a path, "
                        "such as https://example.com, or *.",
                    },
                    "minItems": 1,
                    "maxItems": 50,
                }
            },
        },
        "respond": {
            "title": "Answer",
            "description": "What callers get. immediately: a receipt, as soon as the run is "
            "recorded. when_done: the output of the run. by_step: the answer of a respond step.",
            "enum": ["immediately", "when_done", "by_step"],
            "default": "immediately",
        },
        "respond_within": {
            "title": "Answer within",
            "description": "How many seconds a caller waits for the answer; after that it gets "
            "202 and the address of the run, which continues.",
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_WAIT_SECONDS,
            "default": WAIT_SECONDS,
        },
        "raw": {
            "title": "Raw body",
            "description": "With auth: the run is given the body as it was sent, too, as "
            "trigger.raw. A body that is no text is base64, and trigger.raw_encoding says so.",
            "type": "boolean",
            "default": False,
        },
        "events": {
            "title": "Events",
            "description": "The events that start a run, by the name that the sender gives them; "
            "others are acknowledged and start nothing. Empty: all of them.",
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": 200},
            "maxItems": 100,
            "examples": [["push", "pull_request"]],
        },
        "signature": {
            "title": "Signature",
            "description": "The same as the auth type standard_webhooks with one secret. A signed "
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
        {
            "auth": {"type": "signature", "provider": "github", "secret": "github_webhook_key"},
            "events": ["push"],
            "input_mapping": {"branch": "$.body.ref"},
        },
        {"respond": "by_step", "respond_within": 10},
        {
            "auth": {"type": "secret_url"},
            "methods": ["GET", "POST"],
            "cors": {"origins": ["https://example.com"]},
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"input_mapping": ["$.ref"]}, "reason": "a path without a name for it"},
        {"value": {"token": "abc"}, "reason": "a token is given by the server, never written"},
        {
            "value": {"signature": {"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}},
            "reason": "the key itself has no place here, only the name of the secret that holds it",
        },
        {"value": {"signature": {}}, "reason": "signed with which key?"},
        {
            "value": {"auth": {"type": "signature", "provider": "my-shop", "secret": "key"}},
            "reason": "a sender without a preset is described with the provider custom",
        },
    ],
}

PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "title": "Webhook payload",
    "description": "The JSON body of the request, whatever its shape. With auth it is the "
    "request: method, query, headers without credentials, body, event, raw and notes. A file is an "
    "object with artifact_id, name, size, sha256 and media_type.",
    "examples": [{"ref": "refs/heads/main", "commits": []}],
}

TRIGGER: Final = TriggerKind(
    type="webhook",
    description="Starts a run when its address is called with valid credentials.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
