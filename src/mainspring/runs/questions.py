"""Questions that steps have asked, and the answers.

A question belongs to one step of one run. It is answered once, by a person with permission, and the
answer wakes the run: at once when it sleeps, and before it falls asleep when it is about to. A
question expires by its timestamp, without a background job.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.errors import Conflict, Expired, InternalError, NotFound, PermissionDenied
from mainspring.runs.resume import RunResumer

if TYPE_CHECKING:
    from mainspring.contracts.context import Actor, Transaction
    from mainspring.store.database import Database

# Expiry is evaluated in the query.
_STATUS = """CASE WHEN q.status = 'pending' AND q.expires_at <= now() THEN 'expired'
        ELSE q.status END"""
_COLUMNS = f"""q.id, q.automation_id, q.run_id, q.step, q.item, q.title, q.message, q.form,
        q.usual, q.roles, q.on_decline, {_STATUS} AS status, q.answer, q.answered_by,
        q.answered_at, q.created_at, q.expires_at"""
_ADD = """
    INSERT INTO approvals (workspace_id, id, automation_id, run_id, step, item, title, message,
        form, usual, roles, on_decline, notify, expires_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
_LAST = f"""
    SELECT {_COLUMNS} FROM approvals q
    WHERE q.workspace_id = $1 AND q.run_id = $2 AND q.step = $3 AND q.item = $4
    ORDER BY q.id DESC LIMIT 1
"""
# The run continues without an answer: no later answer is accepted.
_RUN_OUT = """
    UPDATE approvals SET status = 'expired'
    WHERE workspace_id = $1 AND id = $2 AND status = 'pending'
"""
# Questions of an ended run are closed, whatever their rows say.
_LIST = f"""
    SELECT {_COLUMNS}, a.name AS automation FROM approvals q
    JOIN runs r ON r.workspace_id = q.workspace_id AND r.id = q.run_id
    JOIN automations a ON a.workspace_id = q.workspace_id AND a.id = q.automation_id
    WHERE q.workspace_id = $1 AND ($2::uuid IS NULL OR q.id < $2)
      AND ($3::text IS NULL OR {_STATUS} = $3)
      AND ($3::text IS DISTINCT FROM 'pending' OR r.status IN ('pending', 'running', 'waiting'))
    ORDER BY q.id DESC LIMIT $4
"""
_ASKED = """
    SELECT count(*) AS asked FROM approvals q
    JOIN runs r ON r.workspace_id = q.workspace_id AND r.id = q.run_id
    WHERE q.workspace_id = $1 AND q.status = 'pending' AND q.expires_at > now()
      AND r.status IN ('pending', 'running', 'waiting')
"""
_HOLD = f"SELECT {_COLUMNS} FROM approvals q WHERE q.workspace_id = $1 AND q.id = $2 FOR UPDATE"
_RUN = "SELECT status FROM runs WHERE workspace_id = $1 AND id = $2 FOR UPDATE"
_ANSWER = """
    UPDATE approvals SET status = $3, answer = $4, answered_by = $5, answered_at = now()
    WHERE workspace_id = $1 AND id = $2
"""
_UNDER_WAY: Final = frozenset({"pending", "running", "waiting"})


@dataclass(frozen=True, slots=True)
class QuestionResolution:
    """The value with which a step continues, or until when it sleeps."""

    value: Mapping[str, Any] | None = None
    until: datetime | None = None


# Workspace, run, step and item of a question, and when it was asked.
Answers = Callable[[UUID, UUID, str, str, datetime], Awaitable[QuestionResolution]]


@dataclass(frozen=True, slots=True)
class StepQuestion:
    """What a person is asked."""

    id: UUID
    title: str
    message: str
    form: Mapping[str, Any] | None
    # The default answer after the timeout, as the only entry of an object; None: a timeout is a
    # failure.
    usual: Mapping[str, Any] | None
    roles: tuple[str, ...] | None
    on_decline: str
    notify: tuple[str, ...]
    expires_at: datetime


@dataclass(frozen=True, slots=True)
class StepQuestions:
    """The questions of steps."""

    database: Database

    async def came_to(
        self, workspace_id: UUID, run_id: UUID, step: str, item: str, now: datetime
    ) -> QuestionResolution:
        """The result of a step's question; raises when the run cannot continue."""
        async with self.database.acquire() as connection:
            row = await connection.fetchrow(_LAST, workspace_id, run_id, step, item)
        if row is None:
            raise InternalError("The question of this step does not exist.", retryable=False)
        if row["status"] == "pending" and row["expires_at"] > now:
            return QuestionResolution(until=row["expires_at"])
        if row["status"] in ("pending", "expired"):
            async with self.database.acquire() as connection:
                # Waits for a concurrent answer.
                await connection.execute(_RUN_OUT, workspace_id, row["id"])
                row = await connection.fetchrow(_LAST, workspace_id, run_id, step, item)
        return QuestionResolution(value=_value(row))


async def ask(
    tx: Transaction, workspace_id: UUID, at: tuple[UUID, UUID, str, str], question: StepQuestion
) -> None:
    """Store a question of a step, identified by automation, run, step and item."""
    await tx.execute(
        _ADD,
        workspace_id,
        question.id,
        *at,
        question.title,
        question.message,
        question.form,
        question.usual,
        None if question.roles is None else list(question.roles),
        question.on_decline,
        list(question.notify),
        question.expires_at,
    )


async def list_questions(
    tx: Transaction, workspace_id: UUID, *, status: str | None, after: UUID | None, most: int
) -> list[dict[str, Any]]:
    """Newest first."""
    rows = await tx.fetch(_LIST, workspace_id, after, status, most)
    return [dict(row) for row in rows]


async def count_open_questions(tx: Transaction, workspace_id: UUID) -> int:
    """How many questions are open."""
    return int((await tx.fetchrow(_ASKED, workspace_id))["asked"])


async def lock_question(tx: Transaction, workspace_id: UUID, question_id: UUID) -> Any:
    """An open question, locked until the end of the transaction."""
    row = await tx.fetchrow(_HOLD, workspace_id, question_id)
    if row is None:
        raise NotFound("There is no such question.", code="no_approval")
    if row["status"] == "expired":
        raise Expired(
            "The time to answer is over; the run has continued without an answer.",
            code="approval_expired",
        )
    if row["status"] != "pending":
        raise Conflict(
            f"This question is already answered: {row['status']}.", code="approval_answered"
        )
    run = await tx.fetchrow(_RUN, workspace_id, row["run_id"])
    if run is None or run["status"] not in _UNDER_WAY:
        raise Conflict("The run that asked has ended.", code="run_ended")
    return row


async def answer_question(
    tx: Transaction, actor: Actor, row: Any, *, approved: bool, answer: Any
) -> None:
    """Store an answer and wake the waiting run."""
    space = actor.workspace_id
    status = "approved" if approved else "declined"
    await tx.execute(_ANSWER, space, row["id"], status, {"value": answer}, actor.id)
    await RunResumer().wake(tx, space, row["run_id"])


def _value(row: Any) -> dict[str, Any]:
    """The step's value; raises when the plan does not continue."""
    if row["status"] == "declined" and row["on_decline"] == "fail":
        raise PermissionDenied(f"Declined: {row['title']}", code="approval_declined")
    if row["status"] in ("approved", "declined"):
        return {
            "approved": row["status"] == "approved",
            "answer": (row["answer"] or {}).get("value"),
            "answered_by": str(row["answered_by"]),
            "timed_out": False,
        }
    if row["usual"] is None:
        raise Expired(f"No answer in time: {row['title']}", code="approval_expired")
    return {
        "approved": True,
        "answer": row["usual"]["value"],
        "answered_by": None,
        "timed_out": True,
    }
