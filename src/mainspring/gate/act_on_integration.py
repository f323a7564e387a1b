"""act_on_integration: one write to an integration, by its install id and the action's name.

It is judged before it is held, by the action's own words, and it is always held: a person
sees what would leave before anything does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Annotations, Capability, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Clash
from mainspring.gate.installs import Installs, install_id_of

_SHAPE: Final = "Give install_id, action_name and input; a request in words is not taken yet."
_NO_DRAFT: Final = "00000000-0000-0000-0000-000000000000"
_SOME_TIME: Final = "2026-08-01T10:00:00+00:00"


def act_on_integration(installs: Installs) -> Capability:
    """The capability over what is installed here."""

    def stub(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "kind": "suppressed",
            "draft_id": _NO_DRAFT,
            "preview": installs.preview(arguments),
            "payload": dict(arguments),
            "expires_at": _SOME_TIME,
        }

    return Capability(
        id="act_on_integration",
        description="Act on an integration\n\n"
        "Prepares a write to an outside system and answers a draft; nothing leaves before a "
        "person has seen it. Judged by the action's own input before it is held. Installed "
        f"here: {installs.listed()}.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=_perform,
        write=Write(preview=installs.preview, performs=installs.performs),
        annotations=Annotations(
            effect=Effect.SEND, seconds=1.0, judge=installs.findings, stub=stub
        ),
    )


async def _perform(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """No policy lets it go by itself: what was confirmed is the action's own to do."""
    del ctx, arguments
    raise Clash(
        "What is prepared for an integration is sent by confirming its draft.",
        code="cannot_confirm",
    )


_MAIL: Final[dict[str, Any]] = {
    "install_id": str(install_id_of("email")),
    "action_name": "send_email",
    "input": {
        "to": ["ada@example.com"],
        "subject": "Re: next week",
        "body": "Friday works for us.",
    },
}
_INPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["install_id", "action_name", "input"],
    "properties": {
        "install_id": {
            "type": "string",
            "format": "uuid",
            "description": "Which integration; the description of this tool lists them.",
        },
        "action_name": {
            "type": "string",
            "description": "One of its actions, such as send_email.",
            "minLength": 1,
            "maxLength": 200,
        },
        "input": {
            "type": "object",
            "description": "What the action takes. send_email: to, subject, body, and if there "
            "is one the thread_id that it answers.",
        },
    },
    "x-mainspring-instead": {"source": _SHAPE, "request": _SHAPE},
    "examples": [
        _MAIL,
        {
            "install_id": str(install_id_of("slack")),
            "action_name": "slack_post",
            "input": {"channel": "C0123456789", "text": "The build is green again."},
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"action_name": "send_email", "input": {}}, "reason": "of which integration?"},
        {
            "value": {**_MAIL, "install_id": "email"},
            "reason": "an integration is named by its install id",
        },
        {
            "value": {"source": "email", "request": "Tell Ada that Friday works."},
            "reason": "a request in words is not taken yet",
        },
        {"value": {**_MAIL, "input": "Friday works for us."}, "reason": "an input is an object"},
        {"value": {**_MAIL, "request": "and be quick"}, "reason": "one shape or the other"},
    ],
}
_OUTPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["kind", "draft_id", "preview", "payload", "expires_at"],
    "properties": {
        "kind": {
            "description": "draft; suppressed when the run only tried it.",
            "enum": ["draft", "suppressed"],
        },
        "draft_id": {"type": "string", "format": "uuid"},
        "preview": {"type": "string", "description": "What would happen, in a sentence."},
        "payload": {"type": "object", "description": "What would be done, as it was asked for."},
        "expires_at": {"type": "string", "format": "date-time"},
    },
    "examples": [
        {
            "kind": "draft",
            "draft_id": "01900000-0000-7000-8000-0000000000d1",
            "preview": "Send to ada@example.com “Re: next week”: Friday works for us.",
            "payload": _MAIL,
            "expires_at": _SOME_TIME,
        }
    ],
    "x-mainspring-anti-examples": [
        {"value": {"kind": "draft"}, "reason": "a draft says what waits, and until when"},
    ],
}
