"""However often matchers are killed, an event starts each automation it is for exactly once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import open_crash_bench
from tests.crash.fork_server import ForkServer
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
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        automations = await plant(bench, TRIGGERS)
        await strike_matchers(
            bench, chance, automations=automations, events=EVENTS, kills=KILLS, pause=0.3
        )
        await until_read(bench)
        required = expected(automations, EVENTS)
        assert len(required) >= EVENTS * 9 // 10
        assert offences(required, await started(bench)) == []


@pytest.mark.parametrize("point", ["read", "handled", "moved", "committed"])
async def test_a_matcher_killed_at_a_commit_point_loses_and_doubles_nothing(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, point: str
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        automations = await plant(bench, 5)
        for round_number in range(3):
            # Each time another life ends at the same place.
            victim = bench.pool.start(role="matcher", point=point, nth=1)
            await tell(bench, range(round_number * 40, round_number * 40 + 40), len(automations))
            assert await bench.until_ended(victim, 20) != 0
        bench.pool.start(role="matcher")
        await until_read(bench)
        assert offences(expected(automations, 120), await started(bench)) == []
