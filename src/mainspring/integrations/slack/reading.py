"""Messages of a channel read into pages: their threads, and what the people are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import Upstream
from mainspring.contracts.integration import Broken, Item
from mainspring.contracts.one_by_one import read_one
from mainspring.integrations.slack.client import Slack
from mainspring.integrations.slack.messages import (
    begins_page,
    is_ts,
    is_written,
    item_of,
    people_in,
)

# As many people as are asked for in one portion; further ones are shown by their ids.
MOST_NAMES: Final = 40
# One person or one thread that cannot be read does not hold up the others.
_PASSED_OVER: Final = frozenset({"slack_user_not_found", "slack_user_not_visible"})
_LOST_THREAD: Final = frozenset({"slack_thread_not_found", "slack_message_not_found"})


async def pages_of(
    ctx: CallContext, slack: Slack, channel: str, messages: Sequence[Any], told_after: str | None
) -> list[Item | Broken]:
    """The messages that are pages of their own, oldest first, each with its thread.

    Those that are newer than ``told_after`` are told; None: none of them.
    """
    names: dict[str, str] = {}
    found: list[Item | Broken] = []
    for one in reversed(messages):
        if not is_written(one) or not begins_page(one):
            continue
        replies = await _replies(ctx, slack, channel, one)
        if isinstance(one, Mapping):
            await _learn(ctx, slack, [one, *replies], names)
        ref = f"slack:{channel}:unreadable"
        found.append(read_one(ref, partial(item_of, channel, one, replies, names, told_after)))
    return found


async def _replies(
    ctx: CallContext, slack: Slack, channel: str, message: Any
) -> list[Mapping[str, Any]]:
    if not isinstance(message, Mapping) or not message.get("reply_count"):
        return []
    ts = message.get("ts")
    if not isinstance(ts, str) or not is_ts(ts):
        return []
    try:
        return await slack.replies(ctx.http, channel, ts)
    except Upstream as problem:
        if problem.code in _LOST_THREAD:
            return []
        raise


async def _learn(
    ctx: CallContext, slack: Slack, messages: Sequence[Mapping[str, Any]], names: dict[str, str]
) -> None:
    for user in people_in(messages):
        if user in names or len(names) >= MOST_NAMES:
            continue
        try:
            names[user] = await slack.user_name(ctx.http, user)
        except Upstream as problem:
            if problem.code not in _PASSED_OVER:
                raise
            names[user] = user
