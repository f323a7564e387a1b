"""The chat trigger: a message to a bot starts a run, which answers in the same chat."""

from __future__ import annotations

from typing import Any, Final

from mainspring.contracts.chat import PAYLOAD_SCHEMA
from mainspring.contracts.trigger import TriggerKind
from mainspring.definition.chat_triggers import ANSWERS, CHAT_MESSAGE, LINKED, SENDERS
from mainspring.definition.filters import FILTER_SCHEMA
from mainspring.definition.webhook_callers import WHEN_DONE

CONFIG_SCHEMA: Final[dict[str, Any]] = {
    "title": "Chat message",
    "type": "object",
    "required": ["via"],
    "additionalProperties": False,
    "properties": {
        "via": {
            "title": "Provider",
            "description": "Where the message is written. Messages of Slack and Discord are not "
            "received yet; event triggers read them at an interval.",
            "enum": ["telegram", "slack", "discord"],
        },
        "channel": {
            "title": "Chat or channel",
            "description": "Only messages in this chat, by its id, such as -1001234567890. "
            "Left out: private chats with the bot.",
            "type": "string",
            "pattern": "^(-?[0-9]{1,20}|[A-Z][A-Z0-9]{1,31})$",
            "x-mainspring-says": "A chat is named by its id, such as -1001234567890 in Telegram.",
        },
        "match": {
            "title": "Text",
            "description": "What the text must be: one of these. Left out: any text.",
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "command": {
                    "description": "A command such as /standup.",
                    "type": "string",
                    "pattern": "^/?[A-Za-z0-9][A-Za-z0-9_-]{0,31}$",
                    "x-mainspring-says": "A command is letters, digits, underscores and dashes.",
                },
                "prefix": {
                    "description": "The beginning of the text.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 200,
                },
                "mention": {"description": "The text mentions the bot.", "const": True},
                "regex": {
                    "description": "An RE2 pattern that the text contains.",
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 1_000,
                },
            },
        },
        "who": {
            "title": "Who may write",
            "description": "linked_members: members who have linked their account. "
            "anyone_in_channel: everyone in the named channel, also people without an account.",
            "enum": list(SENDERS),
            "default": LINKED,
        },
        "respond": {
            "title": "Answer",
            "description": "What is posted as the answer in the same chat and thread. when_done: "
            "the output of the run. by_step: the answer of a respond step. none: nothing.",
            "enum": list(ANSWERS),
            "default": WHEN_DONE,
        },
        "filters": {
            "title": "Filter",
            "description": "What else must hold for the message.",
            "$ref": "#/$defs/filter",
        },
    },
    # The filter schema's references start at the root, so its definitions are copied here.
    "$defs": FILTER_SCHEMA["$defs"],
    "examples": [
        {"via": "telegram", "match": {"command": "/standup"}},
        {"via": "telegram", "channel": "-1001234567890", "match": {"mention": True}},
        {
            "via": "telegram",
            "channel": "-1001234567890",
            "who": "anyone_in_channel",
            "match": {"prefix": "deploy "},
            "respond": "by_step",
        },
    ],
    "x-mainspring-anti-examples": [
        {"value": {"match": {"command": "/standup"}}, "reason": "written where?"},
        {"value": {"via": "telegram", "channel": "general"}, "reason": "an id, not a name"},
        {"value": {"via": "telegram", "respond": "immediately"}, "reason": "there is no receipt"},
        {"value": {"via": "telegram", "match": {"command": "stand up"}}, "reason": "one word"},
    ],
}

TRIGGER: Final = TriggerKind(
    type=CHAT_MESSAGE,
    description="Goes off when somebody writes a matching message to the bot.",
    config_schema=CONFIG_SCHEMA,
    payload_schema=PAYLOAD_SCHEMA,
)
