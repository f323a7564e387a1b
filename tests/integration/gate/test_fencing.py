"""The fence: only the worker that holds a run now may write for it."""

from __future__ import annotations

from decimal import Decimal
from uuid import UUID

import pytest

from mainspring.contracts.context import Actor, RunRef
from mainspring.contracts.errors import Conflict
from mainspring.contracts.ids import generate_id
from mainspring.gate.capability_call import LEASE_LOST, CapabilityCall, check_fence
from mainspring.gate.policy import RunPolicy
from mainspring.gate.run_budget import RunBudget
from mainspring.store.database import Database
from tests.kit.run_rows import add_automation, add_run
from tests.kit.tenants import add_workspace

SPACE, OTHER = generate_id(), generate_id()


def _ask(workspace_id: UUID, run_id: UUID | None, fence: int) -> CapabilityCall:
    run = None if run_id is None else RunRef(run_id, generate_id(), "step")
    actor = Actor(workspace_id, "run", generate_id())
    return CapabilityCall("kv.set", {}, actor, run, 1, RunPolicy(()), RunBudget(Decimal(1)), fence)


async def test_a_run_is_held_by_its_worker_alone(database: Database) -> None:
    for space in (SPACE, OTHER):
        await add_workspace(database, space, "one of two")
    automation = await add_automation(database, SPACE)
    run = await add_run(database, SPACE, automation, status="running", fence=3)
    other = await add_run(database, SPACE, automation, status="running", fence=4)
    waiting = await add_run(database, SPACE, automation, status="waiting", fence=3)

    async with database.transaction() as tx:
        await check_fence(tx, _ask(SPACE, run, 3))
        await check_fence(tx, _ask(SPACE, other, 4))
        # A person's call belongs to no run.
        await check_fence(tx, _ask(SPACE, None, 0))
        for lost in (
            _ask(SPACE, run, 2),
            _ask(SPACE, run, 4),
            _ask(OTHER, run, 3),
            _ask(SPACE, generate_id(), 3),
            _ask(SPACE, waiting, 3),
        ):
            with pytest.raises(Conflict) as refused:
                await check_fence(tx, lost)
            assert refused.value.code == LEASE_LOST == "lease_lost"
