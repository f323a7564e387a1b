"""Mapping a Discord message to a page. The content is untrusted text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.provider_responses import format_one_line
from mainspring.integrations.discord.client import is_id

MESSAGE_POSTED: Final = "discord.message_posted"
# Discord's epoch, in milliseconds.
_EPOCH: Final = 1_420_070_400_000
# Types of messages that a user wrote: a message, a reply, or a command's output.
_WRITTEN: Final = frozenset({0, 19, 20, 23})
_TEXT: Final = 20_000
_TITLE: Final = 80
_PARTS: Final = 20


def build_id_at(at: datetime) -> str:
    """Build the smallest id of a time, for comparison."""
    return str(max(int(at.timestamp() * 1_000) - _EPOCH, 0) << 22)


def get_message_time(message_id: str) -> datetime:
    """Return a message's time from its id."""
    return datetime.fromtimestamp(((int(message_id) >> 22) + _EPOCH) / 1_000, UTC)


def is_written(message: Any) -> bool:
    """Report whether a user wrote it; unknown structures are kept and reported later."""
    kind = message.get("type", 0) if isinstance(message, Mapping) else 0
    return not isinstance(kind, int) or kind in _WRITTEN


def build_message_item(channel: str, message: Any, told_after: str) -> Item | UnreadableItem:
    """Build a message's page; published as an event when newer than an id."""
    if not isinstance(message, Mapping) or not is_id(message.get("id")):
        return UnreadableItem(
            f"discord:{channel}:unreadable",
            UpstreamError(
                "Discord sent a message without its id.", code="discord_message", retryable=False
            ),
        )
    own = str(message["id"])
    said, author = _content(message), _author(message)
    posted = get_message_time(own).isoformat()
    frontmatter: dict[str, Any] = {
        "channel_id": channel,
        "message_id": own,
        "author": author,
        "date": posted,
    }
    files = list(_files(message))
    if files:
        frontmatter["files"] = files
    answered = message.get("message_reference")
    if isinstance(answered, Mapping) and is_id(answered.get("message_id")):
        frontmatter["answers"] = f"discord:{channel}:{answered['message_id']}"
    body = "\n\n".join([*([said] if said else []), *(f"[file: {name}]" for name in files)])
    tells = int(own) > int(told_after)
    payload = {
        "channel_id": channel,
        "message_id": own,
        "author": author,
        "text": said[:4_000],
        "posted_at": posted,
    }
    return Item(
        source_ref=f"discord:{channel}:{own}",
        type="discord_message",
        title=format_one_line(said, _TITLE) or f"Message of {author}",
        body=body,
        frontmatter=frontmatter,
        event=MESSAGE_POSTED if tells else None,
        payload=payload if tells else {},
    )


def is_silent(message: Any) -> bool:
    """Report whether all content is hidden, as from a bot without the message content intent."""
    return isinstance(message, Mapping) and not _content(message) and not list(_files(message))


def _content(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    pieces = [content] if isinstance(content, str) and content else []
    embeds = message.get("embeds")
    for one in embeds[:_PARTS] if isinstance(embeds, list) else ():
        if isinstance(one, Mapping):
            pieces += [
                one[key] for key in ("title", "description") if isinstance(one.get(key), str)
            ]
    return "\n\n".join(pieces)[:_TEXT]


def _author(message: Mapping[str, Any]) -> str:
    author = message.get("author")
    if isinstance(author, Mapping):
        for key in ("global_name", "username"):
            if isinstance(author.get(key), str) and author[key]:
                return format_one_line(author[key], 80)
    return "somebody"


def _files(message: Mapping[str, Any]) -> Iterator[str]:
    files = message.get("attachments")
    for one in files[:_PARTS] if isinstance(files, list) else ():
        name = one.get("filename") if isinstance(one, Mapping) else None
        if isinstance(name, str) and name:
            yield format_one_line(name, 200)
