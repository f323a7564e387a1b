"""A reader of the log acts on every event once, whatever happens to it on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import UUID

import pytest

from mainspring.contracts.context import Transaction
from mainspring.contracts.errors import Problem
from mainspring.contracts.event import Event, EventLogEntry, EventRow
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.events import EventTable, append_events
from mainspring.triggers import log_reader
from mainspring.triggers.log_reader import EventLogReader, Handle, PartialBatch, StalePreparation

SPACE = generate_id()


async def _tell(database: Database, *marks: object) -> list[UUID]:
    rows = [
        EventRow(SPACE, generate_id(), "test.happened", "t", f'{{"mark": {mark}}}')
        for mark in marks
    ]
    async with database.transaction() as tx:
        await append_events(tx, rows)
    return [row.id for row in rows]


class Notes:
    """A consumer whose effects are rows, so that they commit with the cursor or not at all."""

    def __init__(self, database: Database, *poison: int) -> None:
        self.database = database
        self.poison = poison
        self.batches: list[int] = []
        self.passed_over: list[tuple[UUID, str]] = []
        self.woken = 0

    async def prepare(self) -> None:
        await self.database.execute("CREATE TABLE notes (n serial, mark bigint)")

    async def handle(self, tx: Transaction, events: Sequence[Event]) -> Callable[[], None]:
        self.batches.append(len(events))
        for event in events:
            if event.payload["mark"] in self.poison:
                raise ZeroDivisionError
            await tx.execute("INSERT INTO notes (mark) VALUES ($1)", event.payload["mark"])
        return self._wake

    def _wake(self) -> None:
        self.woken += 1

    async def over(self, tx: Transaction, entry: EventLogEntry, problem: Problem) -> None:
        self.passed_over.append((entry.place[1], problem.code))

    def reader(self, *, most: int = 500, from_beginning: bool = False) -> EventLogReader:
        return EventLogReader(
            self.database,
            "test",
            self.handle,
            passed_over=self.over,
            most=most,
            from_beginning=from_beginning,
        )

    async def marks(self) -> list[int]:
        return [
            row["mark"] for row in await self.database.fetch("SELECT mark FROM notes ORDER BY n")
        ]


async def _all(reader: EventLogReader) -> None:
    while await reader.once():
        pass


async def _until(database: Database, notes: Notes, count: int) -> None:
    async with asyncio.timeout(60):
        while len(await notes.marks()) < count:
            await asyncio.sleep(0.01)


async def test_a_new_consumer_begins_with_the_present(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    await _tell(database, 1, 2)
    reader = notes.reader()
    assert await reader.once() == 0
    await _tell(database, 3)
    await _all(reader)
    assert await notes.marks() == [3]
    assert notes.woken == 1


async def test_a_consumer_that_must_miss_nothing_begins_with_the_oldest(
    database: Database,
) -> None:
    notes = Notes(database)
    await notes.prepare()
    await _tell(database, 1, 2)
    await _all(notes.reader(from_beginning=True))
    assert await notes.marks() == [1, 2]


async def test_the_next_reader_goes_on_where_the_last_one_stopped(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    await notes.reader().begin()
    await _tell(database, *range(7))
    assert await notes.reader(most=3).once() == 3
    await _all(notes.reader(most=3))
    assert await notes.marks() == list(range(7))


async def test_an_event_that_breaks_its_handler_is_passed_over_and_no_other(
    database: Database,
) -> None:
    notes = Notes(database, 5, 300)
    await notes.prepare()
    await notes.reader().begin()
    ids = await _tell(database, *range(500))
    await _all(notes.reader())
    assert await notes.marks() == [mark for mark in range(500) if mark not in (5, 300)]
    assert [event_id for event_id, _ in notes.passed_over] == [ids[5], ids[300]]
    # The search for the broken one takes few transactions, not one for each event.
    assert len(notes.batches) < 60


async def test_an_event_that_cannot_be_read_is_passed_over_with_a_record(
    database: Database,
) -> None:
    notes = Notes(database)
    await notes.prepare()
    await notes.reader().begin()
    ids = await _tell(database, 1, "1e400", 3)
    await _all(notes.reader())
    assert await notes.marks() == [1, 3]
    assert notes.passed_over == [(ids[1], "event_unreadable")]


async def test_a_record_that_cannot_be_left_does_not_stop_the_reader(database: Database) -> None:
    notes = Notes(database, 2)
    await notes.prepare()

    async def broken(tx: Transaction, entry: EventLogEntry, problem: Problem) -> None:
        await tx.execute("SELECT 1 / 0")

    reader = EventLogReader(database, "test", notes.handle, passed_over=broken)
    await reader.begin()
    await _tell(database, 1, 2, 3, "1e400", 5)
    await _all(reader)
    assert await notes.marks() == [1, 3, 5]


async def test_a_handler_may_take_part_of_a_batch(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()

    async def two(tx: Transaction, events: Sequence[Event]) -> PartialBatch | None:
        await notes.handle(tx, events[:2])
        return PartialBatch(2) if len(events) > 2 else None

    reader = EventLogReader(database, "test", two, passed_over=notes.over)
    await reader.begin()
    await _tell(database, 1, 2, "1e400", 4, 5)
    await _all(reader)
    assert await notes.marks() == [1, 2, 4, 5]
    assert len(notes.passed_over) == 1


async def test_concurrent_readers_act_on_every_event_once(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    await notes.reader().begin()
    stop = asyncio.Event()
    tasks = [asyncio.create_task(notes.reader(most=5).run(stop)) for _ in range(4)]
    for number in range(30):
        await _tell(database, *range(number * 4, number * 4 + 4))
    await _until(database, notes, 120)
    stop.set()
    await asyncio.gather(*tasks)
    assert await notes.marks() == list(range(120))


async def test_a_reader_passes_over_no_event_that_it_has_not_tried(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    notes = Notes(database)
    await notes.prepare()
    settings = Settings(home=tmp_path, database_url=database_url)
    narrow = await Database.open(settings, pool_size=2)
    tasks: list[asyncio.Task[None]] = []

    async def overtake(event_id: UUID) -> None:
        await narrow.execute(
            "UPDATE event_cursors SET xid = e.xid, id = e.id FROM events e WHERE e.id = $1",
            event_id,
        )

    async def stand_in_line() -> None:
        async with narrow.acquire():
            await tasks[0]

    async def broken(tx: Transaction, events: Sequence[Event]) -> None:
        """Breaks on the first event; before it can be passed over, another reader is past it."""
        if events[0].payload["mark"] != 1:
            await notes.handle(tx, events)
            return
        tasks.append(asyncio.create_task(overtake(events[0].id)))
        await _until_blocked(tx)
        tasks.append(asyncio.create_task(stand_in_line()))
        await asyncio.sleep(0)
        raise ZeroDivisionError

    try:
        reader = EventLogReader(narrow, "test", broken, passed_over=notes.over, most=1)
        await reader.begin()
        await _tell(database, 1, 2, 3)
        assert await reader.once() == 0
        await asyncio.gather(*tasks)
        await _all(reader)
    finally:
        await narrow.close()
    assert await notes.marks() == [2, 3]
    assert notes.passed_over == []


async def _until_blocked(tx: Transaction) -> None:
    async with asyncio.timeout(60):
        while not await tx.fetch("SELECT 1 FROM pg_locks WHERE NOT granted"):
            await asyncio.sleep(0.01)


async def test_a_reader_that_dies_before_its_commit_leaves_no_trace(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    await notes.reader().begin()
    await _tell(database, 1, 2)
    for point in ("read", "handled", "moved"):

        def die(at: str, point: str = point) -> None:
            if at == point:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await EventLogReader(database, "test", notes.handle, hook=die).once()
        assert await notes.marks() == []
    await _all(notes.reader())
    assert await notes.marks() == [1, 2]


async def test_a_lost_connection_is_waited_for_and_costs_no_event(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    lost = 0

    async def cut(tx: Transaction, events: Sequence[Event]) -> None:
        nonlocal lost
        await notes.handle(tx, events)
        if lost < 3:
            lost += 1
            await tx.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    reader = EventLogReader(database, "test", cut, passed_over=notes.over)
    await reader.begin()
    await _tell(database, 1, 2, 3)
    stop = asyncio.Event()
    task = asyncio.create_task(reader.run(stop))
    await _until(database, notes, 3)
    stop.set()
    await task
    assert await notes.marks() == [1, 2, 3]
    assert notes.passed_over == []


async def test_a_cursor_of_another_server_begins_anew(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    await notes.reader().begin()
    await database.execute("UPDATE event_cursors SET xid = '99999999999'")
    reader = notes.reader()
    assert await reader.once() == 0
    await _tell(database, 1)
    await _all(reader)
    assert await notes.marks() == [1]


class Breaker:
    """A handler that loses its connection over certain events, so many times."""

    def __init__(self, notes: Notes, mark: int, times: int = 1_000) -> None:
        self.notes, self.mark, self.times = notes, mark, times

    async def handle(self, tx: Transaction, events: Sequence[Event]) -> None:
        await self.notes.handle(tx, events)
        if self.times and self.mark in [event.payload["mark"] for event in events]:
            self.times -= 1
            await tx.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    async def read(self, count: int) -> list[UUID]:
        """Tells of so many events and reads until as many were noted as can be."""
        database = self.notes.database
        reader = EventLogReader(database, "test", self.handle, passed_over=self.notes.over)
        await reader.begin()
        ids = await _tell(database, *range(count))
        stop = asyncio.Event()
        task = asyncio.create_task(reader.run(stop))
        await _until(database, self.notes, count - (self.times == 1_000))
        stop.set()
        await task
        return ids


async def test_an_event_that_loses_the_connection_each_time_is_passed_over_in_the_end(
    database: Database,
) -> None:
    notes = Notes(database)
    await notes.prepare()
    ids = await Breaker(notes, 5).read(8)
    assert await notes.marks() == [mark for mark in range(8) if mark != 5]
    assert notes.passed_over == [(ids[5], "event_breaks_off")]


async def test_a_server_that_went_away_each_time_is_waited_for(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every look finds a server that has just begun.
    monkeypatch.setattr(
        log_reader,
        "_WHERE",
        log_reader._WHERE.replace("pg_postmaster_start_time()", "clock_timestamp()"),
    )
    notes = Notes(database)
    await notes.prepare()
    await Breaker(notes, 0, times=7).read(1)
    assert await notes.marks() == [0]
    assert notes.passed_over == []


async def test_preparing_holds_nothing(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    open_ones: list[int] = []

    async def prepare(events: Sequence[Event]) -> Handle:
        open_ones.append(
            await database.fetchval(
                "SELECT count(*) FROM pg_stat_activity WHERE xact_start IS NOT NULL "
                "AND pid <> pg_backend_pid() AND datname = current_database()"
            )
        )
        return notes.handle

    reader = EventLogReader(database, "test", prepare=prepare)
    await reader.begin()
    await _tell(database, 1, 2)
    await _all(reader)
    assert (await notes.marks(), open_ones) == ([1, 2], [0])


async def test_what_was_prepared_for_a_place_that_was_left_is_dropped(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()

    async def prepare(events: Sequence[Event]) -> Handle:
        if events[0].payload["mark"] == 1:
            await database.execute(
                "UPDATE event_cursors SET xid = e.xid, id = e.id FROM events e WHERE e.id = $1",
                events[0].id,
            )
        return notes.handle

    reader = EventLogReader(database, "test", prepare=prepare)
    await reader.begin()
    await _tell(database, 1, 2)
    assert await reader.once() == 0
    await _all(reader)
    assert await notes.marks() == [2]


async def test_what_no_longer_holds_is_prepared_anew(database: Database) -> None:
    notes = Notes(database)
    await notes.prepare()
    prepared: list[int] = []

    async def outdated(tx: Transaction, events: Sequence[Event]) -> None:
        await notes.handle(tx, events)
        raise StalePreparation

    async def prepare(events: Sequence[Event]) -> Handle:
        prepared.append(len(events))
        return outdated if len(prepared) == 1 else notes.handle

    reader = EventLogReader(database, "test", prepare=prepare)
    await reader.begin()
    await _tell(database, 1, 2)
    await _all(reader)
    assert (await notes.marks(), prepared) == ([1, 2], [2, 2])


async def test_a_read_is_bounded_by_what_it_brings_into_memory(database: Database) -> None:
    table = EventTable(Limits())
    # Large once written out, small on disk.
    payload = '{"text": "' + "ab" * 100_000 + '"}'
    small = [EventRow(SPACE, generate_id(), "test.happened", "t", "{}") for _ in range(300)]
    rows = [EventRow(SPACE, generate_id(), "test.happened", "t", payload) for _ in range(60)]
    async with database.transaction() as tx:
        await append_events(tx, small + rows)
    async with database.acquire() as connection:
        first = await table.read(connection, ("0", UUID(int=0)), 500)
        assert len(first) == 300 + 4_194_304 // len(payload) + 1
        second = await table.read(connection, first[-1].place, 500)
    ids = [entry.place[1] for entry in (*first, *second)]
    assert ids == [row.id for row in small + rows][: len(ids)]
