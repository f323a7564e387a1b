"""callback_webhook: sends a result of a run to another system by POST.

The request carries the step's key as Idempotency-Key, so a receiver that honours it sees one effect
even when the step was repeated after a crash.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.action import Action
from mainspring.contracts.context import StepContext
from mainspring.contracts.grant import Grant
from mainspring.definition.grants import build_host_grant

CAPABILITY = "http_fetch"


async def callback(ctx: StepContext, config: Mapping[str, Any]) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "url": config["url"],
        "method": config.get("method", "POST"),
        "headers": {"Idempotency-Key": ctx.key, **config.get("headers", {})},
        "json": config.get("body", {}),
    }
    answer = await ctx.call(CAPABILITY, arguments)
    if answer.get("kind") == "draft":
        # It waits for approval: there is no response yet.
        return dict(answer)
    return {"status": answer["status"], "json": answer["json"]}


def _list_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    return (build_host_grant(CAPABILITY, config.get("url")),)


CALLBACK_WEBHOOK = Action(
    type="callback_webhook",
    description="Send JSON to a URL\n\n"
    "A POST (or PUT) with an Idempotency-Key. It waits for a person unless the step says "
    "approval: automatic. An answer other than 2xx is a failure: 408, 425, "
    "429 and 5xx are tried again, the rest is not.",
    config_schema={
        "type": "object",
        "required": ["url"],
        "additionalProperties": False,
        "properties": {
            "url": {
                "type": "string",
                "minLength": 8,
                "maxLength": 2_000,
                "x-mainspring-scope": "secret",
            },
            "method": {"enum": ["POST", "PUT"], "default": "POST"},
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "x-mainspring-scope": "secret",
            },
            "body": {"description": "Any JSON; templates inside are rendered."},
        },
        "examples": [
            {"url": "https://example.com/hook", "body": {"run": "{{ run.id }}"}},
            {
                "url": "https://example.com/hook",
                "headers": {"Authorization": "Bearer {{ secrets.hook_token }}"},
            },
        ],
        "x-mainspring-anti-examples": [
            {"value": {"body": {}}, "reason": "nowhere to send it"},
            {"value": {"url": "https://example.com/", "method": "GET"}, "reason": "GET asks"},
        ],
    },
    output_schema={
        "type": "object",
        "description": "What was answered; or the draft, where it waits for a person.",
        "properties": {"status": {"type": "integer"}, "json": {}},
    },
    handler=callback,
    uses=_list_grants,
    seconds=5.0,
    holds=True,
)
