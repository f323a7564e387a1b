"""Telegram poll: messages, codes that link a chat, and button presses.

The owner's texts in their linked chat become pages. Telegram deletes updates when the next poll
passes a later offset, which is stored in the transaction that stored the updates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import Account, CallContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, ItemBatch, Poll, UnreadableItem
from mainspring.contracts.partial_results import read_one
from mainspring.integrations.telegram.chat import MESSAGE, is_number, read_chat_message
from mainspring.integrations.telegram.client import MOST_UPDATES, Telegram
from mainspring.integrations.telegram.events import BUTTON_PRESSED, MESSAGE_RECEIVED, STARTED

# The long-poll timeout in seconds, kept long because people wait for button presses.
_WAIT: Final = 20
_START: Final = re.compile(r"/start ([A-Za-z0-9_-]{16,64})")
_SHOWN: Final = 80
# The end of the year 9999.
_LAST_SECOND: Final = 253_402_300_799


def build_updates_poll(telegram: Telegram) -> Poll:
    """Build the poll."""

    async def read(
        ctx: CallContext, settings: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        known = (cursor or {}).get("offset")
        offset = known if is_number(known) else 0
        # The first poll does not wait, because updates may already be pending.
        found = await telegram.updates(ctx, offset, _WAIT if offset else 0)
        read = build_item_batch(found, settings, offset, ctx.account)
        for query_id in _list_press_ids(found, (read.cursor or {})["offset"]):
            await telegram.answer_callback(ctx, query_id)
        return read

    return Poll(
        "updates",
        "What is written to the bot, and the buttons under its messages.",
        read,
        every="* * * * *",
    )


def build_item_batch(
    found: Any, settings: Mapping[str, Any], offset: int, account: Account | None = None
) -> ItemBatch:
    """Build the items of the relevant updates, and the next offset."""
    items: list[Item | UnreadableItem] = []
    # The first code links a chat; what follows in the same batch waits for the next poll, when its
    # owner is known.
    for update in found:
        if not isinstance(update, Mapping) or not is_number(update.get("update_id")):
            continue
        offset = max(offset, update["update_id"] + 1)
        ref = f"telegram:{update['update_id']}"
        item = read_one(ref, partial(_item, update, settings))
        if item is not None:
            items.append(item)
        # A page and a chat message are two things, with an event each.
        chat = read_one(ref, partial(_chat_item, ref, update, settings, account))
        if chat is not None:
            items.append(chat)
        if isinstance(item, Item) and item.event == STARTED.type:
            break
    return ItemBatch(items, {"offset": offset}, more=len(found) >= MOST_UPDATES)


def _list_press_ids(found: Any, offset: int) -> list[str]:
    """Return the ids of button presses among the updates that this poll has handled."""
    pressed = [
        update.get("callback_query")
        for update in found
        if isinstance(update, Mapping)
        and is_number(update.get("update_id"))
        and update["update_id"] < offset
    ]
    ids = [one.get("id") for one in pressed if isinstance(one, Mapping)]
    return [one for one in ids if isinstance(one, str) and one]


def _item(update: Mapping[str, Any], settings: Mapping[str, Any]) -> Item | UnreadableItem | None:
    ref = f"telegram:{update['update_id']}"
    pressed = update.get("callback_query")
    if isinstance(pressed, Mapping):
        return _build_press_item(ref, pressed)
    message = update.get("message")
    if not isinstance(message, Mapping) or not isinstance(message.get("text"), str):
        return None
    chat, user = _id_in(message, "chat"), _id_in(message, "from")
    if chat is None or user is None:
        return None
    started = _START.fullmatch(message["text"].strip())
    if started is not None:
        who = message["from"]
        name = str(who.get("username") or who.get("first_name") or "")[:_SHOWN]
        told = {"code": started[1], "chat_id": chat, "user_id": user, "name": name}
        return Item(ref, "", "", event=STARTED.type, payload=told)
    if (chat, user) != (settings.get("chat_id"), settings.get("user_id")):
        return None
    return _parse_message(message, chat)


def _chat_item(
    ref: str, update: Mapping[str, Any], settings: Mapping[str, Any], account: Account | None
) -> Item | None:
    message = update.get("message")
    if not isinstance(message, Mapping):
        return None
    text = message.get("text")
    if isinstance(text, str) and _START.fullmatch(text.strip()):
        return None
    found = read_chat_message(message, account, settings)
    if found is None:
        return None
    return Item(ref, "", "", event=MESSAGE.type, payload=found.as_payload())


def _parse_message(message: Mapping[str, Any], chat: int) -> Item | UnreadableItem | None:
    number, at = message.get("message_id"), message.get("date")
    if not is_number(number) or not is_number(at):
        return None
    if not 0 <= at <= _LAST_SECOND:
        detail = "Telegram sent a message of a time that no calendar has."
        problem = UpstreamError(detail, code="telegram_message", retryable=False)
        return UnreadableItem(f"telegram:{chat}:{number}", problem)
    text = message["text"]
    moment = datetime.fromtimestamp(at, UTC).isoformat()
    return Item(
        source_ref=f"telegram:{chat}:{number}",
        type="telegram_message",
        title=" ".join(text.split())[:_SHOWN] or "A message",
        body=text,
        frontmatter={"message_id": number, "date": moment},
        event=MESSAGE_RECEIVED.type,
        payload={"text": text, "message_id": number, "date": moment},
    )


def _build_press_item(ref: str, pressed: Mapping[str, Any]) -> Item | None:
    message, data = pressed.get("message"), pressed.get("data")
    user = _id_in(pressed, "from")
    if not isinstance(message, Mapping) or not isinstance(data, str) or user is None:
        return None
    chat, number = _id_in(message, "chat"), message.get("message_id")
    if chat is None or not is_number(number):
        return None
    told = {
        "data": data[:64],
        "chat_id": chat,
        "user_id": user,
        "message_id": number,
        "callback_id": str(pressed.get("id", ""))[:64],
    }
    return Item(ref, "", "", event=BUTTON_PRESSED.type, payload=told)


def _id_in(held: Mapping[str, Any], name: str) -> int | None:
    one = held.get(name)
    found = one.get("id") if isinstance(one, Mapping) else None
    return found if is_number(found) else None
