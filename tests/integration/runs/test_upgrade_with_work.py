"""An upgrade with work in the queue: every run goes on, and no recorded step is done again.

The tables are those of the landing before, with runs in every state that there is.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

from mainspring.app import prepare_database
from mainspring.contracts.ids import generate_id
from mainspring.runs.rows import FINAL
from mainspring.store.database import Database
from mainspring.store.downgrade import describe_losses, downgrade, plan_downgrade
from mainspring.store.migrate import migrate, read_schema_version
from mainspring.store.partitions import ensure_partitions
from mainspring.workspace.automations import FIRST_MEMBER, ensure_workspace
from mainspring.workspace.people.users import ensure_first_person
from tests.integration.runs.test_backup_under_load import elsewhere, states
from tests.kit.bench import PATIENCE, Bench, document, step
from tests.kit.capabilities import Outside

BEFORE = 11
EACH = 100
LIVE = ("pending", "running", "waiting")
_WORKER = "INSERT INTO workers (name, lease_until) VALUES ('lost', now()) RETURNING id"
_RUNS = """
    INSERT INTO runs (workspace_id, id, automation_id, version, trigger_type, queue, status,
        inputs, fence, worker, claimed_at, started_at, finished_at)
    SELECT $1, id, $2, 1, 'manual', 'fast', $4, '{}', CASE WHEN $4 = 'pending' THEN 0 ELSE 1 END,
        CASE WHEN $4 = 'running' THEN $5::int END,
        CASE WHEN $4 = 'running' THEN now() END, CASE WHEN $4 <> 'pending' THEN now() END,
        CASE WHEN $4 IN ('pending', 'running', 'waiting') THEN NULL ELSE now() END
    FROM unnest($3::uuid[]) AS id
"""
_STEPS = """
    INSERT INTO steps (workspace_id, run_id, fence, ms, attempt, run_attempt, step, status, output)
    SELECT $1, id, 1, 1, 1, 1, 'a', 'succeeded', '{"noted": true}' FROM unnest($2::uuid[]) AS id
"""
_COLUMNS = "SELECT id, status, finished_at, fence, inputs::text FROM runs WHERE id = ANY($1)"


async def lived_in(bench: Bench) -> dict[str, list[UUID]]:
    """A hundred runs in each state; those under way have one of three steps on record."""
    application = bench.application
    async with application.database.transaction() as tx:
        await ensure_partitions(tx, await tx.fetchval("SELECT now()"))
        await ensure_workspace(tx, application.workspace_id, "Home")
        await ensure_first_person(tx, FIRST_MEMBER, application.workspace_id)
    # The older tables have no columns for an agreement and for traits; saving needs the latter.
    versions = "ALTER TABLE automation_versions"
    await application.database.execute(f"{versions} ADD COLUMN traits jsonb")
    saved = await bench.save(document(*(step(name, "test.note") for name in "abc")), via=None)
    await application.database.execute(f"{versions} DROP COLUMN traits")
    worker = await application.database.fetchval(_WORKER)
    made: dict[str, list[UUID]] = {}
    for status in (*LIVE, *sorted(FINAL)):
        made[status] = [generate_id() for _ in range(EACH)]
        await application.database.execute(
            _RUNS, application.workspace_id, saved.automation_id, made[status], status, worker
        )
        if status in ("running", "waiting"):
            await application.database.execute(_STEPS, application.workspace_id, made[status])
    return made


async def ended(database: Database, ids: list[UUID]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in await database.fetch(_COLUMNS, ids))


async def test_runs_in_every_state_outlast_an_upgrade_and_a_downgrade(
    empty_database_url: str, tmp_path: Path
) -> None:
    outside = Outside()
    async with elsewhere(empty_database_url, tmp_path, outside) as bench:
        database = bench.application.database
        await migrate(database, upto=BEFORE)
        made = await lived_in(bench)
        final = [one for status in FINAL for one in made[status]]
        before = await ended(database, final)

        await migrate(database)
        await prepare_database(bench.application)
        assert await read_schema_version(database) > BEFORE
        async with bench.worker():
            async with asyncio.timeout(PATIENCE * 3):
                while set(await states(bench)) & set(LIVE):
                    await asyncio.sleep(0.02)

        expected = dict.fromkeys(FINAL, EACH)
        assert await states(bench) == {**expected, "succeeded": EACH * (1 + len(LIVE))}
        assert await ended(database, final) == before
        # Three steps for those that had done nothing, two for those that had done one.
        assert sum(outside.keys.values()) == EACH * (3 + 2 + 2)
        assert set(outside.keys.values()) == {1}

        # Back again, with something that the older tables have no place for.
        await database.execute(
            "INSERT INTO halts (id, workspace_id, scope, reason, halted_by) "
            "VALUES ($1, $2, 'workspace', 'x', $1)",
            generate_id(),
            bench.application.workspace_id,
        )
        parked = made["pending"][0]
        await database.execute(
            "UPDATE runs SET status = 'pending', finished_at = NULL, due_at = 'infinity', "
            "parked_due_at = '2026-01-01' WHERE id = $1",
            parked,
        )
        ways = plan_downgrade(await read_schema_version(database), BEFORE)
        assert await describe_losses(database, ways) == ["1 standing halts"]
        await downgrade(database, ways)
        due = await database.fetchval("SELECT due_at::date::text FROM runs WHERE id = $1", parked)
        assert due == "2026-01-01"
        assert await database.fetchval("SELECT count(*) FROM runs") == EACH * (len(FINAL) + 3)
