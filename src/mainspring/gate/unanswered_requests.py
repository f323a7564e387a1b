"""Asks of models that nobody heard back from: whoever asked was gone while they were under way.

What the provider made of such an ask cannot be known, so it is booked at its most, like any
other that broke off. For a worker that was killed this is when the promise has run out; for
what came with a run's token it is when the token ends. The ledger names it ``lost``: which model
it was is not known any more. Who settles after all finds it booked, and it stays as it is.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mainspring.contracts.context import RunRef
from mainspring.store.batch_delete import delete_in_batches

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction
    from mainspring.store.database import Database

CALLER: Final = "lost"
_MODEL: Final = "unknown"

_RUN_OUT = """
    SELECT workspace_id, id FROM reservations
    WHERE spent IS NULL AND tokens > 0 AND expires_at < $3 LIMIT $4 FOR UPDATE SKIP LOCKED
"""
_UNDER_WAY = """
    SELECT workspace_id, id FROM reservations
    WHERE spent IS NULL AND tokens > 0 AND workspace_id = $3 AND run_id = $4 AND step = $5
    FOR UPDATE
"""
# The ledger counts it on the day on which it was promised, like the money.
_BOOK = """
    WITH lost AS ({which}), settled AS (
        UPDATE reservations r SET spent = r.usd FROM lost
        WHERE r.workspace_id = lost.workspace_id AND r.id = lost.id
        RETURNING r.workspace_id, r.id, r.automation_id, r.run_id, r.step, r.day, r.spent,
            r.tokens, r.expires_at
    ), booked AS (
        INSERT INTO spend (workspace_id, automation_id, day, usd)
        SELECT workspace_id, automation_id, day, sum(spent) FROM settled
        WHERE automation_id IS NOT NULL GROUP BY workspace_id, automation_id, day
        ON CONFLICT (workspace_id, automation_id, day) DO UPDATE SET usd = spend.usd + excluded.usd
    ), written AS (
        INSERT INTO llm_usage (workspace_id, id, at, automation_id, run_id, step, caller, model,
            input_tokens, output_tokens, cost_usd)
        SELECT workspace_id, id,
            least(now(), expires_at, (day + 1)::timestamp AT TIME ZONE 'UTC' - interval '1 second'),
            automation_id, run_id, step, $1, $2, tokens, 0, spent
        FROM settled
        ON CONFLICT (workspace_id, id) DO NOTHING
    )
    SELECT spent FROM settled
"""


async def settle_expired_reservations(database: Database, now: datetime) -> int:
    """Books every ask whose promise has run out; how many there were."""
    return await delete_in_batches(database, partial(_settle_batch, now))


async def _settle_batch(now: datetime, tx: Transaction, most: int) -> int:
    booking = _BOOK.format(which=_RUN_OUT)
    return len(await tx.fetch(booking, CALLER, _MODEL, now, most))


async def settle_open_reservations(tx: Transaction, workspace_id: UUID, run: RunRef) -> Decimal:
    """Books what a step that is over still has under way; what it comes to at most."""
    booking = _BOOK.format(which=_UNDER_WAY)
    rows = await tx.fetch(booking, CALLER, _MODEL, workspace_id, run.id, run.step)
    return sum((row["spent"] for row in rows), Decimal(0))
