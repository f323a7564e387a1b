"""Chat messages that arrive: recorded once, with the answer that each of them gets.

It happens in the transaction that starts the runs of a message, so a message that is delivered
twice, or whose process is lost, starts one run and gets one answer.

A message that starts no run is answered by an agent when a linked member wrote it to their
Telegram bot. Somebody who is not linked gets one short note a day.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.chat import CHAT_EVENT
from mainspring.contracts.errors import Invalid, Problem
from mainspring.contracts.limits import Limits
from mainspring.definition.chat_triggers import CHAT_MESSAGE, NO_ANSWER
from mainspring.definition.filters import FilterIndex
from mainspring.definition.webhook_callers import BY_STEP
from mainspring.runs.dispatch import DispatchResult
from mainspring.runs.rows import FINAL
from mainspring.triggers.presets import listens_to
from mainspring.workspace import chats
from mainspring.workspace.chats import ReceivedMessage

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.event import Event
    from mainspring.runs.run_requests import RunRequest

# The provider whose private chats an agent answers.
_CONVERSES: Final = "telegram"
# Of one member in an hour.
MOST_CONVERSATIONS: Final = 30
_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)
# Of one bot in a day: strangers cannot make it write without end.
_MOST_NOTICES: Final = 50

WELCOME: Final = (
    "Ask about this workspace: its pages, boards, automations and runs. I can read, and change "
    "nothing. /forget deletes what I remember of this chat."
)
FORGOTTEN: Final = "This conversation is forgotten."
NOT_LINKED: Final = (
    "This bot answers a member of a Mainspring workspace, and this chat is not linked. If it is "
    "your bot, open Integrations → Telegram in Mainspring, choose Link chat, and press Start here."
)
TOO_MANY: Final = f"That is more than {MOST_CONVERSATIONS} questions in an hour. Ask again later."
ONLY_TEXT: Final = "I can only read text. Write your question."


def read_chat_event(event: Event) -> ReceivedMessage | None:
    """The message of an event; None for other events and for replays."""
    if not event.type.endswith(f".{CHAT_EVENT}") or event.replay_of is not None:
        return None
    return chats.read_message(event.workspace_id, event.payload)


def build_dedup_key(event: Event) -> str | None:
    """The key of the message, which its provider numbers; None for other events and replays."""
    message = read_chat_event(event)
    return None if message is None else message.key


async def record_chat_messages(
    tx: Transaction,
    events: Sequence[Event],
    fired: Sequence[tuple[RunRequest, DispatchResult | Problem]],
    answers: Mapping[UUID, str],
    limits: Limits,
) -> None:
    """Record the messages among these events and queue their answers.

    ``answers`` says for each chat trigger when it answers.
    """
    for event in events:
        message = read_chat_event(event)
        if message is None:
            continue
        row_id = await chats.record_message(tx, message)
        if row_id is None:
            continue
        started = [
            (request, result)
            for request, result in fired
            if request.trigger_type == CHAT_MESSAGE and request.key == message.key
        ]
        for request, result in started:
            if request.trigger_id is not None:
                answer = answers.get(request.trigger_id, NO_ANSWER)
                await _queue_run_answer(tx, message, request, result, answer)
        if not started and message.via == _CONVERSES and message.chat_kind == "private":
            await _answer_directly(tx, message, row_id, event.payload, limits)


async def _queue_run_answer(
    tx: Transaction,
    message: ReceivedMessage,
    request: RunRequest,
    result: DispatchResult | Problem,
    answer: str,
) -> None:
    if answer == NO_ANSWER:
        return
    if isinstance(result, Problem):
        await chats.queue_answer(tx, message, "notice", text=f"It did not start: {result.detail}")
        return
    if result.existed:
        return
    if result.status in FINAL:
        reason = (result.reason or result.status).replace("_", " ")
        await chats.queue_answer(tx, message, "notice", text=f"It did not start: {reason}.")
        return
    await chats.queue_answer(
        tx,
        message,
        "run",
        automation_id=request.automation_id,
        run_id=result.run_id,
        by_step=answer == BY_STEP,
    )


async def _answer_directly(
    tx: Transaction,
    message: ReceivedMessage,
    row_id: UUID,
    payload: Mapping[str, Any],
    limits: Limits,
) -> None:
    if message.member_id is None:
        _, here = await chats.count_recent(tx, message, _DAY)
        _, all_notices = await chats.count_recent(tx, message, _DAY, whole_bot=True)
        if not here and all_notices < _MOST_NOTICES:
            await chats.queue_answer(tx, message, "notice", text=NOT_LINKED)
        return
    notice = await _find_notice(tx, message, payload, limits)
    if notice is not None:
        await chats.queue_answer(tx, message, "notice", text=notice)
        return
    asked, _ = await chats.count_recent(tx, message, _HOUR)
    if asked < MOST_CONVERSATIONS:
        await chats.remember_text(tx, message, row_id)
        await chats.queue_answer(tx, message, "conversation")
    elif not await _is_told(tx, message):
        await chats.queue_answer(tx, message, "notice", text=TOO_MANY)


async def _is_told(tx: Transaction, message: ReceivedMessage) -> bool:
    """Whether there was a notice within the last minutes, so that it is not repeated each time."""
    _, notices = await chats.count_recent(tx, message, timedelta(minutes=10))
    return notices > 0


async def _find_notice(
    tx: Transaction, message: ReceivedMessage, payload: Mapping[str, Any], limits: Limits
) -> str | None:
    """The fixed answer to a command, or to a trigger of a paused automation."""
    paused = await _find_paused(tx, message, payload, limits)
    if paused is not None:
        return f"The automation {paused} is paused. Resume it, and write again."
    if message.command == "forget":
        await chats.forget_conversation(tx, message)
        return FORGOTTEN
    if message.command in ("start", "help"):
        return WELCOME
    return None if message.text.strip() else ONLY_TEXT


async def _find_paused(
    tx: Transaction, message: ReceivedMessage, payload: Mapping[str, Any], limits: Limits
) -> str | None:
    """The name of a paused automation that this command, mention or prefix is meant for."""
    for config, name in await chats.list_paused_triggers(tx, message.workspace_id):
        if not config.get("match"):
            # It would take every text, and hide the conversation while it is paused.
            continue
        index: FilterIndex[str] = FilterIndex(limits)
        event_type, filters = listens_to(CHAT_MESSAGE, config)
        try:
            index.add(name, event_type, filters)
        except Invalid:
            # Nothing matches an invalid filter, paused or not.
            continue
        if index.match(f"{message.via}.{CHAT_EVENT}", payload, {}):
            return name
    return None
