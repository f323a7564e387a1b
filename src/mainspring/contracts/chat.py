"""Chat messages: what an integration reports of one, and how it sends an answer.

Every provider reports the same payload, so a trigger, a memory and an answer are independent of the
provider. The answer goes to the chat and thread of the message and nowhere else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.event import EventType

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

CHAT_EVENT: Final = "chat_message"
MOST_ATTACHMENTS: Final = 10
# The provider's limit for a message is lower.
MOST_TEXT: Final = 40_000
_NAME: Final = 200


@dataclass(frozen=True, slots=True)
class ChatSender:
    """Who wrote a message."""

    id: str
    name: str
    # The member whose linked account it is.
    member_id: str | None = None

    def as_payload(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name[:_NAME],
            "linked": self.member_id is not None,
            "member_id": self.member_id,
        }


@dataclass(frozen=True, slots=True)
class ChatAttachment:
    """A file of a message: its metadata; the file itself is not fetched."""

    kind: str
    name: str | None = None
    mime_type: str | None = None
    size: int | None = None

    def as_payload(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "name": None if self.name is None else self.name[:_NAME],
            "mime_type": None if self.mime_type is None else self.mime_type[:_NAME],
            "size": self.size,
        }


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message that a person wrote."""

    via: str
    connection_id: str
    chat_id: str
    # private, group or channel.
    chat_kind: str
    chat_name: str
    message_id: str
    thread_id: str | None
    text: str
    mentioned: bool
    date: str
    sender: ChatSender
    attachments: Sequence[ChatAttachment] = ()

    def as_payload(self) -> dict[str, Any]:
        command, rest = split_command(self.text)
        return {
            "via": self.via,
            "connection_id": self.connection_id,
            "chat": {"id": self.chat_id, "kind": self.chat_kind, "name": self.chat_name[:_NAME]},
            "thread_id": self.thread_id,
            "message_id": self.message_id,
            "text": self.text[:MOST_TEXT],
            "command": command,
            "command_text": rest,
            "mentioned": self.mentioned,
            "date": self.date,
            "sender": self.sender.as_payload(),
            "attachments": [one.as_payload() for one in self.attachments[:MOST_ATTACHMENTS]],
        }


def split_command(text: str) -> tuple[str | None, str]:
    """``/standup@my_bot done`` is the command ``standup`` with the text ``done``."""
    first, _, rest = text.strip().partition(" ")
    first, newline, following = first.partition("\n")
    name = first[1:].partition("@")[0].lower()
    if not first.startswith("/") or not name.replace("_", "").replace("-", "").isalnum():
        return None, text.strip()
    return name[:64], f"{following} {rest}".strip() if newline else rest.strip()


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """Where an answer goes."""

    chat_id: str
    thread_id: str | None
    # The message that it answers.
    reply_to: str | None


@dataclass(frozen=True, slots=True)
class ChatChannel:
    """How an integration sends answers."""

    # Sends one part of an answer; returns its id at the provider. A problem with ``unsent`` says
    # that nothing was sent; after any other the outcome is unknown.
    send: Callable[[CallContext, ChatPlace, str], Awaitable[str]]
    # Whether one message can hold the whole text.
    fits: Callable[[str], bool]
    # Shows that an answer is on its way; None: the provider cannot.
    typing: Callable[[CallContext, ChatPlace], Awaitable[None]] | None = None


PAYLOAD_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Chat message",
    "description": "What was written, where and by whom.",
    "type": "object",
    "required": ["via", "connection_id", "chat", "thread_id", "message_id", "text", "sender"],
    "properties": {
        "via": {"type": "string"},
        "connection_id": {"type": "string", "format": "uuid"},
        "chat": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "kind": {"enum": ["private", "group", "channel"]},
                "name": {"type": "string"},
            },
        },
        "thread_id": {"type": ["string", "null"], "description": "Of a topic or a thread."},
        "message_id": {"type": "string"},
        "text": {"type": "string"},
        "command": {
            "type": ["string", "null"],
            "description": "The name after the slash, such as standup.",
        },
        "command_text": {"type": "string", "description": "The text without its command."},
        "mentioned": {"type": "boolean", "description": "Whether it mentions the bot."},
        "date": {"type": "string", "format": "date-time"},
        "sender": {
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "The account at the provider."},
                "name": {"type": "string"},
                "linked": {"type": "boolean"},
                "member_id": {"type": ["string", "null"], "format": "uuid"},
            },
        },
        "attachments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string"},
                    "name": {"type": ["string", "null"]},
                    "mime_type": {"type": ["string", "null"]},
                    "size": {"type": ["integer", "null"]},
                },
            },
        },
    },
    "examples": [
        {
            "via": "telegram",
            "connection_id": "01900000-0000-7000-8000-00000000000c",
            "chat": {"id": "4815162342", "kind": "private", "name": "Ada"},
            "thread_id": None,
            "message_id": "128",
            "text": "/standup shipped the parser",
            "command": "standup",
            "command_text": "shipped the parser",
            "mentioned": False,
            "date": "2026-11-18T09:00:00+00:00",
            "sender": {
                "id": "4815162342",
                "name": "Ada",
                "linked": True,
                "member_id": "01900000-0000-7000-8000-00000000000a",
            },
            "attachments": [],
        }
    ],
}


def chat_event(integration: str, description: str) -> EventType:
    """The event type of an integration's chat messages."""
    return EventType(f"{integration}.{CHAT_EVENT}", description, PAYLOAD_SCHEMA)
