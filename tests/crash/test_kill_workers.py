"""Workers killed at random instants: nothing is lost and nothing recorded is repeated."""

from __future__ import annotations

import random
import statistics
from pathlib import Path

from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import open_crash_bench
from tests.crash.fault_injection import kill_workers
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import TAKEOVER_SECONDS, gather, offences, seconds_after, takeovers

RUNS, KILLS, LEASE, POLL = 200, 12, 2.0, 0.2


async def test_two_hundred_runs_survive_the_death_of_their_workers(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, chance: random.Random
) -> None:
    async with open_crash_bench(
        durable_server,
        fork_server,
        folder,
        lease=LEASE,
        poll=POLL,
        slots=8,
        least_ms=5,
        most_ms=40,
        takeovers=KILLS + 1,
    ) as bench:
        kills = await kill_workers(bench, chance, runs=RUNS, kills=KILLS, workers=3, pause=0.3)
        await bench.until_final(300)
        found = await gather(bench)

    assert offences(found) == []
    assert len(kills) == KILLS
    accepted = takeovers(found, LEASE)
    assert accepted, "no kill met a run under way"
    assert min(one.put_back for one in accepted) >= LEASE
    assert statistics.median(one.put_back for one in accepted) <= 1.5 * LEASE
    assert max(one.claimed for one in accepted) <= LEASE + TAKEOVER_SECONDS + POLL
    assert seconds_after(found, kills[-1].at_ns) <= 30
