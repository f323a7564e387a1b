"""However often matchers are killed, an event starts each automation it is for exactly once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import arena_on
from tests.crash.fork_server import Nursery
from tests.crash.matchers import (
    expected,
    offences,
    plant,
    started,
    strike_matchers,
    tell,
    until_read,
)

EVENTS, TRIGGERS, KILLS = 1_000, 200, 10


async def test_matchers_killed_at_random_miss_no_event_and_double_none(
    durable_server: EmbeddedServer, nursery: Nursery, folder: Path, chance: random.Random
) -> None:
    async with arena_on(durable_server, nursery, folder, lease=2.0) as arena:
        automations = await plant(arena, TRIGGERS)
        await strike_matchers(
            arena, chance, automations=automations, events=EVENTS, kills=KILLS, pause=0.3
        )
        await until_read(arena)
        wanted = expected(automations, EVENTS)
        assert len(wanted) >= EVENTS * 9 // 10
        assert offences(wanted, await started(arena)) == []


@pytest.mark.parametrize("point", ["read", "handled", "moved", "committed"])
async def test_a_matcher_killed_at_a_commit_point_loses_and_doubles_nothing(
    durable_server: EmbeddedServer, nursery: Nursery, folder: Path, point: str
) -> None:
    async with arena_on(durable_server, nursery, folder, lease=2.0) as arena:
        automations = await plant(arena, 5)
        for round_number in range(3):
            # Each time another life ends at the same place.
            victim = arena.crew.start(role="matcher", point=point, nth=1)
            await tell(arena, range(round_number * 40, round_number * 40 + 40), len(automations))
            assert await arena.until_ended(victim, 20) != 0
        arena.crew.start(role="matcher")
        await until_read(arena)
        assert offences(expected(automations, 120), await started(arena)) == []
