"""The webhook trigger: somebody's POST, its body mapped to inputs."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.trigger import Trigger

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
        }
    },
    "examples": [{}, {"input_mapping": {"branch": "$.ref", "files": "$.commits[*].added"}}],
    "x-mainspring-anti-examples": [
        {"value": {"input_mapping": ["$.ref"]}, "reason": "a path without a name for it"},
        {"value": {"token": "abc"}, "reason": "a token is given by the server, never written"},
    ],
}

PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "title": "Webhook payload",
    "description": "The JSON body of the request, whatever its shape.",
    "examples": [{"ref": "refs/heads/main", "commits": []}],
}

TRIGGER: Final = Trigger(
    type="webhook",
    description="Goes off when its address is called with its token.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
