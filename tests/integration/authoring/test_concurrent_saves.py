"""Many save at the same moment: none waits for what only the others could give back."""

from __future__ import annotations

import asyncio
from typing import Any

from mainspring.contracts.context import Actor
from mainspring.contracts.roles import Role
from mainspring.gate.callers import CapabilityCaller
from mainspring.store.database import POOL_SIZE
from mainspring.workspace.automations import FIRST_MEMBER, FIRST_WORKSPACE
from tests.kit.bench import PATIENCE, Bench


async def test_more_can_save_at_once_than_there_are_connections(bench: Bench) -> None:
    caller = CapabilityCaller(Actor(FIRST_WORKSPACE, "member", FIRST_MEMBER, role=Role.OWNER))

    async def save(number: int) -> Any:
        given = {
            "name": f"number {number}",
            "description": "Does nothing.",
            "intent": "Do nothing.",
            "source": "return 1;",
            "triggers": [{"kind": "webhook"}],
            "tool_grants": [{"tool": "list_boards"}],
        }
        return await bench.application.gate.direct(caller, "save_automation_draft", given)

    # Each holds a connection, and all but one wait for its lock while it asks for its words.
    async with asyncio.timeout(PATIENCE):
        made = await asyncio.gather(*map(save, range(POOL_SIZE + 1)))

    assert len({one["automation_id"] for one in made}) == POOL_SIZE + 1
