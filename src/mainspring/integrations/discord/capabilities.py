"""Discord capability ``discord.post``, after approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import Annotations, Capability, ConnectionRoute, Effect, Write
from mainspring.contracts.context import CallContext
from mainspring.contracts.display_text import format_first_line
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, quote_values
from mainspring.integrations.discord.client import Discord
from mainspring.integrations.discord.sources import ID_SCHEMA

# Discord's limit for one message.
_TEXT: Final = 2_000
_SHOWN_TEXT: Final = 200


def build_post_capability(discord: Discord) -> Capability:
    """Build the capability."""

    async def post(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        channel = arguments["channel_id"]
        own = await discord.post(ctx.http, channel, _message(arguments), key=ctx.key)
        return {"channel_id": channel, "message_id": own}

    return Capability(
        id="discord.post",
        description="Post a message to Discord\n\n"
        "Posts text to a channel as the connected bot, after a person approves it. "
        "Mentions notify no one unless you allow them.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=post,
        write=Write(
            preview=preview,
            editable=("content",),
            wording=("content",),
            destination=("channel_id", "reply_to", "mentions"),
            family="message",
            describe=describe_post,
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            effect=Effect.SEND,
            seconds=2.0,
            hosts=discord.hosts,
            route=ConnectionRoute("discord", discord.hosts),
        ),
    )


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview the channel and the text in one line."""
    shown = format_first_line(arguments["content"], _SHOWN_TEXT)
    place = "Post an answer in" if "reply_to" in arguments else "Post to"
    called = ", notifying everyone it mentions" if arguments.get("mentions") == "users" else ""
    return f"{place} channel {arguments['channel_id']} of Discord{called}: {shown}"


def _message(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Build the message; mentions are never resolved from its text alone."""
    called = ["users"] if arguments.get("mentions") == "users" else []
    message: dict[str, Any] = {
        "content": arguments["content"],
        "allowed_mentions": {"parse": called, "replied_user": False},
    }
    if "reply_to" in arguments:
        message["message_reference"] = {
            "message_id": arguments["reply_to"],
            "fail_if_not_exists": True,
        }
    return message


_INPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["channel_id", "content"],
    "properties": {
        "channel_id": {**ID_SCHEMA},
        "content": {
            "type": "string",
            "description": "In Discord's Markdown.",
            "minLength": 1,
            "maxLength": _TEXT,
            "pattern": r"\S",
            "x-mainspring-says": "A message cannot be blank.",
        },
        "reply_to": {**ID_SCHEMA, "description": "Id of the message to reply to."},
        "mentions": {
            "description": "Who can be notified by mentions: no one or the named users; never "
            "everyone or a role.",
            "enum": ["none", "users"],
            "default": "none",
        },
    },
    "examples": [
        {"channel_id": "1100000000000000001", "content": "The build is green again."},
        {
            "channel_id": "1100000000000000001",
            "content": "{{ steps.report.text }}",
            "reply_to": "1100000000000000901",
            "mentions": "users",
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"content": "x"}, "reason": "in which channel?"},
        {"value": {"channel_id": "1100000000000000001", "content": " "}, "reason": "nothing said"},
        {
            "value": {"channel_id": "1100000000000000001", "content": "x" * (_TEXT + 1)},
            "reason": "longer than one message may be",
        },
        {
            "value": {"channel_id": "#general", "content": "x"},
            "reason": "Discord names channels by ids",
        },
        {
            "value": {"channel_id": "1100000000000000001", "content": "x", "mentions": "everyone"},
            "reason": "a whole server is never called",
        },
    ],
}

_OUTPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["channel_id", "message_id"],
    "properties": {
        "channel_id": {"type": "string"},
        "message_id": {"type": "string", "description": "Use as reply_to of a reply."},
    },
    "examples": [{"channel_id": "1100000000000000001", "message_id": "1100000000000000901"}],
    "x-mainspring-anti-examples": [
        {"value": {"channel_id": "1100000000000000001"}, "reason": "a message has an id"}
    ],
}


def describe_post(config: Mapping[str, Any]) -> WriteDescription:
    """Describe a post by its channel."""
    channel = config.get("channel_id")
    where = f"the Discord channel {quote_values(channel)}" if channel else "any Discord channel"
    return WriteDescription("post", f"to {where}", ("content",), "discord")
