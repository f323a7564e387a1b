"""Changes to automations with triggers: atomic, recorded, and retried.

A schedule may be overdue when a person pauses or edits it, because no scheduler was running or fast
enough. Its fire time will not fire then, and a fire time that starts no run must be recorded. Every
change therefore goes through here: the pending fire times are read before it, and those that the
schedules no longer wait for are recorded after it, in the same transaction.

Locks are taken on names, then automations, then triggers, each in a fixed order. A change that the
database aborted in favour of another one is retried.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar
from uuid import UUID

from mainspring.contracts.errors import Problem
from mainspring.contracts.limits import Limits
from mainspring.runs.missed_fire_times import MissedFireTime, record_missed
from mainspring.store.access import DatabaseAccess
from mainspring.store.database import Connection, convert_driver_error
from mainspring.store.database_errors import is_collision
from mainspring.triggers.fire_times import MissedFiring, Overtaking, overtaken
from mainspring.triggers.schedule import key_of, read_schedule
from mainspring.workspace import schedules
from mainspring.workspace.automations import find_automation_ids, lock_automations, lock_names
from mainspring.workspace.schedules import SupersededSchedule, WaitingSchedule

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

TRIES: Final = 3
_PAUSE: Final = 0.05

Made = TypeVar("Made")


async def change(
    database: DatabaseAccess,
    limits: Limits,
    workspace_id: UUID,
    work: Callable[[Connection], Awaitable[Made]],
    *,
    automations: Sequence[UUID] = (),
    names: Sequence[str] | None = None,
) -> Made:
    """Run the work in a transaction that locks the automations it changes.

    They are given by id or by name. A caller that may assign names passes ``names``, even if empty.
    """
    for left in reversed(range(TRIES)):
        try:
            async with database.transaction() as tx:
                held = list(automations)
                if names is not None:
                    await lock_names(tx, workspace_id)
                    held += await find_automation_ids(tx, workspace_id, names)
                await lock_automations(tx, workspace_id, held)
                before = await schedules.list_waiting_schedules(
                    tx, [(workspace_id, one) for one in held]
                )
                made = await work(tx)
                await record_overtaken(tx, before, limits)
            return made
        except Exception as error:
            if not is_collision(error):
                raise
            if not left:
                raise convert_driver_error(error) from error
        await asyncio.sleep(_PAUSE * random.uniform(0.5, 1.0))
    raise AssertionError("unreachable")


async def record_overtaken(
    tx: Transaction, before: Sequence[WaitingSchedule], limits: Limits
) -> None:
    """Record the pending fire times that will not fire any more."""
    if not before:
        return
    found = await schedules.list_superseded_schedules(tx, before)
    await record_missed(tx, [record for one in found for record in _records(one, limits)])


def _records(one: SupersededSchedule, limits: Limits) -> Iterator[MissedFireTime]:
    schedule = one.schedule
    for missed in _missed_fire_times(one, limits):
        yield MissedFireTime(
            schedule.workspace_id,
            schedule.trigger_id,
            key_of(missed.moment),
            missed.reason,
            missed.moments,
        )


def _missed_fire_times(one: SupersededSchedule, limits: Limits) -> Sequence[MissedFiring]:
    reason: Overtaking = "missed_paused" if one.resting else "missed_edited"
    due = one.schedule.due_at
    try:
        read = read_schedule(one.schedule.config, one.schedule.trigger_id)
    except Problem:
        return [MissedFiring(due, reason)]
    return overtaken(read.schedule, due, one.until, reason, limits)
