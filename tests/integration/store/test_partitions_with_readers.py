"""Partitions for the next weeks are created despite long readers, and nobody waits for that."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from mainspring.store.partitions import ensure_partitions
from mainspring.store.snapshot import open_snapshot
from tests.kit.bench import Bench, document, step


async def test_a_new_week_does_not_stop_all_work_while_a_backup_reads(bench: Bench) -> None:
    database = bench.application.database
    now = await database.fetchval("SELECT now()")

    async def look_ahead() -> list[str]:
        """What every process does at its start, and every worker each hour."""
        async with database.transaction() as tx:
            return await ensure_partitions(tx, now + timedelta(days=7))

    async with open_snapshot(database):
        looking = asyncio.create_task(look_ahead())
        async with bench.worker():
            made = await bench.dispatch(document(step("n", "notification", {"title": "Hi"})))
            assert (await bench.until(made.run_id))["status"] == "succeeded"
        # It gave up its lock, and there is time.
        assert await looking == []
    assert await look_ahead() != []
