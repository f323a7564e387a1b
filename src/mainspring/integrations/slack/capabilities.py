"""Slack capability ``slack_post``, after approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.capability import (
    Annotations,
    Audience,
    Capability,
    ConnectionRoute,
    Effect,
    Write,
)
from mainspring.contracts.context import CallContext
from mainspring.contracts.display_text import escape_invisible, format_first_line
from mainspring.contracts.errors import NotFound
from mainspring.contracts.integration import WriteOffer
from mainspring.contracts.secret import SecretRef, SecretText
from mainspring.contracts.toolset import Toolset
from mainspring.contracts.write_description import WriteDescription, quote_values
from mainspring.integrations.slack.client import CONNECTED, Slack

# ``slack_post`` for act_on_integration: without a token argument.


def post_offer(post: Capability) -> WriteOffer:
    """The message fields only."""
    own = post.input_schema
    asked = {
        "type": "object",
        "additionalProperties": False,
        "required": [name for name in own["required"] if name != "token"],
        "properties": {name: one for name, one in own["properties"].items() if name != "token"},
    }
    return WriteOffer(post.id, asked, dict)


# The default secret when no step names one and there is no connection.
BOT: Final = SecretText((SecretRef("slack_bot_token"),))

# Slack truncates longer messages.
_TEXT = 40_000


def build_post_capability(slack: Slack) -> Capability:
    """Build the capability."""

    async def post(ctx: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        message = {key: arguments[key] for key in _SENT if key in arguments}
        named = arguments.get("token")
        token = named or (CONNECTED if ctx.account is not None else BOT)
        try:
            channel, ts = await slack.post_message(ctx.http, token, message)
        except NotFound as missing:
            raise missing if named else _nobody() from None
        return {"channel": channel, "ts": ts}

    return Capability(
        id="slack_post",
        description="Post a message to Slack\n\n"
        "Posts text to a channel or thread as the connected bot, or as the bot whose "
        "token the step names, after a person approves it.",
        input_schema=_INPUT,
        output_schema=_OUTPUT,
        handler=post,
        write=Write(
            preview=preview,
            editable=("text",),
            wording=("text",),
            destination=("channel", "token"),
            plain=has_no_mentions,
            family="message",
            describe=describe_post,
        ),
        annotations=Annotations(
            toolset=Toolset.SERVICES,
            effect=Effect.SEND,
            seconds=2.0,
            secret_arguments=frozenset({"token"}),
            only_secrets=frozenset({"token"}),
            hosts=slack.hosts,
            route=ConnectionRoute(
                "slack",
                slack.hosts,
                connection="used",
                secrets=frozenset(BOT.names),
                scopes=frozenset({"chat:write"}),
            ),
            # Only a run has secrets to name; others use act_on_integration.
            audience=Audience.RUNS,
        ),
    )


def _nobody() -> NotFound:
    return NotFound(
        "Slack is not connected, and the step names no token.",
        code="slack_not_connected",
        suggestion="Connect Slack, or keep a bot token as the secret slack_bot_token.",
    )


def has_no_mentions(arguments: Mapping[str, Any]) -> bool:
    """Report whether the text has no mentions, which never qualify for standing approval."""
    text = arguments["text"]
    return not any(mark in text for mark in ("<!", "<@", "<#"))


def preview(arguments: Mapping[str, Any]) -> str:
    """Preview the channel and the text in one line."""
    shown = format_first_line(arguments["text"])
    place = "a thread of " if "thread_ts" in arguments else ""
    return f"Post to {place}{escape_invisible(arguments['channel'])} in Slack: {shown}"


_SENT = ("channel", "text", "thread_ts")

_INPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["channel", "text"],
    "x-mainspring-instead": {
        "channel_id": "It is called channel.",
        **dict.fromkeys(("message", "message_template"), "It is called text."),
    },
    "properties": {
        "channel": {
            "type": "string",
            "description": "Channel id (such as C0123456789) or #name.",
            "maxLength": 255,
            "pattern": r"^\S+$",
            "x-mainspring-says": "This must be the channel's id, or #name.",
        },
        "text": {"type": "string", "minLength": 1, "maxLength": _TEXT},
        "thread_ts": {
            "type": "string",
            "description": "ts of the message to reply to in a thread.",
            "maxLength": 40,
            "pattern": r"^[0-9]+\.[0-9]+$",
            "x-mainspring-says": "This must be the ts of a message, such as 1700000000.000100.",
        },
        "token": {
            "type": "string",
            "description": "A bot token as a secret: {{ secrets.slack_bot_token }}. Default: the "
            "bot of the connection.",
            # A masked secret reference; the token itself must not be in a definition.
            "pattern": r"^\[secret [a-z0-9_]+\]$",
            "x-mainspring-says": "This must be a secret, such as {{ secrets.slack_bot_token }}.",
            "maxLength": 80,
            "x-mainspring-scope": "secret",
        },
    },
    "examples": [
        {"channel": "C0123456789", "text": "The build is green again."},
        {
            "channel": "#releases",
            "text": "{{ steps.report.text }}",
            "thread_ts": "1503435956.000247",
        },
    ],
    "x-mainspring-anti-examples": [
        {
            "value": {"channel": "C0123", "text": "x", "token": "a-token-as-plain-text"},
            "reason": "a definition refers to a token by name only",
        },
        {"value": {"text": "x"}, "reason": "in which channel?"},
        {
            "value": {"channel": "C0123", "text": "", "token": "{{ secrets.slack }}"},
            "reason": "nothing to say",
        },
        {
            "value": {"channel": "my channel", "text": "x", "token": "{{ secrets.slack }}"},
            "reason": "a channel has no spaces",
        },
        {
            "value": {
                "channel": "C0123",
                "text": "x",
                "thread_ts": "yesterday",
                "token": "{{ secrets.slack }}",
            },
            "reason": "a thread is named by the ts of its first message",
        },
        {
            "value": {"channel": "C0123", "message": "x", "token": "{{ secrets.slack }}"},
            "reason": "the message is called text",
        },
    ],
}

_OUTPUT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["channel", "ts"],
    "properties": {
        "channel": {"type": "string", "description": "Id of the channel."},
        "ts": {
            "type": "string",
            "description": "Id of the message; use as thread_ts of a reply.",
        },
    },
    "examples": [{"channel": "C0123456789", "ts": "1503435956.000247"}],
    "x-mainspring-anti-examples": [
        {"value": {"channel": "C0123456789"}, "reason": "a message that was posted has a ts"}
    ],
}


def describe_post(config: Mapping[str, Any]) -> WriteDescription:
    """Describe a post by its channel; a step with a token uses no connection."""
    channel = config.get("channel", config.get("channel_id"))
    where = f"the Slack channel {quote_values(channel)}" if channel else "any Slack channel"
    thread = "a thread of " if config.get("thread_ts") else ""
    by = "" if "token" in config else "slack"
    return WriteDescription("post", f"to {thread}{where}", ("text", "message_template"), by)
