"""Push subscriptions: the browsers that a person gets notifications on, and the messages to them.

A subscription belongs to a person, and to the session that turned it on. Signing out removes it,
as do a new password and a disabled account. A session that only ran out leaves it: a phone that
nobody opened for a week still shows that an automation failed.

Messages are an outbox. One goes to the people who may answer it, see ``prompt_recipients``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from mainspring.contracts.errors import Conflict, NotFound
from mainspring.contracts.ids import generate_id
from mainspring.contracts.roles import Permission
from mainspring.store.batch_delete import delete_in_batches
from mainspring.workspace.prompt_recipients import build_recipients_join

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

Kind = Literal["drafts", "questions", "failures"]
KINDS: Final[tuple[Kind, ...]] = ("drafts", "questions", "failures")
MOST_SUBSCRIPTIONS: Final = 20
TRIES: Final = 6

_COLUMNS = "id, session_id, label, endpoint, kinds, created_at, sent_at, problem"
_LIST = f"SELECT {_COLUMNS} FROM push_subscriptions WHERE user_id = $1 ORDER BY id"
_TARGET = """
    SELECT id, endpoint, p256dh, auth FROM push_subscriptions WHERE user_id = $1 AND id = $2
"""
_HOLD = "SELECT pg_advisory_xact_lock(hashtextextended('push ' || $1, 0))"
_COUNT = "SELECT count(*) AS number FROM push_subscriptions WHERE user_id = $1 AND endpoint <> $2"
# The same address with the same keys is the same browser, even if another person uses it now.
# With other keys it is somebody who has learned the address of another's browser.
_SAVE = f"""
    INSERT INTO push_subscriptions AS s
        (id, user_id, session_id, label, endpoint, p256dh, auth, kinds)
    VALUES ($1, $2, $3, $4, $5, $6, $7, coalesce($8::text[], $9::text[]))
    ON CONFLICT (endpoint) DO UPDATE
        SET user_id = excluded.user_id, session_id = excluded.session_id, label = excluded.label,
            kinds = CASE WHEN s.user_id = excluded.user_id THEN coalesce($8::text[], s.kinds)
                ELSE excluded.kinds END,
            since = CASE WHEN s.user_id = excluded.user_id THEN s.since ELSE now() END,
            problem = NULL
        WHERE s.auth = excluded.auth AND s.p256dh = excluded.p256dh
    RETURNING {_COLUMNS}
"""
_SET_KINDS = f"""
    UPDATE push_subscriptions SET kinds = $3, since = now() WHERE user_id = $1 AND id = $2
    RETURNING {_COLUMNS}
"""
_REMOVE = "DELETE FROM push_subscriptions WHERE user_id = $1 AND id = $2 RETURNING id"
_REMOVE_GONE = "DELETE FROM push_subscriptions WHERE id = $1 AND endpoint = $2"
_END_SESSION = "DELETE FROM push_subscriptions WHERE user_id = $1 AND session_id = $2"
_END_OTHERS = "DELETE FROM push_subscriptions WHERE user_id = $1 AND session_id <> $2"
_MOVE = "UPDATE push_subscriptions SET session_id = $3 WHERE user_id = $1 AND session_id = $2"

_DELIVERABLE = """EXISTS (SELECT FROM members m
            JOIN users u ON u.id = m.user_id AND u.disabled_at IS NULL
            WHERE m.workspace_id = {space} AND m.user_id = s.user_id)"""
_ANY = "SELECT EXISTS (SELECT FROM push_subscriptions) AS there"
_QUESTION_RECIPIENTS = build_recipients_join("a.workspace_id", "a.created_by", roles="q.roles")
_CONSENT_RECIPIENTS = build_recipients_join(
    "a.workspace_id", "a.created_by", permission=Permission.EDIT
)
# A failure asks for nothing, so a viewer is notified of it too.
_FAILURE_RECIPIENTS = build_recipients_join(
    "a.workspace_id", "a.created_by", permission=Permission.READ
)
_DRAFT_RECIPIENTS = build_recipients_join(
    "d.workspace_id", "coalesce(a.created_by, d.actor_id)", own_call="d.automation_id IS NULL"
)
_QUEUE_DRAFTS = f"""
    INSERT INTO push_messages (workspace_id, id, subscription_id, about, about_id, automation_id,
        run_id, expires_at)
    SELECT d.workspace_id, uuidv7(), s.id, 'draft', d.id, d.automation_id, d.run_id, d.expires_at
    FROM drafts d
    LEFT JOIN automations a ON a.workspace_id = d.workspace_id AND a.id = d.automation_id
    {_DRAFT_RECIPIENTS}
    JOIN push_subscriptions s ON s.user_id = r.user_id
    WHERE d.status = 'pending' AND d.expires_at > now() AND d.created_at >= s.since
      AND 'drafts' = ANY(s.kinds)
      AND NOT EXISTS (SELECT FROM push_messages p
          WHERE p.subscription_id = s.id AND p.about_id = d.id)
    ON CONFLICT DO NOTHING
"""
_QUEUE_QUESTIONS = f"""
    INSERT INTO push_messages (workspace_id, id, subscription_id, about, about_id, automation_id,
        run_id, expires_at)
    SELECT q.workspace_id, uuidv7(), s.id, 'question', q.id, q.automation_id, q.run_id, q.expires_at
    FROM approvals q
    JOIN automations a ON a.workspace_id = q.workspace_id AND a.id = q.automation_id
    {_QUESTION_RECIPIENTS}
    JOIN push_subscriptions s ON s.user_id = r.user_id
    WHERE q.status = 'pending' AND q.expires_at > now() AND q.created_at >= s.since
      AND 'questions' = ANY(s.kinds)
      AND NOT EXISTS (SELECT FROM push_messages p
          WHERE p.subscription_id = s.id AND p.about_id = q.id)
    ON CONFLICT DO NOTHING
"""
# A person who asks for more on the page is asked there.
_QUEUE_CONSENTS = f"""
    INSERT INTO push_messages (workspace_id, id, subscription_id, about, about_id, automation_id,
        expires_at)
    SELECT c.workspace_id, uuidv7(), s.id, 'consent', c.id, c.automation_id,
        c.created_at + interval '7 days'
    FROM consents c
    JOIN automations a ON a.workspace_id = c.workspace_id AND a.id = c.automation_id
    {_CONSENT_RECIPIENTS}
    JOIN push_subscriptions s ON s.user_id = r.user_id
    WHERE c.status = 'waiting' AND c.created_at >= s.since
      AND c.created_at > now() - interval '7 days'
      AND NOT (c.asked_kind = 'member' AND c.asked_by = s.user_id)
      AND 'questions' = ANY(s.kinds)
      AND NOT EXISTS (SELECT FROM push_messages p
          WHERE p.subscription_id = s.id AND p.about_id = c.id)
    ON CONFLICT DO NOTHING
"""
_QUEUE_FAILURE = f"""
    INSERT INTO push_messages (workspace_id, id, subscription_id, about, about_id, automation_id,
        run_id, expires_at)
    SELECT a.workspace_id, uuidv7(), s.id, $3, $4, a.id, $5, now() + interval '1 day'
    FROM automations a
    {_FAILURE_RECIPIENTS}
    JOIN push_subscriptions s ON s.user_id = r.user_id
    WHERE a.workspace_id = $1 AND a.id = $2 AND 'failures' = ANY(s.kinds)
    ON CONFLICT DO NOTHING
"""
# Taken with the time of the next attempt, should the process that took it be lost.
_TAKE = f"""
    UPDATE push_messages p SET tries = tries + 1,
        due_at = now() + least(interval '1 hour', interval '30 seconds' * power(2, p.tries))
    FROM push_subscriptions s
    WHERE s.id = p.subscription_id AND (p.workspace_id, p.id) IN (
        SELECT workspace_id, id FROM push_messages WHERE state = 'waiting' AND due_at <= now()
        ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED
    )
    RETURNING p.workspace_id, p.id, p.about, p.about_id, p.automation_id, p.run_id, p.tries,
        extract(epoch FROM p.expires_at - now())::int AS seconds_left,
        s.id AS subscription_id, s.endpoint, s.p256dh, s.auth,
        (SELECT name FROM automations a
            WHERE a.workspace_id = p.workspace_id AND a.id = p.automation_id) AS automation,
        p.expires_at > now() AND {_DELIVERABLE.format(space="p.workspace_id")}
        AND CASE p.about
            WHEN 'draft' THEN 'drafts' = ANY(s.kinds) AND EXISTS (SELECT FROM drafts d
                WHERE d.workspace_id = p.workspace_id AND d.id = p.about_id
                  AND d.status = 'pending' AND d.expires_at > now())
            WHEN 'question' THEN 'questions' = ANY(s.kinds) AND EXISTS (SELECT FROM approvals q
                WHERE q.workspace_id = p.workspace_id AND q.id = p.about_id
                  AND q.status = 'pending' AND q.expires_at > now())
            WHEN 'consent' THEN 'questions' = ANY(s.kinds) AND EXISTS (SELECT FROM consents c
                WHERE c.workspace_id = p.workspace_id AND c.id = p.about_id
                  AND c.status = 'waiting')
            ELSE 'failures' = ANY(s.kinds) END AS wanted
"""
_SENT = "UPDATE push_messages SET state = 'sent' WHERE workspace_id = $1 AND id = $2"
_GIVE_UP = "UPDATE push_messages SET state = 'given_up' WHERE workspace_id = $1 AND id = $2"
_LATER = """
    UPDATE push_messages SET due_at = greatest(due_at, now() + $3 * interval '1 second')
    WHERE workspace_id = $1 AND id = $2
"""
_NOTE_SENT = "UPDATE push_subscriptions SET sent_at = now(), problem = NULL WHERE id = $1"
_NOTE_PROBLEM = "UPDATE push_subscriptions SET problem = $2 WHERE id = $1"
# Longer than anything waits for a person.
_EXPIRE = """
    DELETE FROM push_messages WHERE (workspace_id, id) IN (
        SELECT workspace_id, id FROM push_messages
        WHERE created_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
    ) RETURNING id
"""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message is sent, and the keys that encrypt it for that browser."""

    subscription_id: UUID
    endpoint: str
    p256dh: bytes
    auth: bytes


@dataclass(frozen=True, slots=True)
class Subscription:
    """A browser that gets notifications, as its owner sees it."""

    id: UUID
    session_id: UUID
    label: str
    # By this the browser recognizes itself; the address itself is never shown.
    endpoint_hash: str
    kinds: tuple[str, ...]
    created_at: datetime
    sent_at: datetime | None
    problem: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class PushMessage:
    """A message that is due."""

    workspace_id: UUID
    id: UUID
    about: str
    about_id: UUID
    automation_id: UUID | None
    run_id: UUID | None
    automation: str | None
    tries: int
    seconds_left: int
    # False: it was answered, expired, or its person may not have it any more.
    wanted: bool
    target: Target


async def list_subscriptions(tx: Transaction, user_id: UUID) -> list[Subscription]:
    return [_subscription(row) for row in await tx.fetch(_LIST, user_id)]


async def read_target(tx: Transaction, user_id: UUID, subscription_id: UUID) -> Target:
    """Where a person's own subscription leads; another person's is not found."""
    row = await tx.fetchrow(_TARGET, user_id, subscription_id)
    if row is None:
        raise _no_subscription()
    return Target(row["id"], row["endpoint"], row["p256dh"], row["auth"])


async def save_subscription(
    tx: Transaction,
    user_id: UUID,
    session_id: UUID,
    label: str,
    target: Target,
    kinds: Sequence[str] | None,
) -> Subscription:
    """Adds a browser, or renews the one that is there; without ``kinds`` those stay."""
    await tx.execute(_HOLD, str(user_id))
    counted = await tx.fetchrow(_COUNT, user_id, target.endpoint)
    if counted["number"] >= MOST_SUBSCRIPTIONS:
        raise Conflict(
            f"You get notifications in {MOST_SUBSCRIPTIONS} browsers already.",
            code="too_many_subscriptions",
            suggestion="Remove one that you do not use any more.",
        )
    row = await tx.fetchrow(
        _SAVE,
        target.subscription_id,
        user_id,
        session_id,
        label,
        target.endpoint,
        target.p256dh,
        target.auth,
        None if kinds is None else list(kinds),
        list(KINDS),
    )
    if row is None:
        raise Conflict(
            "Another browser is registered under this address.",
            code="subscription_taken",
            suggestion="Turn notifications off in this browser, then on again.",
        )
    return _subscription(row)


async def set_kinds(
    tx: Transaction, user_id: UUID, subscription_id: UUID, kinds: Sequence[str]
) -> Subscription:
    row = await tx.fetchrow(_SET_KINDS, user_id, subscription_id, list(kinds))
    if row is None:
        raise _no_subscription()
    return _subscription(row)


async def remove_subscription(tx: Transaction, user_id: UUID, subscription_id: UUID) -> None:
    if await tx.fetchrow(_REMOVE, user_id, subscription_id) is None:
        raise _no_subscription()


async def remove_gone(tx: Transaction, target: Target) -> None:
    """The push service does not know the browser any more."""
    await tx.execute(_REMOVE_GONE, target.subscription_id, target.endpoint)


async def end_pushes_of_session(tx: Transaction, user_id: UUID, session_id: UUID) -> None:
    await tx.execute(_END_SESSION, user_id, session_id)


async def end_pushes_of_others(tx: Transaction, user_id: UUID, kept: UUID) -> None:
    """Removes every subscription of a person, except those of one session."""
    await tx.execute(_END_OTHERS, user_id, kept)


async def move_pushes(tx: Transaction, user_id: UUID, before: UUID, after: UUID) -> None:
    """The same person has signed in again in the same browser."""
    await tx.execute(_MOVE, user_id, before, after)


async def queue_waiting(tx: Transaction) -> None:
    """Queues a message about every draft, question and consent that waits and has none yet."""
    there = await tx.fetchrow(_ANY)
    if there["there"]:
        await tx.execute(_QUEUE_DRAFTS)
        await tx.execute(_QUEUE_QUESTIONS)
        await tx.execute(_QUEUE_CONSENTS)


async def queue_failure(
    tx: Transaction,
    workspace_id: UUID,
    automation_id: UUID,
    alert_id: UUID,
    run_id: UUID | None,
    *,
    paused: bool = False,
) -> None:
    """Queues a message about an alert, once for each browser."""
    about = "pause" if paused else "failure"
    await tx.execute(_QUEUE_FAILURE, workspace_id, automation_id, about, alert_id, run_id)


async def take_messages(tx: Transaction, most: int) -> list[PushMessage]:
    """Messages for this caller to send now."""
    return [_message(row) for row in await tx.fetch(_TAKE, most)]


async def mark_sent(tx: Transaction, message: PushMessage) -> None:
    await tx.execute(_SENT, message.workspace_id, message.id)
    await note_sent(tx, message.target)


async def drop_message(tx: Transaction, message: PushMessage) -> None:
    """It is not sent, now or later."""
    await tx.execute(_GIVE_UP, message.workspace_id, message.id)


async def postpone(tx: Transaction, message: PushMessage, seconds: float | None) -> None:
    """It is tried again after its backoff, or after the longer time that the service asks for."""
    if seconds is not None:
        await tx.execute(_LATER, message.workspace_id, message.id, float(seconds))


async def note_sent(tx: Transaction, target: Target) -> None:
    await tx.execute(_NOTE_SENT, target.subscription_id)


async def note_problem(tx: Transaction, target: Target, problem: Mapping[str, Any]) -> None:
    """Why the last message did not arrive, for the person who owns the subscription."""
    await tx.execute(_NOTE_PROBLEM, target.subscription_id, dict(problem))


async def expire_push_messages(database: Database, before: datetime) -> int:
    """Deletes messages that were queued before a time."""

    async def batch(tx: Transaction, most: int) -> int:
        return len(await tx.fetch(_EXPIRE, before, most))

    return await delete_in_batches(database, batch)


def new_target(endpoint: str, p256dh: bytes, auth: bytes) -> Target:
    return Target(generate_id(), endpoint, p256dh, auth)


def _subscription(row: Any) -> Subscription:
    values = dict(row)
    endpoint = values.pop("endpoint")
    values["endpoint_hash"] = hashlib.sha256(endpoint.encode()).hexdigest()
    values["kinds"] = tuple(kind for kind in KINDS if kind in values["kinds"])
    return Subscription(**values)


def _message(row: Any) -> PushMessage:
    target = Target(row["subscription_id"], row["endpoint"], row["p256dh"], row["auth"])
    return PushMessage(
        row["workspace_id"],
        row["id"],
        row["about"],
        row["about_id"],
        row["automation_id"],
        row["run_id"],
        row["automation"],
        row["tries"],
        row["seconds_left"],
        row["wanted"],
        target,
    )


def _no_subscription() -> NotFound:
    return NotFound("There is no such subscription.", code="no_subscription")
