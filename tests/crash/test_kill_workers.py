"""Workers killed at random instants: nothing is lost and nothing recorded is repeated."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

from mainspring.store.embedded import EmbeddedServer
from tests.crash.arena import arena_on
from tests.crash.nursery import Nursery
from tests.crash.storms import Tide, kill_workers
from tests.crash.verdict import gather, offences, seconds_after, takeover_delays

RUNS, KILLS, LEASE, POLL = 200, 12, 2.0, 0.2
# A lease this short leaves no room for a machine with two busy cores; the full size, with
# the lease of the product, holds every takeover to the bound that is asked of half here.
BUSY = 10.0


async def test_two_hundred_runs_survive_the_death_of_their_workers(
    durable_server: EmbeddedServer, nursery: Nursery, folder: Path, chance: random.Random
) -> None:
    async with arena_on(
        durable_server, nursery, folder, lease=LEASE, poll=POLL, slots=8, least_ms=5, most_ms=40
    ) as arena:
        tide = await Tide.of_five_steps(arena, RUNS, KILLS)
        kills = await kill_workers(arena, tide, chance, workers=3, pause=0.5)
        await arena.until_final(60)
        found = await gather(arena)

    delays = takeover_delays(found, LEASE)
    assert offences(found) == []
    assert len(kills) == KILLS
    assert delays, "no kill met a run under way"
    assert min(delays) >= LEASE
    assert statistics.median(delays) <= 1.5 * LEASE + POLL
    assert max(delays) <= 1.5 * LEASE + POLL + BUSY
    assert seconds_after(found, kills[-1].at_ns) <= 30
