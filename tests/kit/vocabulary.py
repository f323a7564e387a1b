"""A small vocabulary: enough words to judge definitions by, none of which does anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.action import Action, use_nothing
from mainspring.contracts.capability import Annotations, Capability, Effect
from mainspring.contracts.context import CallContext, StepContext
from mainspring.contracts.event import EventType
from mainspring.contracts.grant import Grant
from mainspring.contracts.registry import Registry
from mainspring.definition.grants import build_host_grant
from mainspring.triggers import event, schedule, webhook


async def _act(ctx: StepContext, config: Mapping[str, Any]) -> Any:
    del ctx
    return dict(config)


async def _call(ctx: CallContext, arguments: Mapping[str, Any]) -> Any:
    del ctx
    return dict(arguments)


def _object(required: list[str], **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "additionalProperties": False,
        "properties": properties,
    }


def _notification_needs(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    del config
    return (Grant("inbox.post_notification"),)


def _webhook_needs(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    return (build_host_grant("http_fetch", config.get("url")),)


TRANSFORM = Action(
    type="transform_data",
    description="Builds a value from templates.",
    config_schema=_object(["output"], output={}),
    output_schema={},
    handler=_act,
    uses=use_nothing,
    seconds=0.01,
)

DELAY = Action(
    type="delay",
    description="Sleeps.",
    config_schema={
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "seconds": {"type": "integer", "minimum": 1, "maximum": 2_592_000},
            "until": {"type": "string", "format": "date-time"},
        },
        "oneOf": [{"required": ["seconds"]}, {"required": ["until"]}],
    },
    output_schema={},
    handler=_act,
    seconds=0.01,
)

FOR_EACH = Action(
    type="for_each",
    description="Runs steps for each item of a list.",
    config_schema=_object(
        ["items", "steps"],
        items={"type": "array", "maxItems": 1_000},
        **{"as": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,63}$"}},
        steps={"type": "array", "minItems": 1, "items": {"type": "object"}},
    ),
    output_schema=_object(["items"], items={"type": "array"}),
    handler=_act,
    nested="steps",
)

NOTIFICATION = Action(
    type="notification",
    description="Tells a person.",
    config_schema=_object(
        ["title"],
        title={"type": "string", "minLength": 1, "maxLength": 200},
        message_template={"type": "string"},
        level={"enum": ["info", "warning", "error"]},
        tags={"type": "array", "items": {"type": "string"}, "maxItems": 5},
    ),
    output_schema=_object(["notification_id"], notification_id={"type": "string"}),
    handler=_act,
    uses=_notification_needs,
)

CALLBACK = Action(
    type="callback_webhook",
    description="Calls an address.",
    config_schema=_object(
        ["url"],
        url={"type": "string", "x-mainspring-scope": "secret"},
        method={"enum": ["POST", "PUT"]},
        headers={
            "type": "object",
            "additionalProperties": {"type": "string", "x-mainspring-scope": "secret"},
        },
        body={},
    ),
    output_schema=_object(["status"], status={"type": "integer"}),
    handler=_act,
    uses=_webhook_needs,
    seconds=5.0,
)

SLOW = Action(
    type="slow_report",
    description="Takes minutes.",
    config_schema=_object([], output_schema={"type": "object"}),
    output_schema=None,
    handler=_act,
    seconds=400.0,
)

HTTP_FETCH = Capability(
    id="http_fetch",
    description="Fetches a URL.",
    input_schema=_object(
        ["url"],
        url={"type": "string", "minLength": 1},
        method={"enum": ["GET", "POST"]},
        headers={"type": "object", "additionalProperties": {"type": "string"}},
        query={"type": "object", "additionalProperties": {"type": "string"}},
        body={},
        timeout_seconds={"type": "number", "minimum": 1, "maximum": 60},
    ),
    output_schema=_object(
        ["ok", "status"],
        ok={"type": "boolean"},
        status={"type": "integer"},
        headers={"type": "object"},
        text={"type": "string"},
        json={},
    ),
    handler=_call,
    annotations=Annotations(
        effect=Effect.SEND, seconds=20.0, secret_arguments=frozenset({"url", "headers", "query"})
    ),
)

KV_GET = Capability(
    id="automation_kv.get",
    description="Reads a kept value.",
    input_schema=_object(["key"], key={"type": "string", "minLength": 1}),
    output_schema=_object(["found", "value"], found={"type": "boolean"}, value={}),
    handler=_call,
)

KV_SET = Capability(
    id="automation_kv.set",
    description="Keeps a value.",
    input_schema=_object(["key", "value"], key={"type": "string", "minLength": 1}, value={}),
    output_schema=_object([]),
    handler=_call,
    annotations=Annotations(effect=Effect.KEEP, transactional=True),
)

POST = Capability(
    id="inbox.post_notification",
    description="Puts a message into the inbox.",
    input_schema=_object(["title"], title={"type": "string"}, level={"type": "string"}),
    output_schema=_object(["notification_id"], notification_id={"type": "string"}),
    handler=_call,
    annotations=Annotations(effect=Effect.KEEP, transactional=True),
)

COMPLETE = Capability(
    id="llm.complete",
    description="Asks a model.",
    input_schema=_object(
        ["prompt"],
        prompt={"type": "string"},
        model={"type": "string"},
        max_tokens={"type": "integer", "minimum": 1},
        labels={"type": "array"},
    ),
    output_schema=_object(["text"], text={"type": "string"}),
    handler=_call,
    annotations=Annotations(seconds=30.0),
)

ADMIN = Capability(
    id="admin_reset",
    description="Forgets everything.",
    input_schema=_object([]),
    output_schema=_object([]),
    handler=_call,
)

RUN_EVENTS = tuple(
    EventType(f"automation.run.{end}", f"A run {end}.", {"type": "object"})
    for end in ("succeeded", "failed")
)


def vocabulary() -> Registry:
    """Every word that the tests of the language use."""
    return Registry(
        actions=[TRANSFORM, DELAY, FOR_EACH, NOTIFICATION, CALLBACK, SLOW],
        capabilities=[HTTP_FETCH, KV_GET, KV_SET, POST, COMPLETE, ADMIN],
        triggers=[schedule.TRIGGER, webhook.TRIGGER, event.TRIGGER],
        events=[*RUN_EVENTS, EventType("drive.file_added", "A file arrived.", {"type": "object"})],
    )
