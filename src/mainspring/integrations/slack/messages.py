"""A message of Slack as a page: one page for a message, or for a thread with its answers.

Slack marks people, channels and links inside a text; they are spelt out, so that the page reads
as the channel does. Everything in it was written by others and stays text.
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
# A message of these kinds tells of the channel itself, and nobody wrote it.
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
    """Whether this is the name of a message, which is also its time."""
    return isinstance(value, str) and _TS.fullmatch(value) is not None


def is_written(message: Any) -> bool:
    """Whether somebody wrote it; a thing of unknown shape is looked at, and then told of."""
    kind = message.get("subtype") if isinstance(message, Mapping) else None
    return not isinstance(kind, str) or kind not in _OF_THE_CHANNEL


def is_page_start(message: Any) -> bool:
    """Whether it is a page of its own; an answer belongs to the page of its thread."""
    if not isinstance(message, Mapping):
        return True
    return message.get("thread_ts") in (None, message.get("ts"))


def get_newest_ts(message: Any) -> str:
    """The ts of the last thing said in a message and its thread; empty when it has none."""
    if not isinstance(message, Mapping):
        return ""
    stamps = [str(one) for one in (message.get("ts"), message.get("latest_reply")) if is_ts(one)]
    return max(stamps, key=as_number, default="")


def as_number(ts: str) -> tuple[int, int]:
    """A ts in its order; as text the longer one would be the smaller."""
    seconds, _, rest = ts.partition(".")
    return int(seconds or 0), int(rest.ljust(9, "0") or 0)


def format_ts(at: datetime) -> str:
    """A moment as Slack writes it."""
    return f"{at.timestamp():.6f}"


def list_people(messages: Sequence[Mapping[str, Any]]) -> list[str]:
    """Everybody who wrote or is named, in the order of the messages."""
    found: dict[str, None] = {}
    for one in messages:
        if isinstance(one.get("user"), str):
            found[one["user"]] = None
        found.update(dict.fromkeys(_USER.findall(_text(one))))
    return list(found)


def format_text(text: str, names: Mapping[str, str]) -> str:
    """A text of Slack as a person reads it."""

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
    """The page of one message and the answers in its thread.

    It is told as an event where it is newer than the ts ``told_after``; None: nothing is.
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
