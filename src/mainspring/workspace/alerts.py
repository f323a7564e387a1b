"""Alerts about failed runs, some of which are sent by mail.

An alert has the id of its event, so one event never makes two alerts, and messages written by
automations are never mistaken for alerts. Consecutive failures are counted from the runs; the
number on the automation is a copy for lists.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from mainspring.contracts.ids import get_lowest_id_at

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

FAILED: Final = ("failed", "timed_out", "dead")
# The count of consecutive failures stops here.
MOST_COUNTED: Final = 1_000

_FAILURES = """
    SELECT r.workspace_id, r.id, r.automation_id, r.status, r.reason, r.outcome, r.error,
        r.trigger_type, r.replay_of, r.finished_at
    FROM unnest($1::uuid[], $2::uuid[]) AS f(workspace_id, run_id)
    JOIN runs r ON r.workspace_id = f.workspace_id AND r.id = f.run_id
    WHERE r.status = ANY($3::text[]) ORDER BY r.finished_at, r.id
"""
# Automations that failed now and automations whose counter is out of date. Most successful runs
# match neither and take no lock.
_HOLD = """
    SELECT a.workspace_id, a.id, a.name, a.state, a.failures, a.acknowledged_at, now() AS now
    FROM automations a
    JOIN unnest($1::uuid[], $2::uuid[], $3::bool[]) AS e(workspace_id, id, failing)
        ON e.workspace_id = a.workspace_id AND e.id = a.id
    WHERE e.failing OR a.failures > 0
    ORDER BY a.workspace_id, a.id FOR NO KEY UPDATE OF a
"""
# Excluded from the count: runs a person started, who sees the result; bodies that do not fit and
# texts too long for a filter, which are the sender's fault and must not let a sender pause the
# automation; cancelled runs. Runs are ordered by their end, and a slow run ends after a later quick
# one. Enough of the latest are selected by id, which is indexed, to contain that sequence.
_IN_ROW = """
    SELECT status FROM (
        SELECT id, status, finished_at FROM runs
        WHERE workspace_id = $1 AND automation_id = $2
          AND ($3::timestamptz IS NULL OR created_at > $3)
          AND status IN ('succeeded', 'failed', 'timed_out', 'dead')
          AND trigger_type <> 'manual' AND replay_of IS NULL
          AND NOT (reason IS NOT DISTINCT FROM 'invalid_inputs'
            AND (trigger_type IN ('webhook', 'form') OR coalesce(error ->> 'code', '')
                IN ('filter_text_unread', 'filter_too_costly')))
        ORDER BY id DESC LIMIT $4 + 100
    ) AS latest
    ORDER BY finished_at DESC, id DESC LIMIT $4
"""
_SET_FAILURES = "UPDATE automations SET failures = $3 WHERE workspace_id = $1 AND id = $2"
_RECENT = """
    SELECT n.id, n.run_id, n.created_at FROM notifications n
    JOIN events e ON e.workspace_id = n.workspace_id AND e.id = n.id
    WHERE n.workspace_id = $1 AND n.automation_id = $2 AND n.id >= $3 AND n.created_at > $4
    ORDER BY n.id DESC LIMIT 1
"""
_SINCE = """
    SELECT count(*) AS failures FROM (
        SELECT 1 FROM runs
        WHERE workspace_id = $1 AND automation_id = $2 AND id >= $3 AND status = ANY($4::text[])
          AND mode = 'live'
        LIMIT $5
    ) AS counted
"""
_POST = """
    INSERT INTO notifications
        (workspace_id, id, automation_id, run_id, level, title, message, mail_due_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, CASE WHEN $8 THEN now() END)
    ON CONFLICT (workspace_id, id) DO NOTHING
"""
# Unread again, but not mailed again.
_GATHER = """
    UPDATE notifications
    SET message = $3, read_at = NULL,
        mail_due_at = CASE WHEN $4 AND mail_due_at IS NULL AND mail_tries = 0 THEN now()
            ELSE mail_due_at END
    WHERE workspace_id = $1 AND id = $2
"""
# These cross workspaces on purpose: one mailer serves all. Claiming a mail leases it until its next
# attempt; after a crash it is due again then.
_TAKE_MAIL = """
    UPDATE notifications n
    SET mail_tries = n.mail_tries + 1,
        mail_due_at = now() + least($1 * 2 ^ n.mail_tries, $2) * interval '1 second'
    FROM (
        SELECT workspace_id, id FROM notifications
        WHERE mail_due_at <= now() AND mailed_at IS NULL
        ORDER BY mail_due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS due
    WHERE n.workspace_id = due.workspace_id AND n.id = due.id
    RETURNING n.workspace_id, n.id, n.automation_id, n.title, n.message, n.mail_tries
"""
_MAILED = "UPDATE notifications SET mailed_at = now() WHERE workspace_id = $1 AND id = $2"
_GIVE_UP = """
    UPDATE notifications SET mail_due_at = NULL, message = message || E'\n\n' || $3
    WHERE workspace_id = $1 AND id = $2
"""

# Ids carry the clock of the process that made them; the search starts this much earlier.
_SLACK: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Alert:
    """A message about an automation."""

    id: UUID
    workspace_id: UUID
    # None: it is about the installation.
    automation_id: UUID | None
    # None: it is about no run.
    run_id: UUID | None
    level: str
    title: str
    message: str
    mail: bool


@dataclass(frozen=True, slots=True)
class AlertMail:
    """An alert to be sent by mail."""

    workspace_id: UUID
    id: UUID
    automation_id: UUID | None
    title: str
    message: str
    tries: int


async def list_failed_runs(
    tx: Transaction, runs: Sequence[tuple[UUID, UUID]]
) -> list[dict[str, Any]]:
    """Filter the runs that are failed now, in the order in which they ended."""
    rows = await tx.fetch(
        _FAILURES, [space for space, _ in runs], [run for _, run in runs], list(FAILED)
    )
    return [dict(row) for row in rows]


async def lock_failing(
    tx: Transaction, touched: Sequence[tuple[UUID, UUID]], failing: set[tuple[UUID, UUID]]
) -> list[dict[str, Any]]:
    """Lock the automations that need a new failure count, in a fixed order."""
    rows = await tx.fetch(
        _HOLD,
        [space for space, _ in touched],
        [one for _, one in touched],
        [pair in failing for pair in touched],
    )
    return [dict(row) for row in rows]


async def count_consecutive_failures(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, since: datetime | None, most: int
) -> int:
    """Count an automation's latest consecutive failures, up to a limit."""
    rows = await tx.fetch(_IN_ROW, workspace_id, automation_id, since, most)
    failed = [row["status"] in FAILED for row in rows]
    return failed.index(False) if False in failed else len(failed)


async def set_failures(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, failures: int
) -> None:
    """Store the failure count shown in lists."""
    await tx.execute(_SET_FAILURES, workspace_id, automation_id, failures)


async def find_recent_alert(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, since: datetime
) -> dict[str, Any] | None:
    """Find the alert that collects later failures; None when the next failure needs a new one."""
    first = get_lowest_id_at(since - _SLACK)
    row = await tx.fetchrow(_RECENT, workspace_id, automation_id, first, since)
    return None if row is None else dict(row)


async def count_failures_since(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, run_id: UUID
) -> int:
    """Count the failed runs from one run on, including it."""
    row = await tx.fetchrow(
        _SINCE, workspace_id, automation_id, run_id, list(FAILED), MOST_COUNTED + 1
    )
    return int(row["failures"])


async def post_alert(tx: Transaction, alert: Alert) -> None:
    """Add an alert to the inbox, and to the mail queue when it is to be mailed."""
    await tx.execute(
        _POST,
        alert.workspace_id,
        alert.id,
        alert.automation_id,
        alert.run_id,
        alert.level,
        alert.title,
        alert.message,
        alert.mail,
    )


async def append_failure(
    tx: Transaction, workspace_id: UUID, alert_id: UUID, message: str, *, mail: bool
) -> None:
    """Add one failure to an existing alert."""
    await tx.execute(_GATHER, workspace_id, alert_id, message, mail)


async def claim_mail(tx: Transaction, first_pause: float, longest_pause: float) -> AlertMail | None:
    """Claim the mail that has been due for longest, leased until its next attempt."""
    row = await tx.fetchrow(_TAKE_MAIL, first_pause, longest_pause)
    if row is None:
        return None
    return AlertMail(
        row["workspace_id"],
        row["id"],
        row["automation_id"],
        row["title"],
        row["message"],
        row["mail_tries"],
    )


async def set_mailed(tx: Transaction, mail: AlertMail) -> None:
    await tx.execute(_MAILED, mail.workspace_id, mail.id)


async def give_up_mail(tx: Transaction, mail: AlertMail, why: str) -> None:
    """Stop retrying; the alert stays in the inbox and says why it was not mailed."""
    await tx.execute(_GIVE_UP, mail.workspace_id, mail.id, why)
