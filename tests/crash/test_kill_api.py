"""However often the API is killed, each accepted key has exactly one run."""

from __future__ import annotations

import random
from pathlib import Path

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.webhooks import offences, plant, strike_api

CALLS, KILLS = 400, 8


async def test_runs_are_the_accepted_keys_exactly_although_the_api_is_killed(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=2.0) as bench:
        storm = await plant(bench)
        await strike_api(storm, chance, calls=CALLS, kills=KILLS)
        assert await offences(storm, CALLS) == []
        assert storm.broken, "no kill met a call under way"
