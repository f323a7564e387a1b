"""Slack poll: new messages in the followed channels.

A channel's cursor is the ts of its newest message, replies included. A poll goes back one day
further, because a reply does not move its parent: a thread with a new reply is read again under the
same reference, and makes no second page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import NotFound, UpstreamError
from mainspring.contracts.integration import Item, ItemBatch, Poll, UnreadableItem
from mainspring.integrations.slack.client import MessagePage, Slack
from mainspring.integrations.slack.message_pages import build_message_pages
from mainspring.integrations.slack.messages import as_number, format_ts, get_newest_ts, is_ts
from mainspring.integrations.slack.sources import find_channel_id

MOST_CHANNELS: Final = 50
_FIRST_LOOK: Final = timedelta(days=7)
_LOOK_BACK: Final = timedelta(days=1)
_NAME: Final = re.compile(r"[^\s,;]{1,81}")


@dataclass(frozen=True, slots=True)
class ChannelCursor:
    """The cursor: how far each channel was read, and the current one."""

    marks: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    page: str | None = None
    # The newest ts on the pages of this channel so far.
    high: str = ""
    # The last message processed before a rate limit.
    done: str = ""

    def as_cursor(self) -> dict[str, Any]:
        return {
            "marks": dict(self.marks),
            "ids": dict(self.ids),
            "name": self.name,
            "page": self.page,
            "high": self.high,
            "done": self.done,
        }


def parse_cursor(cursor: Mapping[str, Any] | None) -> ChannelCursor:
    """Parse a stored cursor."""
    if cursor is None:
        return ChannelCursor()
    return ChannelCursor(
        marks={str(key): one for key, one in dict(cursor.get("marks", {})).items() if is_ts(one)},
        ids={str(key): str(one) for key, one in dict(cursor.get("ids", {})).items()},
        name=str(cursor.get("name", "")),
        page=cursor.get("page"),
        high=str(cursor.get("high", "")),
        done=str(cursor.get("done", "")),
    )


def read_channels(settings: Mapping[str, Any]) -> list[str]:
    """Return the followed channels as configured: ids or names."""
    told = settings.get("channels")
    text = (
        " ".join(map(str, told))
        if isinstance(told, Sequence) and not isinstance(told, str)
        else str(told or "")
    )
    return list(dict.fromkeys(_NAME.findall(text)))[:MOST_CHANNELS]


def build_poll(slack: Slack) -> Poll:
    """Build the poll."""

    async def read(
        ctx: CallContext, settings: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        names = read_channels(settings)
        if not names:
            return ItemBatch([], cursor, note="The connection names no channels to follow.")
        place = parse_cursor(cursor)
        if place.name not in names:
            place = replace(place, name=names[0], page=None, high="", done="")
        note = None
        try:
            items, note, place, done = await _look(ctx, slack, place)
        except (UpstreamError, NotFound) as problem:
            if problem.retryable:
                raise
            # A missing channel does not block the others.
            items, done = [UnreadableItem(f"slack:{place.name}", problem)], True
            place = replace(place, page=None, high="", done="")
        if not done:
            # After a rate limit the next poll continues.
            return ItemBatch(items, place.as_cursor(), more=not place.done, note=note)
        following = names[names.index(place.name) + 1 :]
        place = replace(place, name=following[0] if following else "", page=None, high="", done="")
        return ItemBatch(items, place.as_cursor(), more=bool(following), note=note)

    return Poll(
        "slack", "New messages in the channels that a connection follows.", read, needs="channels"
    )


async def _look(
    ctx: CallContext, slack: Slack, place: ChannelCursor
) -> tuple[list[Item | UnreadableItem], str | None, ChannelCursor, bool]:
    """Read a page of a channel; return its items, a note, and whether it was the last."""
    channel = place.ids.get(place.name) or await find_channel_id(ctx, slack, place.name)
    now, known = ctx.clock.now(), place.marks.get(channel)
    mark = known or format_ts(now - _FIRST_LOOK)
    page = await _page(ctx, slack, channel, mark, place.page)
    # A message dated in the future must not advance the cursor: later ones would be lost.
    said = [
        one
        for one in map(get_newest_ts, page.messages)
        if as_number(one) <= as_number(format_ts(now))
    ]
    high = max([place.high, mark, *said], key=as_number)
    fresh = [one for one in page.messages if _is_new(one, mark)]
    # Messages found by the first poll existed before, and are not published.
    read = await build_message_pages(
        ctx, slack, channel, fresh, known, after=place.done, stops=True
    )
    items, ids = read.items, {**place.ids, place.name: channel}
    if read.pause is not None:
        if not read.last:
            raise read.pause
        return items, read.note, replace(place, ids=ids, done=read.last), False
    if page.following is not None:
        then = replace(place, ids=ids, page=page.following, high=high, done="")
        return items, read.note, then, False
    marks = {**place.marks, channel: high}
    return items, read.note, replace(place, ids=ids, marks=marks, done=""), True


async def _page(
    ctx: CallContext, slack: Slack, channel: str, mark: str, page: str | None
) -> MessagePage:
    """Read a page; when the cursor expired, the channel is read from its last ts again."""
    oldest = subtract_day(mark)
    try:
        return await slack.history(ctx.http, channel, oldest=oldest, page=page)
    except UpstreamError as problem:
        if problem.code != "slack_invalid_cursor" or page is None:
            raise
    return await slack.history(ctx.http, channel, oldest=oldest)


def _is_new(message: Any, mark: str) -> bool:
    newest = get_newest_ts(message)
    return not newest or as_number(newest) > as_number(mark)


def subtract_day(mark: str) -> str:
    """Subtract a day from a ts."""
    seconds, _, rest = mark.partition(".")
    return f"{max(int(seconds) - int(_LOOK_BACK.total_seconds()), 0)}.{rest}"
