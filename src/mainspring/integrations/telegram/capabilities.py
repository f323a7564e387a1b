"""Telegram capability ``telegram_push``, a notification to the owner only.

No argument chooses the recipient, so it is a safe write.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription
from mainspring.integrations.telegram.client import Telegram

# Telegram's limit for one message.
_TEXT = 4_096


def build_push_capability(telegram: Telegram) -> Capability:
    """Build the capability."""

    async def push(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {"message_id": await telegram.push(ctx, arguments["text"])}

    return Capability(
        id="telegram_push",
        description="Send the owner a Telegram message\n\n"
        "Sends plain text to the owner's own chat only; called without a run, to you. "
        "Uses the owner's Telegram connection, or their secrets telegram_bot_token "
        "and telegram_chat_id. It is on the safe list: auto_confirm_safe sends it "
        "without review.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=push,
        write=Write(
            preview=preview, editable=("text",), safe=True, family="message", describe=describe_push
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            default_tool=True,
            effect=Effect.SEND,
            seconds=2.0,
            hosts=telegram.hosts,
            route=ConnectionRoute(
                "telegram",
                telegram.hosts,
                connection="used",
                secrets=frozenset({"telegram_bot_token", "telegram_chat_id"}),
            ),
        ),
    )


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview the text in one line."""
    shown = format_first_line(arguments["text"])
    return f"Nudge the owner on Telegram: {shown}"


_INPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["text"],
    "properties": {
        "text": {
            "type": "string",
            "description": "Plain text.",
            "minLength": 1,
            "maxLength": _TEXT,
            "pattern": r"\S",
            "x-mainspring-says": "A message cannot be blank.",
        }
    },
    "examples": [
        {"text": "Revenue for 2026-W31: $1200"},
        {"text": "{{ steps.report.text }}"},
    ],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "nothing to say"},
        {"value": {"text": ""}, "reason": "nothing to say"},
        {"value": {"text": " \n"}, "reason": "Telegram takes no message of blanks"},
        {"value": {"text": "x" * (_TEXT + 1)}, "reason": "longer than one message may be"},
        {
            "value": {"text": "x", "chat_id": "42"},
            "reason": "it goes to the owner's own chat and nowhere else",
        },
        {
            "value": {"text": "x", "token": "{{ secrets.telegram_bot_token }}"},
            "reason": "the bot is the owner's; no step chooses another",
        },
    ],
}

_OUTPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["message_id"],
    "properties": {
        "message_id": {
            "type": "integer",
            "description": "Id of the message in the chat.",
        }
    },
    "examples": [{"message_id": 128}],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "a message that was sent has a number"},
    ],
}


def describe_push(config: Mapping[str, Any]) -> WriteDescription:
    """Describe a message that reaches only the owner."""
    del config
    return WriteDescription("send", "its owner a message on Telegram", ("subject", "text"))
