"""A run that kills its worker, one that hangs and two that cannot be read: others go on."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from tests.crash.crash_bench import FIVE_STEPS, CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer
from tests.crash.verdict import Evidence, gather, misrecorded_steps, repeated_steps

GOOD, WORKERS, LEASE = 60, 2, 1.0
POISON = {
    **FIVE_STEPS,
    "name": "poison",
    "plan": [{"step_id": "die", "action": "crash.die", "config": {}}],
}
HANGING = {
    **FIVE_STEPS,
    "name": "hanging",
    "plan": [
        {
            "step_id": "hang",
            "action": "crash.hang",
            "config": {"until": "never"},
            "timeout_seconds": 1,
            "max_retries": 0,
        }
    ],
}
# What a broken disk or a bad hand could make of what is stored.
SPOILED = {
    "unreadable plan": """
        UPDATE definitions d SET document = '{"schema_version": "1.2", "plan": 5}'
        FROM automation_versions v WHERE v.automation_id = $1
            AND d.workspace_id = v.workspace_id AND d.hash = v.definition_hash
    """,
    "unreadable grants": """
        UPDATE automation_versions SET grants = '[7]' WHERE automation_id = $1
    """,
}


async def test_a_run_that_kills_its_workers_ends_dead_and_blocks_nobody(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path
) -> None:
    async with open_crash_bench(
        durable_server,
        fork_server,
        folder,
        lease=LEASE,
        heartbeat=0.3,
        slots=16,
        least_ms=5,
        most_ms=30,
    ) as bench:
        good = await _dispatched(bench, FIVE_STEPS, GOOD // 2)
        (poison,) = await _dispatched(bench, POISON, 1)
        (hanging,) = await _dispatched(bench, HANGING, 1)
        unreadable = [await _spoiled(bench, name) for name in SPOILED]
        good += await _dispatched(bench, FIVE_STEPS, GOOD // 2)
        await _work_until_all_have_ended(bench)
        found = await gather(bench)

    assert [found.runs[run]["status"] for run in good] == ["succeeded"] * GOOD
    assert misrecorded_steps(found, among=good) + repeated_steps(found) == []
    _judge_poison(found, poison)
    assert found.runs[hanging]["status"] == "timed_out"
    assert found.runs[hanging]["reason"] == "step_timeout"
    for row in (found.runs[run] for run in unreadable):
        assert (row["status"], row["reason"]) == ("failed", "definition_unusable")
        assert row["error"]["detail"]


def _judge_poison(found: Evidence, poison: UUID) -> None:
    row = found.runs[poison]
    claims = found.claims()[poison]
    assert (row["status"], row["reason"], row["outcome"]) == ("dead", "poison", "failed")
    assert len(claims) <= 3
    # The evidence names the process that died last.
    assert f"/{claims[-1].pid}" in row["error"]["detail"]


async def _dispatched(bench: CrashBench, document: dict[str, object], count: int) -> list[UUID]:
    return await bench.dispatch(await bench.save(document), count)


async def _spoiled(bench: CrashBench, name: str) -> UUID:
    """A run that was accepted before its stored definition became nonsense."""
    automation = await bench.save({**FIVE_STEPS, "name": name})
    (run_id,) = await bench.dispatch(automation, 1)

    async def spoil(connection: Connection) -> None:
        await connection.execute(SPOILED[name], automation)

    await bench.ask(spoil)
    return run_id


async def _work_until_all_have_ended(bench: CrashBench) -> None:
    """Keeps the pool at its number: each worker that dies is replaced."""

    async def keep_up() -> None:
        while True:
            for _ in range(WORKERS - len(bench.pool.alive)):
                bench.pool.start()
            await asyncio.sleep(0.05)

    replacing = asyncio.create_task(keep_up())
    try:
        await bench.until_final(300)
    finally:
        replacing.cancel()
