"""Mapping a channel's messages to pages, with threads and user names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from mainspring.contracts.context import CallContext
from mainspring.contracts.errors import UpstreamError
from mainspring.contracts.integration import Item, UnreadableItem
from mainspring.contracts.partial_results import read_one
from mainspring.integrations.slack.client import PAUSES, Slack
from mainspring.integrations.slack.messages import (
    as_number,
    build_message_item,
    is_page_start,
    is_ts,
    is_written,
    list_people,
)

# The limit of user lookups per batch; further users are shown by id.
MOST_NAMES: Final = 40
# A single unreadable user or thread does not block the others.
_PASSED_OVER: Final = frozenset({"slack_user_not_found", "slack_user_not_visible"})
_LATER: Final = "Slack asks for a pause: the rest follows with the next look."
_HELD_BACK: Final = "Slack asks for a pause: the answers of some threads were not read."
_CUT: Final = "Slack asks for a pause: of some threads only the first answers were read."
_LOST_THREAD: Final = frozenset({"slack_thread_not_found", "slack_message_not_found"})


@dataclass(frozen=True, slots=True)
class MessageBatch:
    """The result of mapping a page of messages."""

    items: list[Item | UnreadableItem]
    note: str | None = None
    # The rate limit that ended it early, and the ts of the last processed message.
    pause: UpstreamError | None = None
    last: str = ""


async def build_message_pages(
    ctx: CallContext,
    slack: Slack,
    channel: str,
    messages: Sequence[Any],
    told_after: str | None,
    *,
    after: str = "",
    stops: bool = False,
) -> MessageBatch:
    """Map top-level messages to pages, oldest first, each with its thread.

    Messages newer than ``told_after`` are published as events; None: none are. Only messages newer
    than ``after`` are read. On a rate limit before a thread, processing ends there if ``stops``;
    otherwise the rest is mapped without replies, and existing pages keep theirs.
    """
    names: dict[str, str] = {}
    found: list[Item | UnreadableItem] = []
    note, last, paused = None, "", False
    for one in reversed(messages):
        ts = _ts(one)
        read_before = after and ts and as_number(ts) <= as_number(after)
        if read_before or not is_written(one) or not is_page_start(one):
            continue
        replies: Sequence[Mapping[str, Any]] = []
        held_back = paused and _has_thread(one)
        if _has_thread(one) and not paused:
            try:
                replies, whole = await _replies(ctx, slack, channel, ts)
                note = note if whole else _CUT
            except UpstreamError as problem:
                if problem.code not in PAUSES:
                    raise
                if stops:
                    return MessageBatch(found, _LATER, problem, last)
                held_back, paused, note = True, True, _HELD_BACK
        if isinstance(one, Mapping):
            await _learn(ctx, slack, [one, *replies], names)
        ref = f"slack:{channel}:unreadable"
        item = read_one(ref, partial(build_message_item, channel, one, replies, names, told_after))
        kept = replace(item, keeps_body=True) if held_back and isinstance(item, Item) else item
        found.append(kept)
        last = ts or last
    return MessageBatch(found, note)


def _ts(message: Any) -> str:
    """Return a message's ts; empty when it has none."""
    ts = message.get("ts") if isinstance(message, Mapping) else None
    return ts if isinstance(ts, str) and is_ts(ts) else ""


def _has_thread(message: Any) -> bool:
    return bool(_ts(message)) and bool(message.get("reply_count"))


async def _replies(
    ctx: CallContext, slack: Slack, channel: str, ts: str
) -> tuple[Sequence[Mapping[str, Any]], bool]:
    try:
        return await slack.replies(ctx.http, channel, ts)
    except UpstreamError as problem:
        if problem.code in _LOST_THREAD:
            return [], True
        raise


async def _learn(
    ctx: CallContext, slack: Slack, messages: Sequence[Mapping[str, Any]], names: dict[str, str]
) -> None:
    for user in list_people(messages):
        if user in names or len(names) >= MOST_NAMES:
            continue
        try:
            names[user] = await slack.user_name(ctx.http, user)
        except UpstreamError as problem:
            if problem.code not in _PASSED_OVER:
                raise
            names[user] = user
