"""However often the API is killed, each accepted key has exactly one run."""

from __future__ import annotations

import random
from pathlib import Path

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import arena_on
from tests.crash.fork_server import Nursery
from tests.crash.webhooks import offences, plant, strike_api

CALLS, KILLS = 400, 8


async def test_runs_are_the_accepted_keys_exactly_although_the_api_is_killed(
    durable_server: EmbeddedServer, nursery: Nursery, folder: Path, chance: random.Random
) -> None:
    async with arena_on(durable_server, nursery, folder, lease=2.0) as arena:
        storm = await plant(arena)
        await strike_api(storm, chance, calls=CALLS, kills=KILLS)
        assert await offences(storm, CALLS) == []
        assert storm.broken, "no kill met a call under way"
