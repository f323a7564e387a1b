"""Claims, leases and fences, row by row: who may take which run, and what a lost worker leaves."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.runs import queue
from mainspring.runs.claim_fairness import LONG_AGO, ClaimQuery
from mainspring.store.database import Connection, Database
from tests.kit.run_rows import add_automation, add_run
from tests.kit.tenants import add_workspace

ONE, TWO = generate_id(), generate_id()
QUEUES = ("fast", "medium")
PLACE = queue.WorkerRegistration("here", "host", 1, QUEUES, 8)
NOW = datetime.now(UTC)


def _ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


@pytest.fixture(autouse=True)
def _now(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test may run long after its module was imported."""
    monkeypatch.setattr(sys.modules[__name__], "NOW", datetime.now(UTC))


async def _spaces(database: Database) -> dict[UUID, UUID]:
    """Two workspaces, and an automation of each."""
    found = {}
    for space in (ONE, TWO):
        await add_workspace(database, space, "one of two")
        found[space] = await add_automation(database, space)
    return found


async def _worker(
    database: Database, lease: float = 3600, place: queue.WorkerRegistration = PLACE
) -> int:
    return await queue.register(database, place, lease)


async def _row(database: Database, run: UUID) -> Mapping[str, Any]:
    found = await database.fetchrow("SELECT * FROM runs WHERE id = $1", run)
    assert found is not None
    return dict(found)


async def _claim(
    database: Database, worker: int, most: int = 9, look: ClaimQuery | None = None
) -> list[UUID]:
    async with database.transaction() as tx:
        return [one.id for one in await queue.claim(tx, QUEUES, most, worker, look)]


async def test_a_claim_takes_what_is_due_and_nobody_holds(database: Database) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    first = await add_run(database, ONE, of[ONE], due_at=_ago(30), trial=True, inputs={"a": 1})
    second = await add_run(database, TWO, of[TWO], due_at=_ago(20), status="waiting", fence=6)
    third = await add_run(database, ONE, of[ONE], due_at=_ago(10), queue="medium")
    await add_run(database, ONE, of[ONE], due_at=_ago(-60))
    await add_run(database, ONE, of[ONE], due_at=_ago(40), queue="long")
    await add_run(database, ONE, of[ONE], due_at=_ago(40), takeovers=1)
    for status in ("running", "succeeded", "dead"):
        await add_run(database, ONE, of[ONE], due_at=_ago(40), status=status)

    assert await _claim(database, worker, 1) == [first]
    assert set(await _claim(database, worker)) == {second, third}
    assert await _claim(database, worker) == []
    accepted = await _row(database, first)
    assert (accepted["status"], accepted["fence"], accepted["worker"]) == ("running", 1, worker)
    assert (accepted["trial"], accepted["parked_due_at"]) == (False, None)
    assert accepted["started_at"] == accepted["claimed_at"] is not None
    again = await _row(database, second)
    assert (again["fence"], again["worker"], again["due_at"]) == (7, worker, _ago(20))
    assert await queue.find_owned_runs(database, worker) == {(first, 1), (second, 7), (third, 1)}
    assert await queue.find_owned_runs(database, worker + 1) == set()


async def test_a_claim_carries_what_the_run_was_given(database: Database) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    begun = _ago(99)
    run = await add_run(
        database, ONE, of[ONE], inputs={"a": 1}, payload=[1], started_at=begun, cancel_at=NOW
    )
    (given,) = await queue.claim(database, QUEUES, 1, worker)
    assert (given.id, given.inputs, given.payload) == (run, {"a": 1}, [1])
    assert (given.started_at, given.cancelled, given.fence) == (begun, True, 1)
    await add_run(database, ONE, of[ONE])
    (bare,) = await queue.claim(database, QUEUES, 1, worker)
    assert (bare.inputs, bare.payload, bare.cancelled) == ({}, {}, False)


async def test_only_a_worker_with_a_lease_that_is_not_leaving_claims(database: Database) -> None:
    of = await _spaces(database)
    run = await add_run(database, ONE, of[ONE])
    suspect = await add_run(database, ONE, of[ONE], takeovers=1)
    lost, leaving = await _worker(database, -1), await _worker(database)
    await database.execute("UPDATE workers SET drain_at = now() WHERE id = $1", leaving)
    for worker in (lost, leaving, leaving + 1):
        assert await _claim(database, worker) == []
        assert await queue.claim_suspects(database, QUEUES, 9, worker, 3) == []
    worker = await _worker(database)
    assert await _claim(database, worker) == [run]
    (accepted,) = await queue.claim_suspects(database, QUEUES, 9, worker, 3)
    assert accepted.id == suspect


async def test_a_run_that_another_transaction_holds_is_passed_over(database: Database) -> None:
    of = await _spaces(database)
    held, free = [await add_run(database, ONE, of[ONE]) for _ in range(2)]
    late, early = [await add_run(database, ONE, of[ONE], takeovers=1) for _ in range(2)]
    worker = await _worker(database)
    async with database.transaction() as other:
        await other.execute("SELECT 1 FROM runs WHERE id = ANY($1) FOR UPDATE", [held, late])
        assert await _claim(database, worker) == [free]
        accepted = await queue.claim_suspects(database, QUEUES, 9, worker, 3)
        assert [one.id for one in accepted] == [early]
    assert await _claim(database, worker) == [held]


async def test_suspects_are_claimed_apart_the_worst_first(database: Database) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    given = [(1, 10), (2, 10), (1, 20), (3, 10), (0, 10)]
    once, twice, older, thrice, never = [
        await add_run(database, ONE, of[ONE], takeovers=count, due_at=_ago(due))
        for count, due in given
    ]
    await add_run(database, ONE, of[ONE], takeovers=1, due_at=_ago(-60))
    await add_run(database, ONE, of[ONE], takeovers=1, queue="long")
    await add_run(database, ONE, of[ONE], takeovers=1, status="running")

    async def suspects(most: int, takeovers: int) -> list[UUID]:
        async with database.transaction() as tx:
            found = await queue.claim_suspects(tx, QUEUES, most, worker, takeovers)
        return sorted((one.id for one in found), key=[twice, older, once, thrice, never].index)

    assert await suspects(1, 2) == [twice]
    assert await suspects(1, 2) == [older]
    assert await suspects(9, 2) == [once]
    assert await suspects(9, 3) == [thrice]
    assert await _claim(database, worker) == [never]


async def test_a_claim_serves_others_before_a_workspace_that_holds_much(
    database: Database,
) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    burst = [await add_run(database, ONE, of[ONE], due_at=_ago(90 - n)) for n in range(4)]
    other = await add_run(database, TWO, of[TWO], due_at=_ago(10))
    longest, later = (LONG_AGO,) * 2, (_ago(50),) * 2

    async def taken(most: int, floors: Any, crowd_most: int, crowd_floors: Any) -> set[UUID]:
        look = ClaimQuery(QUEUES, most, floors, (ONE,), crowd_most, crowd_floors)
        return set(await _claim(database, worker, most, look))

    assert await taken(9, longest, 2, later) == {other}
    assert await taken(9, longest, 0, longest) == set()
    assert await taken(9, later, 2, longest) == set(burst[:2])
    assert await taken(9, longest, 9, longest) == set(burst[2:])
    assert await _claim(database, worker, 9, ClaimQuery(QUEUES, 9, longest, (), 0, longest)) == []
    young = await add_run(database, TWO, of[TWO], due_at=_ago(60))
    assert await taken(9, later, 0, longest) == set()
    assert await taken(9, (_ago(60), LONG_AGO), 0, longest) == {young}


async def _halt(database: Database, space: UUID, *, released: bool = False) -> None:
    await database.execute(
        "INSERT INTO halts (id, workspace_id, scope, reason, halted_by, released_at) "
        "VALUES ($1, $2, 'workspace', 'x', $1, $3)",
        generate_id(),
        space,
        NOW if released else None,
    )


async def test_what_a_halt_holds_is_parked_and_others_are_claimed(database: Database) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    held = await add_run(database, ONE, of[ONE], due_at=_ago(90), fence=2, trial=True)
    suspect = await add_run(database, ONE, of[ONE], due_at=_ago(90), takeovers=1)
    cancelled = await add_run(database, ONE, of[ONE], due_at=_ago(80), cancel_at=NOW)
    free = await add_run(database, TWO, of[TWO], due_at=_ago(70))
    await _halt(database, ONE)
    await _halt(database, TWO, released=True)

    assert await _claim(database, worker, 1) == [cancelled]
    assert await _claim(database, worker) == [free]
    assert await queue.claim_suspects(database, QUEUES, 9, worker, 3) == []
    for run, fence in ((held, 2), (suspect, 0)):
        row = await _row(database, run)
        assert (row["status"], row["fence"], row["worker"]) == ("pending", fence, None)
        assert (row["due_at"].year, row["parked_due_at"]) == (9999, _ago(90))
        assert (row["claimed_at"], row["started_at"]) == (None, None)
    assert (await _row(database, held))["trial"]
    assert await _claim(database, worker) == []


async def test_a_claim_that_met_a_halt_takes_no_more_than_it_was_asked_for(
    database: Database,
) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    await _halt(database, ONE)
    await add_run(database, ONE, of[ONE], due_at=_ago(90))
    free = [await add_run(database, TWO, of[TWO], due_at=_ago(80 - n)) for n in range(4)]
    assert await _claim(database, worker, 2) == free[:2]
    # Nor more of a workspace that holds much already than it may have.
    await add_run(database, ONE, of[ONE], due_at=_ago(90))
    longest = (LONG_AGO,) * 2
    look = ClaimQuery(QUEUES, 9, longest, (TWO,), 1, longest)
    assert await _claim(database, worker, 9, look) == free[2:3]


async def test_a_worker_learns_which_of_its_runs_are_not_to_go_on(database: Database) -> None:
    of = await _spaces(database)
    worker, other = await _worker(database), await _worker(database)
    given: Sequence[tuple[UUID, int, Any, str]] = (
        (ONE, worker, None, "running"),
        (ONE, worker, NOW, "running"),
        (TWO, worker, None, "running"),
        (TWO, worker, NOW, "running"),
        (ONE, other, NOW, "running"),
        (ONE, worker, NOW, "waiting"),
    )
    runs = [
        await add_run(
            database, space, of[space], worker=who, cancel_at=when, status=status, fence=number
        )
        for number, (space, who, when, status) in enumerate(given)
    ]
    await _halt(database, ONE)
    assert await queue.find_revoked_runs(database, worker) == {
        (runs[0], 0): False,
        (runs[1], 1): True,
        (runs[3], 3): True,
    }
    assert await queue.find_owned_runs(database, worker) == {(runs[n], n) for n in range(4)}


async def test_a_lease_is_renewed_while_it_lasts(database: Database) -> None:
    worker, lost = await _worker(database, 5), await _worker(database, -1)
    heard = await queue.beat(database, worker, 3600, 3)
    assert heard is not None
    assert not heard.draining
    row = await database.fetchrow("SELECT * FROM workers WHERE id = $1", worker)
    assert row is not None
    assert (row["in_flight"], row["name"], row["slots"]) == (3, "here", 8)
    assert row["lease_until"] == heard.now + timedelta(seconds=3600)
    assert await queue.beat(database, lost, 3600, 3) is None
    assert await queue.lock_lost_workers(database) == [(lost, "here")]
    await database.execute("UPDATE workers SET drain_at = now() WHERE id = $1", worker)
    leaving = await queue.beat(database, worker, 3600, 0)
    assert leaving is not None
    assert leaving.draining
    # Under another number it is still to leave.
    again = await queue.register(database, PLACE, 60, worker)
    renewed = await queue.beat(database, again, 60, 0)
    assert renewed is not None
    assert renewed.draining
    await queue.leave(database, again)
    assert {row["id"] for row in await database.fetch("SELECT id FROM workers")} == {worker, lost}


async def test_lost_workers_are_locked_while_their_runs_are_requeued(
    database: Database,
) -> None:
    first, second = await _worker(database, -1), await _worker(database, -1)
    await _worker(database)
    async with database.transaction() as other:
        await other.execute("SELECT 1 FROM workers WHERE id = $1 FOR UPDATE", first)
        assert await queue.lock_lost_workers(database) == [(second, "here")]
    # Those that were asked to leave come last.
    await database.execute("UPDATE workers SET drain_at = now() WHERE id = $1", first)
    async with database.transaction() as tx:
        assert await queue.lock_lost_workers(tx) == [(second, "here"), (first, "here")]
        assert await queue.lock_lost_workers(database) == []


async def test_lost_workers_are_forgotten_but_for_those_that_were_asked_to_leave(
    database: Database,
) -> None:
    gone, result, long_gone, other = [await _worker(database, -1) for _ in range(4)]
    await database.execute("UPDATE workers SET drain_at = now() WHERE id = $1", result)
    await database.execute(
        "UPDATE workers SET drain_at = now(), lease_until = now() - interval '61 minutes' "
        "WHERE id = $1",
        long_gone,
    )
    await queue.forget_workers(database, [gone, result, long_gone])
    assert {row["id"] for row in await database.fetch("SELECT id FROM workers")} == {result, other}


async def test_runs_of_a_worker_that_nobody_knows_are_orphaned(database: Database) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    for who, status in ((worker, "running"), (98, "running"), (98, "running"), (99, "failed")):
        await add_run(database, ONE, of[ONE], worker=who, status=status)
    await add_run(database, ONE, of[ONE], status="running")
    assert await queue.find_orphaned_workers(database) == [98]


async def test_the_next_due_time_is_that_of_a_waiting_run(database: Database) -> None:
    of = await _spaces(database)
    assert await queue.next_due(database, QUEUES) is None
    far = datetime.now(UTC) + timedelta(seconds=500)
    soon = datetime.now(UTC) + timedelta(seconds=50)
    await add_run(database, ONE, of[ONE], due_at=_ago(5))
    await add_run(database, ONE, of[ONE], due_at=soon, queue="long")
    await add_run(database, ONE, of[ONE], due_at=soon, status="running")
    endless = await add_run(database, ONE, of[ONE], due_at=far, status="waiting")
    await database.execute("UPDATE runs SET due_at = 'infinity' WHERE id = $1", endless)
    assert await queue.next_due(database, QUEUES) is None
    await add_run(database, ONE, of[ONE], due_at=far, status="waiting")
    found = await queue.next_due(database, QUEUES)
    assert found is not None
    assert 400 < found <= 500
    assert await queue.next_due(database, ("medium",)) is None


LIMITS = Limits(takeovers=3, losses=10)
HEARTBEAT = 10.0


async def _lost_worker(database: Database) -> int:
    """A worker that died by itself: another one of the same launcher has lived on."""
    await _worker(database, place=replace(PLACE, mark="lives on"))
    return await _worker(database, -1, place=replace(PLACE, mark="died"))


async def _put_back(
    database: Database | Connection, workers: Sequence[int], only: Any = None
) -> dict[UUID, str]:
    rows = await queue.requeue_runs(
        database, workers, LIMITS, {"code": "poison"}, only, heartbeat=HEARTBEAT
    )
    return {row["id"]: row["status"] for row in rows}


async def _step(database: Database, space: UUID, run: UUID, fence: int) -> None:
    await database.execute(
        "INSERT INTO steps (workspace_id, run_id, fence, ms, attempt, run_attempt, step, status) "
        "VALUES ($1, $2, $3, 1, 1, 1, 'a', 'succeeded')",
        space,
        run,
        fence,
    )


async def test_the_runs_of_a_lost_worker_go_back_with_another_fence(database: Database) -> None:
    of = await _spaces(database)
    worker, other = await _lost_worker(database), await _worker(database)
    claimed = {"status": "running", "fence": 4, "claimed_at": datetime.now(UTC)}
    run = await add_run(database, ONE, of[ONE], worker=worker, **claimed)
    stored = await add_run(database, ONE, of[ONE], worker=other, **claimed)
    ended = await add_run(database, ONE, of[ONE], worker=worker, status="failed", fence=4)
    # Another automation of the workspace has nothing to do with it.
    await add_automation(database, ONE)
    (back,) = await queue.requeue_runs(database, [worker], LIMITS, {}, None, heartbeat=HEARTBEAT)
    assert (back["id"], back["status"], back["name"]) == (run, "pending", str(of[ONE]))
    row = await _row(database, run)
    assert (row["fence"], row["worker"], row["takeovers"], row["losses"]) == (5, None, 1, 1)
    assert (row["finished_at"], row["reason"], row["outcome"], row["error"]) == (None,) * 4
    assert row["active_ms"] > 0
    assert (await _row(database, stored))["fence"] == 4
    assert (await _row(database, ended))["fence"] == 4


@pytest.mark.parametrize(
    ("before", "progress", "after"),
    [
        # Takeovers, losses and whether a step had begun: what they become.
        ((0, 0, False), False, (1, 1, "pending")),
        ((1, 1, True), False, (2, 2, "pending")),
        ((2, 2, True), False, (3, 3, "dead")),
        ((2, 2, False), False, (2, 3, "pending")),
        ((2, 9, False), False, (2, 10, "dead")),
        ((2, 8, False), False, (2, 9, "pending")),
        ((2, 9, True), True, (1, 1, "pending")),
    ],
)
async def test_a_run_that_keeps_losing_its_worker_without_progress_is_dead(
    database: Database,
    before: tuple[int, int, bool],
    progress: bool,
    after: tuple[int, int, str],
) -> None:
    of = await _spaces(database)
    worker = await _lost_worker(database)
    takeovers, losses, trial = before
    run = await add_run(
        database,
        ONE,
        of[ONE],
        worker=worker,
        status="running",
        fence=4,
        claimed_at=datetime.now(UTC),
        takeovers=takeovers,
        losses=losses,
        trial=trial,
    )
    # Steps of another run, and of this one under another worker, are no progress.
    other = await add_run(database, ONE, of[ONE], status="succeeded")
    await _step(database, ONE, other, 4)
    await _step(database, ONE, run, 4 if progress else 3)
    await _put_back(database, [worker])
    row = await _row(database, run)
    assert (row["takeovers"], row["losses"], row["status"]) == after
    dead = after[2] == "dead"
    assert row["reason"] == ("poison" if dead else None)
    assert row["outcome"] == ("failed" if dead else None)
    assert row["error"] == ({"code": "poison"} if dead else None)
    assert (row["finished_at"] is not None) is dead


async def test_only_the_named_claims_are_put_back(database: Database) -> None:
    of = await _spaces(database)
    worker = await _worker(database)
    first, second, third = [
        await add_run(
            database, ONE, of[ONE], worker=worker, status="running", fence=4, claimed_at=NOW
        )
        for _ in range(3)
    ]
    assert await _put_back(database, [worker], [(first, 4), (second, 3)]) == {first: "pending"}
    assert await _put_back(database, [worker], []) == {}
    assert set(await _put_back(database, [worker])) == {second, third}


@pytest.mark.parametrize("back", [False, True])
async def test_nothing_counts_when_the_database_was_started_since_the_claim(
    database: Database, back: bool
) -> None:
    """Whether the process of the worker has died or has registered again."""
    of = await _spaces(database)
    worker = await _lost_worker(database)
    if back:
        await _worker(database, place=replace(PLACE, mark="died"))
    before = {"worker": worker, "status": "running", "takeovers": 1, "losses": 2, "trial": True}
    old, new = [
        await add_run(database, ONE, of[ONE], **before, claimed_at=claimed)
        for claimed in (datetime(2020, 1, 1, tzinfo=UTC), datetime.now(UTC))
    ]
    await _put_back(database, [worker])
    found = {run: await _row(database, run) for run in (old, new)}
    assert (found[old]["takeovers"], found[old]["losses"]) == (1, 2)
    assert (found[new]["takeovers"], found[new]["losses"]) == (1 if back else 2, 3)


@pytest.mark.parametrize(
    ("takeovers", "alone", "after"), [(1, False, 2), (2, False, 2), (2, True, 3)]
)
async def test_a_suspect_of_two_losses_counts_only_when_it_ran_alone(
    database: Database, takeovers: int, alone: bool, after: int
) -> None:
    of = await _spaces(database)
    worker = await _lost_worker(database)
    claimed = {"worker": worker, "status": "running", "claimed_at": datetime.now(UTC)}
    run = await add_run(database, ONE, of[ONE], takeovers=takeovers, trial=True, **claimed)
    if not alone:
        await add_run(database, ONE, of[ONE], **claimed)
    await _put_back(database, [worker])
    assert (await _row(database, run))["takeovers"] == after


async def test_a_run_that_is_due_already_is_not_waited_for(database: Database) -> None:
    of = await _spaces(database)
    run = await add_run(database, ONE, of[ONE])
    async with database.transaction() as tx:
        # The time does not go on within a transaction.
        await tx.execute("UPDATE runs SET due_at = now() - interval '0.5 s' WHERE id = $1", run)
        assert await queue.next_due(tx, QUEUES) is None
        assert await queue.next_due(tx, QUEUES, 0.4) is None
        assert await queue.next_due(tx, QUEUES, 0.6) is not None
