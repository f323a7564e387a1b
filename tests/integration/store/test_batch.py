"""Grouped writes: a unit that breaks the connection, and errors that are distinguished."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg
import pytest

from mainspring.contracts.errors import Conflict, InternalError, Problem, StorageFull, UpstreamError
from mainspring.store.database import Database, DedicatedConnection
from mainspring.store.group_commit import ConnectionLossPolicy, GroupWriter

PATIENCE = ConnectionLossPolicy(losses=3, seconds=0.05)


class _Ledger:
    """Writes numbers; the poison among them has its connection ended in the middle."""

    def __init__(self, database: Database, poison: int | None) -> None:
        self.database = database
        self.poison = poison
        self.broken = 0
        self.groups = 0
        self.written: list[int] = []

    async def flush(self, connection: DedicatedConnection, units: Sequence[int]) -> Sequence[int]:
        async with connection.transaction():
            pid = await connection.fetchval("SELECT pg_backend_pid()")
            if self.poison in units:
                self.broken += 1
                await self.database.execute("SELECT pg_terminate_backend($1)", pid)
            await connection.execute("SELECT 1")
        self.groups += 1
        self.written += units
        return [unit * 2 for unit in units]


async def test_a_unit_that_breaks_every_connection_is_given_up_and_the_others_are_written(
    database: Database,
) -> None:
    ledger = _Ledger(database, poison=3)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush, patience=PATIENCE)
    try:
        async with asyncio.timeout(60):
            answers = await asyncio.gather(
                *(writer.submit(unit) for unit in range(6)), return_exceptions=True
            )
            assert await writer.write(7) == 14
    finally:
        await writer.aclose()
    assert [one for one in answers if isinstance(one, int)] == [0, 2, 4, 8, 10]
    refused = answers[3]
    assert isinstance(refused, UpstreamError)
    assert (refused.code, refused.retryable) == ("not_recorded", True)
    assert refused.retry_after is not None
    assert 3 not in ledger.written


async def test_without_patience_a_unit_is_never_given_up(database: Database) -> None:
    ledger = _Ledger(database, poison=3)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush)
    try:
        writing = writer.submit(3)
        async with asyncio.timeout(60):
            while ledger.broken < 5:
                await asyncio.sleep(0.01)
        assert not writing.done()
        ledger.poison = None
        async with asyncio.timeout(60):
            assert await writing == 6
    finally:
        await writer.aclose()


async def test_a_short_break_of_the_server_costs_a_patient_writer_nothing(
    database: Database,
) -> None:
    ledger = _Ledger(database, poison=3)
    patience = ConnectionLossPolicy(losses=1, seconds=60.0)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush, patience=patience)
    try:
        writing = writer.submit(3)
        async with asyncio.timeout(60):
            while ledger.broken < 4:
                await asyncio.sleep(0.01)
        ledger.poison = None
        async with asyncio.timeout(60):
            assert await writing == 6
    finally:
        await writer.aclose()


@pytest.mark.parametrize("many", [1, 3])
@pytest.mark.parametrize(
    ("error", "kind", "code"),
    [
        (asyncpg.DiskFullError("no space left on device"), StorageFull, "storage_full"),
        (asyncpg.DeadlockDetectedError("deadlock detected"), Conflict, "database_collision"),
    ],
)
async def test_what_the_database_cannot_do_is_reported_plainly(
    database: Database, error: Exception, kind: type[Problem], code: str, many: int
) -> None:
    async def flush(connection: DedicatedConnection, units: Sequence[int]) -> Sequence[int]:
        del connection, units
        raise error

    writer: GroupWriter[int, int] = GroupWriter(database, flush, patience=ConnectionLossPolicy())
    try:
        answers = await asyncio.gather(
            *(writer.submit(unit) for unit in range(many)), return_exceptions=True
        )
    finally:
        await writer.aclose()
    for answer in answers:
        assert isinstance(answer, kind)
        assert (answer.code, answer.retryable) == (code, True)
        assert str(error) not in str(answer.as_dict())


async def test_data_that_names_a_full_disk_is_refused_and_not_retried(database: Database) -> None:
    await database.execute("CREATE TABLE names (name text PRIMARY KEY)")
    flushed = 0

    async def flush(connection: DedicatedConnection, units: Sequence[str]) -> Sequence[str]:
        nonlocal flushed
        flushed += 1
        if flushed > 4:
            # A writer that repeats this for ever would never close.
            return units
        await connection.executemany("INSERT INTO names VALUES ($1)", [(one,) for one in units])
        return units

    writer: GroupWriter[str, str] = GroupWriter(database, flush)
    try:
        async with asyncio.timeout(60):
            await writer.write("No space left on device")
            with pytest.raises(InternalError) as refused:
                await writer.write("No space left on device")
    finally:
        await writer.aclose()
    assert refused.value.code == "database_error"
    assert not await database.storage.is_full(database)


async def test_a_group_that_may_wait_takes_along_who_comes_meanwhile(database: Database) -> None:
    ledger = _Ledger(database, poison=None)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush, gather=0.2)
    try:
        first = writer.submit(1)
        for _ in range(10):
            await asyncio.sleep(0)
        assert writer.waiting == 1
        second = writer.submit(2)
        async with asyncio.timeout(60):
            assert [await first, await second] == [2, 4]
    finally:
        await writer.aclose()
    assert (ledger.groups, ledger.written) == (1, [1, 2])


async def test_a_burst_does_not_wait_for_more(database: Database) -> None:
    ledger = _Ledger(database, poison=None)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush, most=80, gather=30)
    try:
        async with asyncio.timeout(60):
            answers = await asyncio.gather(*(writer.submit(unit) for unit in range(10)))
    finally:
        await writer.aclose()
    assert answers == [unit * 2 for unit in range(10)]


async def test_who_waited_in_a_group_goes_on_one_after_another(database: Database) -> None:
    """Other tasks get a turn between two of them."""
    ledger, went_on = _Ledger(database, poison=None), list[int]()
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush, most=80, gather=30)
    try:
        for unit in range(10):
            written = writer.submit(unit)
            written.add_done_callback(lambda done: went_on.append(done.result()))
        together = 0
        async with asyncio.timeout(60):
            while len(went_on) < 10:
                before = len(went_on)
                await asyncio.sleep(0)
                together = max(together, len(went_on) - before)
    finally:
        await writer.aclose()
    assert (ledger.groups, together) == (1, 1)
    assert went_on == [unit * 2 for unit in range(10)]


async def test_what_is_written_is_answered_also_when_the_writer_is_ended(
    database: Database,
) -> None:
    ledger = _Ledger(database, poison=None)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush, most=80, gather=30)
    try:
        waiting = [writer.submit(unit) for unit in range(10)]
        async with asyncio.timeout(60):
            await waiting[0]
        assert writer._task is not None
        writer._task.cancel()
        async with asyncio.timeout(60):
            assert await asyncio.gather(*waiting) == [unit * 2 for unit in range(10)]
    finally:
        await writer.aclose()


async def test_a_close_that_runs_out_of_time_leaves_no_task_and_no_connection(
    database: Database,
) -> None:
    opened, held = list[DedicatedConnection](), asyncio.Event()

    async def flush(connection: DedicatedConnection, units: Sequence[int]) -> Sequence[int]:
        opened.append(connection)
        await held.wait()
        return units

    writer: GroupWriter[int, int] = GroupWriter(database, flush)
    writing = writer.submit(1)
    async with asyncio.timeout(60):
        while not opened:
            await asyncio.sleep(0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await writer.aclose()
    assert writing.cancelled()
    assert opened[0].is_closed()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "group-writer"]


async def test_a_closed_writer_takes_nothing_and_opens_nothing(database: Database) -> None:
    ledger = _Ledger(database, poison=None)
    writer: GroupWriter[int, int] = GroupWriter(database, ledger.flush)
    async with asyncio.timeout(60):
        assert await writer.write(1) == 2
    await writer.aclose()
    assert writer.submit(2).cancelled()
    assert not [task for task in asyncio.all_tasks() if task.get_name() == "group-writer"]
    assert ledger.written == [1]
