"""On-demand source: the messages of one channel, newest first, up to a limit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Finding, Invalid
from mainspring.contracts.integration import MOST_FETCHED, Item, ItemBatch, Source, UnreadableItem
from mainspring.integrations.slack.client import Slack
from mainspring.integrations.slack.message_pages import build_message_pages
from mainspring.integrations.slack.messages import format_ts

_USUAL: Final = 100
# On demand, only recent messages are published as events.
_FRESH: Final = timedelta(hours=1)
CHANNEL_ID: Final = re.compile(r"[CGD][A-Z0-9]{2,20}")
_NAMED: Final = re.compile(r"#([\w-]{1,80})")
_QUOTED: Final = re.compile(r"[\"“]([^\"“”]{1,200})[\"”]")
_SINCE: Final = re.compile(r"\bsince\s+(\d{4}-\d{2}-\d{2})\b", re.IGNORECASE)
_LAST: Final = re.compile(r"\b(?:last|past)\s+(\d{1,4})?\s*(hour|day|week)s?\b", re.IGNORECASE)
_SPANS: Final = {"hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1)}

INPUT: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "additionalProperties": False,
    "required": ["channel"],
    "properties": {
        "channel": {
            "type": "string",
            "description": "Channel id (such as C0123456789) or #name.",
            "maxLength": 81,
            "pattern": r"^#?[^\s#]+$",
            "x-mainspring-says": "This must be the channel's id, or #name.",
        },
        "since": {
            "type": "string",
            "format": "date-time",
            "description": "Only messages that are newer, such as 2026-08-01T00:00:00Z.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": MOST_FETCHED, "default": _USUAL},
        "query": {
            "type": "string",
            "description": "Only conversations that contain this text, in any case.",
            "minLength": 1,
            "maxLength": 200,
        },
    },
    "examples": [
        {"channel": "C0123456789", "limit": 50},
        {"channel": "#general", "since": "2026-08-01T00:00:00Z", "query": "invoice"},
    ],
    "x-mainspring-anti-examples": [
        {"value": {}, "reason": "of which channel?"},
        {"value": {"channel": "my channel"}, "reason": "a channel has no spaces"},
        {"value": {"channel": "C0123", "limit": 1000}, "reason": "more than one call brings"},
        {
            "value": {"channel": "C0123", "since": "yesterday"},
            "reason": "a date and time, not a word",
        },
    ],
}


def build_source(slack: Slack) -> Source:
    """Build the source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        before = cursor or {}
        channel = before.get("channel") or await find_channel_id(ctx, slack, given["channel"])
        taken, limit = int(before.get("taken", 0)), int(given.get("limit", _USUAL))
        page = await slack.history(
            ctx.http, channel, oldest=_oldest(given), page=before.get("page")
        )
        fresh = format_ts(ctx.clock.now() - _FRESH)
        read = await build_message_pages(ctx, slack, channel, page.messages, fresh)
        kept = [one for one in reversed(read.items) if _matches(one, given.get("query"))]
        kept = kept[: limit - taken]
        taken += len(kept)
        more = page.following is not None and taken < limit
        going_on = {"channel": channel, "page": page.following, "taken": taken}
        return ItemBatch(kept, going_on if more else None, more, read.note)

    return Source("slack", INPUT, read, parse_request)


async def find_channel_id(ctx: CallContext, slack: Slack, channel: str) -> str:
    """Return the id of a channel given by id or name."""
    if CHANNEL_ID.fullmatch(channel):
        return channel
    return await slack.find_channel(ctx.http, channel.removeprefix("#"))


def parse_request(request: str, at: datetime) -> Mapping[str, Any]:
    """Parse channel, time and words from a sentence such as: #general since yesterday."""
    named = _NAMED.search(request)
    known = CHANNEL_ID.search(request)
    if named is None and known is None:
        detail = "The request names no channel."
        raise Invalid(
            detail,
            code="slack_channel_needed",
            findings=[
                Finding(
                    "/request",
                    detail,
                    "slack_channel_needed",
                    "Write it with its sign, such as: #general since yesterday.",
                )
            ],
        )
    body: dict[str, Any] = {"channel": named[0] if named else known[0] if known else ""}
    since = _parse_since(request, at)
    if since is not None:
        body["since"] = since.isoformat()
    quoted = _QUOTED.search(request)
    if quoted:
        body["query"] = quoted[1]
    return body


def _parse_since(request: str, at: datetime) -> datetime | None:
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    words = request.lower()
    if found := _SINCE.search(request):
        try:
            return datetime.fromisoformat(found[1]).replace(tzinfo=UTC)
        except ValueError:
            return None
    if found := _LAST.search(request):
        return at.astimezone(UTC) - int(found[1] or 1) * _SPANS[found[2].lower()]
    if "yesterday" in words:
        return day - timedelta(days=1)
    return day if "today" in words else None


def _oldest(arguments: Mapping[str, Any]) -> str:
    since = arguments.get("since")
    return f"{datetime.fromisoformat(since).timestamp():.6f}" if since else ""


def _matches(one: Item | UnreadableItem, query: str | None) -> bool:
    if query is None or isinstance(one, UnreadableItem):
        return True
    return query.casefold() in f"{one.title}\n{one.body}".casefold()
