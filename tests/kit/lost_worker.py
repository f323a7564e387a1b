"""A worker that is declared dead and takes nothing back."""

from __future__ import annotations

import asyncio

from mainspring.runs.worker import rescue
from tests.kit.bench import Bench

LEASES_OVER = "UPDATE workers SET lease_until = now() - interval '1 second'"


class Dead:
    """A hook: once it is dead, the worker claims nothing more."""

    def __init__(self) -> None:
        self.dead = False

    def __call__(self, point: str) -> None:
        if self.dead and point == "claim.before":
            raise ConnectionError("This worker is dead.")


# Another worker of the same launcher, which is as alive as can be.
_PEER = """
    INSERT INTO workers (name, lease_until, host, launcher)
    SELECT 'peer', now() + interval '1 h', host, launcher FROM workers WHERE id = $1
"""


async def lose_workers(bench: Bench, *, machine: bool = False) -> None:
    """Every lease has run out, and the runs go back to the queue.

    The workers have died by themselves, or the machine with all of its workers was lost. A claim
    under way, or another round, may hold a worker's row; then the next round finds it.
    """
    database = bench.application.database
    lost = [row["id"] for row in await database.fetch(f"{LEASES_OVER} RETURNING id")]
    if not machine:
        await database.execute(_PEER, lost[0])
    async with asyncio.timeout(60):
        while lost:
            await rescue(database, bench.application.limits)
            rows = await database.fetch("SELECT id FROM workers WHERE id = ANY($1)", lost)
            lost = [row["id"] for row in rows]
