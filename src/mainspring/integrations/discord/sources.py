"""Discord source and poll: messages of channels, by id.

Ids increase with time, so the last read id is a channel's only cursor, and it never expires.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import (
    Finding,
    Invalid,
    NotFound,
    PermissionDenied,
    ReconnectRequired,
)
from mainspring.contracts.integration import (
    MOST_FETCHED,
    Item,
    ItemBatch,
    Poll,
    Source,
    UnreadableItem,
)
from mainspring.contracts.partial_results import read_one
from mainspring.integrations.discord.client import PAGE, Discord, is_id
from mainspring.integrations.discord.messages import (
    build_id_at,
    build_message_item,
    is_silent,
    is_written,
)

MOST_CHANNELS: Final = 50
_USUAL: Final = 100
_FIRST_LOOK: Final = timedelta(days=7)
# On demand, only recent messages are published as events.
_FRESH: Final = timedelta(hours=1)
# Tolerance for clock differences.
_AHEAD: Final = timedelta(minutes=5)
_AN_ID: Final = re.compile(r"(?<![0-9])[0-9]{15,20}(?![0-9])")
_UNSEEN: Final = (
    "Discord showed no text of these messages: switch on the Message Content intent of the bot."
)
ID_SCHEMA: Final[dict[str, Any]] = {
    "type": "string",
    "pattern": r"^[0-9]{15,20}$",
    "x-mainspring-says": "This must be an id of Discord, such as 1100000000000000001.",
}
INPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["channel_id"],
    "properties": {
        "channel_id": ID_SCHEMA,
        "after": {**ID_SCHEMA, "description": "Only messages after the one with this id."},
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FETCHED, "default": _USUAL},
    },
    "examples": [
        {"channel_id": "1100000000000000001"},
        {"channel_id": "1100000000000000001", "after": "1100000000000000900", "limit": 20},
    ],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "of which channel?"},
        {"value": {"channel_id": "#general"}, "reason": "Discord names channels by ids"},
        {"value": {"channel_id": 1100000000000000001}, "reason": "an id is text"},
        {"value": {"channel_id": "1100000000000000001", "limit": 0}, "reason": "nothing to read"},
    ],
}


def build_source(discord: Discord) -> Source:
    """Build the source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        before = cursor or {}
        channel, limit = given["channel_id"], int(given.get("limit", _USUAL))
        taken, forward = int(before.get("taken", 0)), "after" in given
        place = str(before.get("at", given.get("after", "")))
        way = {"after": place} if forward else {"before": place}
        found = await discord.messages(ctx.http, channel, **way)
        fresh = build_id_at(ctx.clock.now() - _FRESH)
        kept = _pages(channel, found, fresh, newest_first=not forward)[: limit - taken]
        ids = _ids(found)
        taken += len(kept)
        more = len(found) == PAGE and bool(ids) and taken < limit
        going_on = {"at": str((max if forward else min)(ids, default=0)), "taken": taken}
        return ItemBatch(kept, going_on if more else None, more, _note(found))

    return Source("discord", INPUT, read, parse_request)


def build_poll(discord: Discord) -> Poll:
    """Build the poll."""

    async def read(
        ctx: CallContext, settings: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        channels = read_channels(settings)
        if not channels:
            return ItemBatch([], cursor, note="The connection names no channels to follow.")
        before = dict(cursor or {})
        marks = {str(key): one for key, one in dict(before.get("marks", {})).items()}
        channel = before.get("channel")
        channel = channel if channel in channels else channels[0]
        now = ctx.clock.now()
        # Messages found by the first poll existed before, and are not published.
        began = {key: one for key, one in dict(before.get("began", {})).items() if key in channels}
        if channel not in marks:
            began[channel] = build_id_at(now)
        mark = str(marks.get(channel) or build_id_at(now - _FIRST_LOOK))
        items, found = await _read_channel(
            ctx, discord, channel, mark, str(began.get(channel, mark))
        )
        # A message dated in the future must not advance the cursor: later ones would be lost.
        past = [one for one in _ids(found) if one <= int(build_id_at(now + _AHEAD))]
        marks[channel] = str(max([int(mark), *past]))
        rest = channels[channels.index(channel) + 1 :]
        again = len(found) == PAGE and marks[channel] != mark
        following = channel if again else rest[0] if rest else ""
        going_on = {"marks": marks, "channel": following, "began": began}
        return ItemBatch(items, going_on, bool(following), _note(found))

    return Poll(
        "discord", "New messages in the channels that a connection follows.", read, needs="channels"
    )


def read_channels(settings: Mapping[str, Any]) -> list[str]:
    """Return the channel ids that a connection follows."""
    told = settings.get("channels")
    listed = isinstance(told, Sequence) and not isinstance(told, str)
    text = " ".join(map(str, told)) if listed and told else str(told or "")
    return list(dict.fromkeys(_AN_ID.findall(text)))[:MOST_CHANNELS]


def parse_request(request: str, at: datetime) -> Mapping[str, Any]:
    """Parse the channel id of a sentence."""
    del at
    found = _AN_ID.search(request)
    if found is None:
        detail = "The request names no channel of Discord."
        raise Invalid(
            detail,
            code="discord_channel_needed",
            findings=[
                Finding(
                    "/request",
                    detail,
                    "discord_channel_needed",
                    "Write the channel's id, such as 1100000000000000001.",
                )
            ],
        )
    return {"channel_id": found[0]}


async def _read_channel(
    ctx: CallContext, discord: Discord, channel: str, mark: str, told_after: str
) -> tuple[Sequence[Item | UnreadableItem], list[Any]]:
    """Read a channel's next messages; an inaccessible channel does not block the others."""
    try:
        found = await discord.messages(ctx.http, channel, after=mark)
    except ReconnectRequired:
        raise
    except (PermissionDenied, NotFound) as problem:
        return [UnreadableItem(f"discord:{channel}", problem)], []
    return _pages(channel, found, told_after, newest_first=False), found


def _pages(
    channel: str, found: Sequence[Any], told_after: str, *, newest_first: bool
) -> list[Item | UnreadableItem]:
    """Order messages: Discord returns the newest first in either direction."""
    ordered = found if newest_first else list(reversed(found))
    ref = f"discord:{channel}:unreadable"
    return [
        read_one(ref, partial(build_message_item, channel, one, told_after))
        for one in ordered
        if is_written(one)
    ]


def _ids(found: Sequence[Any]) -> list[int]:
    return [int(one["id"]) for one in found if isinstance(one, Mapping) and is_id(one.get("id"))]


def _note(found: Sequence[Any]) -> str | None:
    written = [one for one in found if is_written(one)]
    return _UNSEEN if written and all(map(is_silent, written)) else None
