"""Chat messages of a Telegram bot, and the answers to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, TypeGuard

from mainspring.contracts.chat import (
    ChatAttachment,
    ChatChannel,
    ChatMessage,
    ChatPlace,
    ChatSender,
    chat_event,
)
from mainspring.contracts.context import Account, CallContext
from mainspring.contracts.display_text import utf16_length
from mainspring.integrations.telegram.client import LONGEST_MESSAGE, Telegram

MESSAGE: Final = chat_event("telegram", "Somebody wrote to the bot, or in a group that it is in.")
_KINDS: Final = {"private": "private", "group": "group", "supergroup": "group"}
_FILES: Final = ("document", "photo", "voice", "audio", "video", "video_note", "sticker")
# The end of the year 9999.
_LAST_SECOND: Final = 253_402_300_799
_LARGEST: Final = 2**53


def build_chat_channel(telegram: Telegram) -> ChatChannel:
    """Answers in the chat and topic of a message, as a reply to it."""

    async def send(ctx: CallContext, place: ChatPlace, text: str) -> str:
        return str(await telegram.send_reply(ctx, place, text))

    async def typing(ctx: CallContext, place: ChatPlace) -> None:
        await telegram.send_typing(ctx, place)

    return ChatChannel(send, lambda text: utf16_length(text) <= LONGEST_MESSAGE, typing)


def read_chat_message(
    message: Mapping[str, Any], account: Account | None, settings: Mapping[str, Any]
) -> ChatMessage | None:
    """The message as every provider reports one; None for what no person wrote.

    The text of somebody who is not linked is left out in private chats, where no trigger reads it.
    """
    chat, who = _part(message, "chat"), _part(message, "from")
    number, at = message.get("message_id"), message.get("date")
    kind = _KINDS.get(str(chat.get("type", "private")))
    if account is None or kind is None or who.get("is_bot") is True:
        return None
    chat_id, user_id = chat.get("id"), who.get("id")
    if not (is_number(chat_id) and is_number(user_id) and is_number(number) and is_number(at)):
        return None
    if not 0 <= at <= _LAST_SECOND:
        return None
    linked = user_id == settings.get("user_id") and account.owner_id is not None
    text, files = _text(message), _attachments(message)
    if not text and not files:
        return None
    thread = message.get("message_thread_id") if message.get("is_topic_message") else None
    return ChatMessage(
        via="telegram",
        connection_id=str(account.connection_id),
        chat_id=str(chat_id),
        chat_kind=kind,
        chat_name=str(chat.get("title") or chat.get("first_name") or ""),
        message_id=str(number),
        thread_id=str(thread) if is_number(thread) else None,
        text=text if linked or kind == "group" else "",
        mentioned=_mentions(message, text, account.account),
        date=datetime.fromtimestamp(at, UTC).isoformat(),
        sender=ChatSender(
            str(user_id),
            str(who.get("first_name") or who.get("username") or ""),
            str(account.owner_id) if linked else None,
        ),
        attachments=files,
    )


def is_number(value: Any) -> TypeGuard[int]:
    """Whether it is an id or a time as Telegram sends one."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST


def _text(message: Mapping[str, Any]) -> str:
    for name in ("text", "caption"):
        if isinstance(message.get(name), str):
            return str(message[name])
    return ""


def _mentions(message: Mapping[str, Any], text: str, account: str) -> bool:
    """Whether it names the bot, or answers one of its messages."""
    name = account.removeprefix("@").lower()
    if name and f"@{name}" in text.lower():
        return True
    replied = _part(_part(message, "reply_to_message"), "from").get("username")
    return bool(name) and isinstance(replied, str) and replied.lower() == name


def _attachments(message: Mapping[str, Any]) -> Sequence[ChatAttachment]:
    found = []
    for kind in _FILES:
        file = message.get(kind)
        if kind == "photo" and isinstance(file, list) and file:
            # The sizes of one photo, the largest last.
            file = file[-1]
        if isinstance(file, Mapping):
            size = file.get("file_size")
            found.append(
                ChatAttachment(
                    kind,
                    _string(file.get("file_name")),
                    _string(file.get("mime_type")),
                    size if is_number(size) else None,
                )
            )
    return found


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _part(held: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = held.get(name)
    return found if isinstance(found, Mapping) else {}
