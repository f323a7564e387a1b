"""Chat messages and the answers to them, as rows.

One loop serves all workspaces, so the statements that claim answers cross them on purpose. An
answer is leased while it is composed. While a part of it is being sent, its state is ``sending``:
after a crash nobody knows whether the part arrived, so it is reported and never sent again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.chat import ChatPlace
from mainspring.contracts.ids import generate_id

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.contracts.errors import Problem

KEPT: Final = timedelta(days=7)
LEASE: Final = timedelta(minutes=5)
# What a conversation refers to; older messages of it are deleted.
MOST_REMEMBERED: Final = 20
LONGEST_REMEMBERED: Final = 4_000
TRIES: Final = 5

AnswerKind = Literal["run", "conversation", "notice"]

_COLUMNS: Final = """
    a.workspace_id, a.id, a.connection_id, a.via, a.chat_id, a.thread_id, a.reply_to, a.member_id,
    a.kind, a.automation_id, a.run_id, a.by_step, a.state, a.text, a.parts_sent, a.tries, a.lease,
    a.created_at
"""
_RECEIVE = """
    INSERT INTO chat_messages (workspace_id, id, connection_id, chat_id, message_id, member_id)
    SELECT $1, $2, c.id, $4, $5, $6 FROM integration_connections c
    WHERE c.workspace_id = $1 AND c.id = $3
    ON CONFLICT DO NOTHING RETURNING id
"""
_REMEMBER = "UPDATE chat_messages SET text = $3 WHERE workspace_id = $1 AND id = $2"
_REPLIED = """
    INSERT INTO chat_messages (workspace_id, id, connection_id, chat_id, member_id, text)
    VALUES ($1, $2, $3, $4, $5, $6)
"""
_TRIM = """
    UPDATE chat_messages SET text = NULL
    WHERE workspace_id = $1 AND connection_id = $2 AND chat_id = $3 AND text IS NOT NULL
      AND id NOT IN (
        SELECT id FROM chat_messages
        WHERE workspace_id = $1 AND connection_id = $2 AND chat_id = $3 AND text IS NOT NULL
        ORDER BY id DESC LIMIT $4)
"""
_HISTORY = """
    SELECT message_id IS NULL AS ours, text FROM chat_messages
    WHERE workspace_id = $1 AND connection_id = $2 AND chat_id = $3 AND text IS NOT NULL
      AND member_id = $4 AND at > now() - $5::interval
    ORDER BY id DESC LIMIT $6
"""
_FORGET = """
    UPDATE chat_messages SET text = NULL
    WHERE workspace_id = $1 AND connection_id = $2 AND chat_id = $3 AND text IS NOT NULL
"""
_ADD = """
    INSERT INTO chat_answers (workspace_id, id, connection_id, via, chat_id, thread_id, reply_to,
        member_id, kind, automation_id, run_id, by_step, state, text)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
_RECENT = """
    SELECT count(*) FILTER (WHERE kind = 'conversation') AS conversations,
        count(*) FILTER (WHERE kind = 'notice') AS notices
    FROM chat_answers
    WHERE workspace_id = $1 AND connection_id = $2
      AND ($3::text IS NULL OR chat_id = $3) AND ($4::uuid IS NULL OR member_id = $4)
      AND created_at > now() - $5::interval
"""
_WAITING = f"""
    SELECT {_COLUMNS}, m.name AS automation
    FROM chat_answers a
    JOIN runs r ON r.workspace_id = a.workspace_id AND r.id = a.run_id
    JOIN automations m ON m.workspace_id = a.workspace_id AND m.id = a.automation_id
    WHERE a.state = 'waiting' AND (r.finished_at IS NOT NULL OR a.by_step)
    ORDER BY a.next_at LIMIT $1
"""
_COMPOSED = """
    UPDATE chat_answers SET state = CASE WHEN $3::text IS NULL THEN 'sent' ELSE 'due' END,
        finished_at = CASE WHEN $3::text IS NULL THEN now() END, text = $3, next_at = now()
    WHERE workspace_id = $1 AND id = $2 AND state = 'waiting'
"""
_LATER = """
    UPDATE chat_answers SET next_at = now()
    WHERE workspace_id = $1 AND id = $2 AND state = 'waiting'
"""
# Answers in one chat are sent in the order of their messages.
_CLAIM = f"""
    WITH due AS (
        SELECT a.workspace_id, a.id FROM chat_answers a
        WHERE a.state = 'due' AND a.next_at <= now()
          AND (a.leased_until IS NULL OR a.leased_until <= now())
          AND NOT EXISTS (
            SELECT 1 FROM chat_answers b
            WHERE b.workspace_id = a.workspace_id AND b.connection_id = a.connection_id
              AND b.chat_id = a.chat_id AND b.id < a.id AND b.state IN ('due', 'sending'))
        ORDER BY a.next_at LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    UPDATE chat_answers a SET lease = $2, leased_until = now() + $3::interval
    FROM due d WHERE a.workspace_id = d.workspace_id AND a.id = d.id
    RETURNING {_COLUMNS}
"""
# The process that was sending it is gone.
_LOST = f"""
    UPDATE chat_answers a SET state = 'unknown', finished_at = now(), lease = NULL
    WHERE a.state = 'sending' AND a.leased_until <= now()
    RETURNING {_COLUMNS}
"""
_OWN = " WHERE workspace_id = $1 AND id = $2 AND lease = $3"
_TEXT = f"UPDATE chat_answers SET text = $4{_OWN} AND state = 'due' RETURNING id"
_SENDING = f"""
    UPDATE chat_answers SET state = 'sending', leased_until = now() + interval '5 minutes'{_OWN}
      AND state = 'due' RETURNING id
"""
_PART = f"""
    UPDATE chat_answers SET parts_sent = parts_sent + 1, tries = 0,
        state = CASE WHEN $4 THEN 'sent' ELSE 'due' END,
        finished_at = CASE WHEN $4 THEN now() END{_OWN} AND state = 'sending'
"""
_RETRY = f"""
    UPDATE chat_answers SET state = 'due', tries = tries + 1, lease = NULL, leased_until = NULL,
        next_at = now() + $4::interval, problem = $5{_OWN}
"""
_END = f"""
    UPDATE chat_answers SET state = $4, problem = $5, finished_at = now(), lease = NULL{_OWN}
"""
_EXPIRE = (
    "DELETE FROM chat_answers WHERE created_at < now() - $1::interval",
    "DELETE FROM chat_messages WHERE at < now() - $1::interval",
)
_PAUSED = """
    SELECT t.config, a.name FROM triggers t
    JOIN automations a ON a.workspace_id = t.workspace_id AND a.id = t.automation_id
    WHERE t.workspace_id = $1 AND t.type = 'chat_message' AND a.state = 'paused'
    ORDER BY a.name LIMIT 200
"""


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message as its event reports it."""

    workspace_id: UUID
    connection_id: UUID
    via: str
    chat_id: str
    chat_kind: str
    thread_id: str | None
    message_id: str
    text: str
    command: str | None
    member_id: UUID | None

    @property
    def key(self) -> str:
        """The dedup key of the message and a trigger."""
        # An event set it off, and the firings of events have an index.
        return f"event:chat:{self.connection_id}:{self.chat_id}:{self.message_id}"


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """An answer that waits, is sent or was sent."""

    workspace_id: UUID
    id: UUID
    connection_id: UUID
    via: str
    chat_id: str
    thread_id: str | None
    reply_to: str | None
    member_id: UUID | None
    kind: AnswerKind
    automation_id: UUID | None
    run_id: UUID | None
    by_step: bool
    state: str
    text: str | None
    parts_sent: int
    tries: int
    lease: UUID | None
    created_at: datetime

    @property
    def place(self) -> ChatPlace:
        return ChatPlace(self.chat_id, self.thread_id, self.reply_to)


def read_message(workspace_id: UUID, payload: Mapping[str, Any]) -> ReceivedMessage | None:
    """The message of an event; None when the payload is not one of ours."""
    try:
        chat, sender = payload["chat"], payload["sender"]
        member = sender.get("member_id")
        return ReceivedMessage(
            workspace_id,
            UUID(payload["connection_id"]),
            str(payload["via"]),
            str(chat["id"]),
            str(chat["kind"]),
            payload.get("thread_id"),
            str(payload["message_id"]),
            str(payload["text"]),
            payload.get("command"),
            None if member is None else UUID(member),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


async def record_message(tx: Transaction, message: ReceivedMessage) -> UUID | None:
    """Record a message; None when it was recorded before or its connection is gone."""
    row = await tx.fetchrow(
        _RECEIVE,
        message.workspace_id,
        generate_id(),
        message.connection_id,
        message.chat_id,
        message.message_id,
        message.member_id,
    )
    return None if row is None else row["id"]


async def remember_text(tx: Transaction, message: ReceivedMessage, row_id: UUID) -> None:
    """Keep the text of a message for the conversation, which has a limited length."""
    text = message.text[:LONGEST_REMEMBERED]
    await tx.execute(_REMEMBER, message.workspace_id, row_id, text)
    await _trim(tx, message.workspace_id, message.connection_id, message.chat_id)


async def remember_answer(tx: Transaction, answer: ChatAnswer, text: str) -> None:
    await tx.execute(
        _REPLIED,
        answer.workspace_id,
        generate_id(),
        answer.connection_id,
        answer.chat_id,
        answer.member_id,
        text[:LONGEST_REMEMBERED],
    )
    await _trim(tx, answer.workspace_id, answer.connection_id, answer.chat_id)


async def _trim(tx: Transaction, workspace_id: UUID, connection_id: UUID, chat_id: str) -> None:
    await tx.execute(_TRIM, workspace_id, connection_id, chat_id, MOST_REMEMBERED)


async def read_history(tx: Transaction, answer: ChatAnswer) -> list[tuple[bool, str]]:
    """The last messages of a conversation, oldest first, and whether each is ours."""
    rows = await tx.fetch(
        _HISTORY,
        answer.workspace_id,
        answer.connection_id,
        answer.chat_id,
        answer.member_id,
        KEPT,
        MOST_REMEMBERED,
    )
    return [(row["ours"], row["text"]) for row in reversed(rows)]


async def forget_conversation(tx: Transaction, message: ReceivedMessage) -> None:
    await tx.execute(_FORGET, message.workspace_id, message.connection_id, message.chat_id)


async def queue_answer(
    tx: Transaction,
    message: ReceivedMessage,
    kind: AnswerKind,
    *,
    text: str | None = None,
    automation_id: UUID | None = None,
    run_id: UUID | None = None,
    by_step: bool = False,
) -> None:
    """Queue the answer to a message, in the transaction that recorded it."""
    await tx.execute(
        _ADD,
        message.workspace_id,
        generate_id(),
        message.connection_id,
        message.via,
        message.chat_id,
        message.thread_id,
        message.message_id,
        message.member_id,
        kind,
        automation_id,
        run_id,
        by_step,
        "waiting" if kind == "run" else "due",
        text,
    )


async def count_recent(
    tx: Transaction,
    message: ReceivedMessage,
    within: timedelta,
    *,
    whole_bot: bool = False,
) -> tuple[int, int]:
    """How many conversations and notices there were lately, of a member or in a chat."""
    row = await tx.fetchrow(
        _RECENT,
        message.workspace_id,
        message.connection_id,
        None if whole_bot else message.chat_id,
        None if whole_bot else message.member_id,
        within,
    )
    assert row is not None
    return row["conversations"], row["notices"]


async def list_paused_triggers(
    tx: Transaction, workspace_id: UUID
) -> list[tuple[Mapping[str, Any], str]]:
    """The chat triggers of paused automations, each with the name of its automation."""
    return [(row["config"], row["name"]) for row in await tx.fetch(_PAUSED, workspace_id)]


async def list_waiting(tx: Transaction, most: int) -> list[tuple[ChatAnswer, str]]:
    """Answers whose run may have come to one, each with the name of its automation."""
    found = []
    for row in await tx.fetch(_WAITING, most):
        values = dict(row)
        name = str(values.pop("automation"))
        found.append((_build(values), name))
    return found


async def set_composed(tx: Transaction, answer: ChatAnswer, text: str | None) -> None:
    """The run of an answer has ended: the text to be sent, None for nothing."""
    await tx.execute(_COMPOSED, answer.workspace_id, answer.id, text)


async def look_later(tx: Transaction, answer: ChatAnswer) -> None:
    await tx.execute(_LATER, answer.workspace_id, answer.id)


async def claim_answers(tx: Transaction, most: int, lease: timedelta) -> list[ChatAnswer]:
    """Answers to be sent, leased to the caller."""
    return [_build(row) for row in await tx.fetch(_CLAIM, most, generate_id(), lease)]


async def end_lost(tx: Transaction) -> list[ChatAnswer]:
    """Answers whose process was lost while it sent them: whether they arrived is unknown."""
    return [_build(row) for row in await tx.fetch(_LOST)]


async def store_text(tx: Transaction, answer: ChatAnswer, text: str) -> bool:
    return await tx.fetchrow(_TEXT, *_own(answer), text) is not None


async def begin_part(tx: Transaction, answer: ChatAnswer) -> bool:
    """Commit this before the part is sent; False when the lease is not the caller's any more."""
    return await tx.fetchrow(_SENDING, *_own(answer)) is not None


async def end_part(tx: Transaction, answer: ChatAnswer, *, last: bool) -> None:
    await tx.execute(_PART, *_own(answer), last)


async def retry_answer(
    tx: Transaction, answer: ChatAnswer, pause: timedelta, problem: Problem
) -> None:
    """Nothing was sent, and it is tried again after a pause."""
    await tx.execute(_RETRY, *_own(answer), pause, problem.as_dict())


async def end_answer(
    tx: Transaction, answer: ChatAnswer, state: Literal["unknown", "failed"], problem: Problem
) -> None:
    await tx.execute(_END, *_own(answer), state, problem.as_dict())


async def delete_expired(tx: Transaction) -> None:
    """Delete what is older than a conversation is remembered."""
    for statement in _EXPIRE:
        await tx.execute(statement, KEPT)


def _own(answer: ChatAnswer) -> Sequence[Any]:
    return answer.workspace_id, answer.id, answer.lease


def _build(row: Any) -> ChatAnswer:
    return ChatAnswer(**dict(row))
