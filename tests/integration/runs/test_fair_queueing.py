"""Turns in the queue: one workspace's thousand runs do not keep another's one waiting."""

from __future__ import annotations

import asyncio
from uuid import UUID

from mainspring.definition.validate import validate
from mainspring.runs import queue
from mainspring.runs.claim_fairness import LONG_AGO, ClaimQuery
from mainspring.runs.run_requests import RunRequest
from mainspring.workspace.automations import FIRST_MEMBER, save
from tests.kit.bench import Bench, document, step
from tests.kit.tenants import NEIGHBOUR, add_workspace

QUEUES = ("fast", "medium", "long")
PLAN = document(step("a", "test.note", {"mark": "a"}), execution={"concurrency": "allow_parallel"})
LONGEST = (LONG_AGO,) * len(QUEUES)


async def _handed_in(bench: Bench, space: UUID, count: int) -> list[UUID]:
    application = bench.application
    report = validate(PLAN, await application.registry.of(space), application.limits)
    assert report.definition is not None
    async with application.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO members (workspace_id, user_id, role) VALUES ($1, $2, 'owner')"
            " ON CONFLICT DO NOTHING",
            space,
            FIRST_MEMBER,
        )
        stored = await save(tx, space, report.definition, report.grants, FIRST_MEMBER, via="page")
    asked = [RunRequest(space, stored.automation_id) for _ in range(count)]
    return [made.run_id for made in await application.dispatcher.dispatch_all(asked)]


async def test_a_claim_serves_others_first_and_begins_where_requested(bench: Bench) -> None:
    database, burst = bench.application.database, bench.application.workspace_id
    await add_workspace(database, NEIGHBOUR, "neighbours")
    many = await _handed_in(bench, burst, 20)
    (one,) = await _handed_in(bench, NEIGHBOUR, 1)
    later = (await database.fetchval("SELECT due_at FROM runs WHERE id = $1", one),) * len(QUEUES)
    async with database.transaction() as tx:
        place = queue.WorkerRegistration("here", "here", 0, QUEUES, 8)
        worker = await queue.register(tx, place, 3600)

        async def taken(most: int, look: ClaimQuery) -> list[UUID]:
            return [run.id for run in await queue.claim(tx, QUEUES, most, worker, look)]

        other = ClaimQuery(QUEUES, 8, LONGEST, (burst,), 4, LONGEST)
        assert await taken(8, other) == [one, *many[:4]]
        # Nothing that is older than what is asked for, of whomever it is.
        assert await taken(8, ClaimQuery(QUEUES, 8, later, (), 0, LONGEST)) == []
        assert await taken(8, ClaimQuery(QUEUES, 8, LONGEST, (burst,), 4, later)) == []
        # Nobody is crowded out for good: alone, it may have everything, oldest first.
        assert await taken(9, ClaimQuery(QUEUES, 9, later, (burst,), 9, LONGEST)) == many[4:13]
        assert await taken(9, ClaimQuery(QUEUES, 9, LONGEST, (), 0, LONGEST)) == many[13:]


async def test_one_run_goes_before_the_hundreds_that_somebody_else_has_waiting(
    bench: Bench,
) -> None:
    database = bench.application.database
    await add_workspace(database, NEIGHBOUR, "neighbours")
    many = await _handed_in(bench, bench.application.workspace_id, 200)
    (one,) = await _handed_in(bench, NEIGHBOUR, 1)
    async with bench.worker(slots=8), asyncio.timeout(60):
        while await database.fetchval("SELECT count(*) FROM runs WHERE finished_at IS NULL"):
            await asyncio.sleep(0.05)
    before = await database.fetchval(
        "SELECT count(*) FROM runs r, runs o "
        "WHERE o.id = $1 AND r.id = ANY($2::uuid[]) AND r.claimed_at <= o.claimed_at",
        one,
        many,
    )
    # The worker's first claim, and what it took along with the one.
    assert before <= 16
    ends = await database.fetch("SELECT DISTINCT status FROM runs")
    assert [row["status"] for row in ends] == ["succeeded"]
