"""Mapping a Slack message to a page: one page per message or thread.

Slack's markup for users, channels and links is resolved, so that the page reads like the channel.
The content is untrusted text.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.provider_responses import format_one_line

MESSAGE_POSTED: Final = "slack.message_posted"
_TS: Final = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
_MARK: Final = re.compile(r"<([^<>\n]{1,3000})>")
_USER: Final = re.compile(r"<@([UW][A-Z0-9]{2,20})(?:\|[^<>]*)?>")
_TEXT: Final = 40_000
_BODY: Final = 200_000
_TITLE: Final = 80
_FILES: Final = 20
# Subtypes of channel notices that no user wrote.
_OF_THE_CHANNEL: Final = frozenset(
    {
        "channel_archive",
        "channel_join",
        "channel_leave",
        "channel_name",
        "channel_purpose",
        "channel_topic",
        "channel_unarchive",
        "group_join",
        "group_leave",
        "tombstone",
    }
)


def is_ts(value: Any) -> bool:
    """Report whether this is a ts, which is a message's id and time."""
    return isinstance(value, str) and _TS.fullmatch(value) is not None


def is_written(message: Any) -> bool:
    """Report whether a user wrote it; unknown structures are kept and reported later."""
    kind = message.get("subtype") if isinstance(message, Mapping) else None
    return not isinstance(kind, str) or kind not in _OF_THE_CHANNEL


def is_page_start(message: Any) -> bool:
    """Report whether it is a top-level message; replies belong to their thread's page."""
    if not isinstance(message, Mapping):
        return True
    return message.get("thread_ts") in (None, message.get("ts"))


def get_newest_ts(message: Any) -> str:
    """Return the newest ts of a message and its thread; empty when there is none."""
    if not isinstance(message, Mapping):
        return ""
    stamps = [str(one) for one in (message.get("ts"), message.get("latest_reply")) if is_ts(one)]
    return max(stamps, key=as_number, default="")


def as_number(ts: str) -> tuple[int, int]:
    """Convert a ts to a number, since text would not sort correctly."""
    seconds, _, rest = ts.partition(".")
    return int(seconds or 0), int(rest.ljust(9, "0") or 0)


def format_ts(at: datetime) -> str:
    """Format a time as a ts."""
    return f"{at.timestamp():.6f}"


def list_people(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """List all authors and mentioned users, in order."""
    found: dict[str, None] = {}
    for one in messages:
        if isinstance(one.get("user"), str):
            found[one["user"]] = None
        found.update(dict.fromkeys(_USER.findall(_text(one))))
    return list(found)


def format_text(text: str, names: Mapping[str, str]) -> str:
    """Convert Slack markup to readable text."""

    def spelt(found: re.Match[str]) -> str:
        inside, _, label = found[1].partition("|")
        if inside.startswith("@"):
            return "@" + (names.get(inside[1:]) or label or inside[1:])
        if inside.startswith("#"):
            return "#" + (label or inside[1:])
        if inside.startswith("!"):
            return label or "@" + inside[1:].partition("^")[0]
        return f"{label} ({inside})" if label and label != inside else inside

    return html.unescape(_MARK.sub(spelt, text))


def build_message_item(
    channel: str,
    message: Any,
    replies: Sequence[Mapping[str, Any]],
    names: Mapping[str, str],
    told_after: str | None = None,
) -> Item | UnreadableItem:
    """Build the page of a message with its replies.

    Published as an event when newer than the ts ``told_after``; None: never.
    """
    ts = message.get("ts") if isinstance(message, Mapping) else None
    if not isinstance(ts, str) or not is_ts(ts):
        return UnreadableItem(
            f"slack:{channel}:unreadable",
            UpstreamError(
                "Slack sent a message without its time.", code="slack_message", retryable=False
            ),
        )
    text = format_text(_text(message), names)
    files = [name for one in (message, *replies) for name in _files(one)][:_FILES]
    author = _author(message, names)
    frontmatter: dict[str, Any] = {
        "channel": channel,
        "ts": ts,
        "author": author,
        "date": _moment(ts).isoformat(),
        "replies": len(replies),
    }
    if files:
        frontmatter["files"] = files
    tells = told_after is not None and as_number(ts) > as_number(told_after)
    payload = {
        "channel": channel,
        "ts": ts,
        "user": str(message.get("user") or message.get("bot_id") or ""),
        "author": author,
        "text": text[:4_000],
        "posted_at": _moment(ts).isoformat(),
    }
    return Item(
        source_ref=f"slack:{channel}:{ts}",
        type="slack_message",
        title=format_one_line(text, _TITLE) or f"Message of {author}",
        body=_body((message, *replies), names),
        frontmatter=frontmatter,
        event=MESSAGE_POSTED if tells else None,
        payload=payload if tells else {},
    )


def _body(messages: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    pieces = []
    for one in messages:
        when = one.get("ts")
        at = (
            f" ({_moment(when):%Y-%m-%d %H:%M} UTC)"
            if isinstance(when, str) and is_ts(when)
            else ""
        )
        attached = "".join(f"\n[file: {name}]" for name in _files(one))
        pieces.append(f"{_author(one, names)}{at}: {format_text(_text(one), names)}{attached}")
    return "\n\n".join(pieces)[:_BODY]


def _text(message: Mapping[str, Any]) -> str:
    text = message.get("text")
    return text[:_TEXT] if isinstance(text, str) else ""


def _author(message: Mapping[str, Any], names: Mapping[str, str]) -> str:
    user = message.get("user")
    if isinstance(user, str):
        return names.get(user, user)
    for key in ("username", "bot_id"):
        if isinstance(message.get(key), str):
            return format_one_line(message[key], 80)
    return "somebody"


def _files(message: Mapping[str, Any]) -> Iterator[str]:
    files = message.get("files")
    for one in files[:_FILES] if isinstance(files, list) else ():
        name = one.get("name") if isinstance(one, Mapping) else None
        if isinstance(name, str) and name:
            yield format_one_line(name, 200)


def _moment(ts: str) -> datetime:
    return datetime.fromtimestamp(min(int(ts.partition(".")[0]), 253_402_300_799), UTC)
