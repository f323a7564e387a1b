"""Pollers killed at their commit points: each item still starts exactly one run."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from mainspring.store.database import Connection
from mainspring.store.embedded import EmbeddedServer
from mainspring.workspace.automations import set_state
from tests.crash.crash_bench import CrashBench, open_crash_bench
from tests.crash.fork_server import ForkServer

ITEMS = 7


async def _plant(bench: CrashBench) -> UUID:
    """An active poll whose burst is smaller than its source."""
    config = {
        "capability": "crash.rows",
        "every": "1m",
        "items": "$.rows",
        "id": "$.id",
        "changed_on": "$.value",
        "first_look": "fire",
        "max_items": 3,
    }
    automation = await bench.save(
        {
            "schema_version": "1.2",
            "name": "rows",
            "goal": "Be started once for each row.",
            "plan": [{"step_id": "enter", "action": "ledger.apply", "config": {}}],
            "triggers": [{"id": "rows", "type": "poll", "config": config}],
            "execution": {"concurrency": "allow_parallel"},
        }
    )
    async with bench.application.database.transaction() as tx:
        await set_state(tx, bench.application.workspace_id, automation, "active")
        await _set_rows(tx, bench.application.workspace_id, automation, 1)
    return automation


async def _set_rows(tx: Any, workspace_id: UUID, automation: UUID, value: int) -> None:
    await tx.execute(
        "INSERT INTO automation_kv (workspace_id, automation_id, key, value)"
        " SELECT $1, $2, 'row-' || n, to_jsonb($3::int) FROM generate_series(1, $4::int) AS n"
        " ON CONFLICT (workspace_id, automation_id, key) DO UPDATE SET value = excluded.value",
        workspace_id,
        automation,
        value,
        ITEMS,
    )


async def _make_due(bench: CrashBench) -> None:
    async def work(connection: Connection) -> None:
        await connection.execute("UPDATE poll_states SET next_look_at = now()")

    await bench.ask(work)


async def _count(bench: CrashBench) -> Counter[tuple[str, int, str]]:
    async def read(connection: Connection) -> list[Any]:
        return await connection.fetch("SELECT payload FROM runs WHERE trigger_type = 'poll'")

    return Counter(
        (row["payload"]["item"]["id"], row["payload"]["item"]["value"], row["payload"]["change"])
        for row in await bench.ask(read)
    )


async def _drain(bench: CrashBench, expected: set[tuple[str, int, str]]) -> None:
    """Looks again until every item has started a run."""

    async def done() -> bool:
        await _make_due(bench)
        return (await _count(bench)).keys() >= expected

    await bench.until(done, 60, "every item has started a run")


@pytest.mark.parametrize("point", ["looked", "fired", "remembered", "committed"])
async def test_a_poller_killed_at_a_commit_point_loses_and_doubles_no_item(
    durable_server: EmbeddedServer, fork_server: ForkServer, folder: Path, point: str
) -> None:
    async with open_crash_bench(durable_server, fork_server, folder, lease=1.0) as bench:
        automation = await _plant(bench)
        for number in range(2):
            # Each time another life ends at the same place.
            victim = bench.pool.start(role="poller", point=point)
            assert await bench.until_ended(victim, 60) == -signal.SIGKILL, number
            await _make_due(bench)
        survivor = bench.pool.start(role="poller")
        new = {(f"row-{n}", 1, "new") for n in range(1, ITEMS + 1)}
        await _drain(bench, new)

        async def change(connection: Connection) -> None:
            await _set_rows(connection, bench.application.workspace_id, automation, 2)

        await bench.ask(change)
        second = bench.pool.start(role="poller", point=point)
        changed = {(f"row-{n}", 2, "changed") for n in range(1, ITEMS + 1)}
        await _drain(bench, changed)
        for member in (survivor, second):
            if member.alive:
                member.kill()
        found = await _count(bench)
        assert found == Counter(new | changed)
