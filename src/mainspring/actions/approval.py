"""approval: the plan asks a person, and continues with the answer.

While it waits, the run occupies no worker. The answer must match the schema of the step's form and
is validated when it is given. After the timeout, the step's default answer is used; without one the
step fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from mainspring.contracts.action import Action
from mainspring.contracts.capability import Capability
from mainspring.contracts.context import StepContext
from mainspring.contracts.errors import Finding
from mainspring.contracts.grant import Grant
from mainspring.contracts.limits import Limits
from mainspring.contracts.outcome import WaitUntil
from mainspring.contracts.roles import Role
from mainspring.definition.json_schema import check_schema, compile_schema

ASK: Final = "approval.ask"
_DAY: Final = 86_400
_LIMITS: Final = Limits()


async def approval(ctx: StepContext, config: Mapping[str, Any]) -> Any:
    asked = await ctx.call(ASK, dict(config))
    if asked["approval_id"] is None:
        # A trial asks nobody: it continues with the default answer.
        return {
            "approved": True,
            "answer": asked["answer"],
            "answered_by": None,
            "timed_out": False,
        }
    until = datetime.fromisoformat(asked["expires_at"])
    return WaitUntil(
        until, {"approval_id": asked["approval_id"], "expires_at": asked["expires_at"]}
    )


def _list_grants(config: Mapping[str, Any]) -> tuple[Grant, ...]:
    del config
    return (Grant(ASK),)


def _check(config: Mapping[str, Any], capabilities: Mapping[str, Capability]) -> Sequence[Finding]:
    """The form is a usable schema, and the default answer matches it."""
    del capabilities
    form = config.get("form")
    if not isinstance(form, Mapping):
        return ()
    wrong = [
        Finding(f"/form{one.pointer}", one.detail, one.code, one.suggestion)
        for one in check_schema(form, _LIMITS)
    ]
    if wrong or "default" not in config:
        return wrong
    return compile_schema(form, _LIMITS).findings(config["default"], "/default")


CONFIG: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["title"],
    "additionalProperties": False,
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 200},
        "message": {
            "type": "string",
            "description": "What the person should know before they answer.",
            "maxLength": 20_000,
        },
        "form": {
            "type": "object",
            "description": "JSON Schema of the answer. Default: yes or no.",
            "x-mainspring-scope": "none",
        },
        "timeout_seconds": {
            "type": "integer",
            "description": "How long it waits for an answer.",
            "minimum": 60,
            "maximum": 2_592_000,
            "default": _DAY,
        },
        "default": {
            "description": "The answer if no one answers in time. Default: the step fails.",
            "x-mainspring-scope": "none",
        },
        "roles": {
            "type": "array",
            "description": "Who may answer. Default: every member who may decide.",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": [role.value for role in Role if role is not Role.VIEWER]},
        },
        "notify": {
            "type": "array",
            "description": "Where the owner is notified. The inbox is always included.",
            "minItems": 1,
            "uniqueItems": True,
            "items": {"enum": ["inbox", "email", "telegram"]},
            "default": ["inbox"],
        },
        "on_decline": {
            "description": "fail ends the run if a person declines; continue goes on with "
            "approved false.",
            "enum": ["fail", "continue"],
            "default": "fail",
        },
    },
    "examples": [
        {"title": "Publish the notes?", "message": "{{ steps.notes.text }}"},
        {
            "title": "Which day?",
            "form": {
                "type": "object",
                "required": ["day"],
                "properties": {"day": {"type": "string", "format": "date"}},
            },
            "timeout_seconds": 3_600,
            "default": {"day": "2026-12-01"},
            "roles": ["admin", "owner"],
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "a question has a title"},
        {"value": {"title": "x", "timeout_seconds": 1}, "reason": "no one is that quick"},
        {"value": {"title": "x", "roles": ["viewer"]}, "reason": "a viewer decides nothing"},
    ],
}

APPROVAL: Final = Action(
    type="approval",
    description="Ask a person before going on\n\n"
    "The run waits, without holding a worker, until a member of the workspace answers in the "
    "inbox, or until the time is over.",
    config_schema=CONFIG,
    output_schema={
        "type": "object",
        "required": ["approved", "answer", "answered_by", "timed_out"],
        "properties": {
            "approved": {"type": "boolean"},
            "answer": {"description": "What the form asked for; null without a form."},
            "answered_by": {"type": ["string", "null"], "format": "uuid"},
            "timed_out": {"type": "boolean"},
        },
    },
    handler=approval,
    uses=_list_grants,
    check=_check,
    seconds=0.05,
    waits=True,
    asks=True,
)
