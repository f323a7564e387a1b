"""The event log is read in an order in which nothing can be passed over."""

from __future__ import annotations

from secrets import token_hex
from uuid import UUID

import pytest

from mainspring.contracts.errors import NotFound
from mainspring.contracts.event import EventLogEntry, EventPosition, EventQuery, EventRow
from mainspring.contracts.ids import generate_id
from mainspring.contracts.limits import Limits
from mainspring.store.database import Database
from mainspring.store.events import EventTable, append_events

SPACE = generate_id()
START: EventPosition = ("0", UUID(int=0))
LOG = EventTable(Limits())


def _event(mark: str, event_id: UUID | None = None, space: UUID = SPACE) -> EventRow:
    return EventRow(
        space, event_id or generate_id(), "test.happened", "test", f'{{"mark": "{mark}"}}'
    )


async def _read(
    database: Database, after: EventPosition = START, most: int = 100
) -> list[EventLogEntry]:
    async with database.acquire() as connection:
        return list(await LOG.read(connection, after, most))


def _marks(entries: list[EventLogEntry]) -> list[object]:
    return [None if entry.event is None else entry.event.payload["mark"] for entry in entries]


async def test_a_late_commit_with_a_smaller_id_is_never_skipped(database: Database) -> None:
    early, late = generate_id(), generate_id()
    async with database.acquire() as slow:
        held = slow.transaction()
        await held.start()
        await append_events(slow, [_event("slow", early)])
        async with database.transaction() as quick:
            await append_events(quick, [_event("quick", late)])
        # The quick one is committed, but someone before it may still commit.
        assert await _read(database) == []
        await held.commit()
    assert _marks(await _read(database)) == ["slow", "quick"]


async def test_a_peek_tells_an_empty_log_from_one_that_is_not_settled(database: Database) -> None:
    async with database.acquire() as slow, database.acquire() as reader:
        assert await LOG.peek(reader, START) is None
        held = slow.transaction()
        await held.start()
        await append_events(slow, [_event("slow")])
        async with database.transaction() as quick:
            await append_events(quick, [_event("quick")])
        coming = await LOG.peek(reader, START)
        assert coming is not None
        assert coming[1] is False
        await held.commit()
        coming = await LOG.peek(reader, START)
        assert coming is not None
        assert coming[1] is True


async def test_reading_on_from_a_place_gives_every_event_once(database: Database) -> None:
    for number in range(7):
        async with database.transaction() as tx:
            await append_events(tx, [_event(f"{number}a"), _event(f"{number}b")])
    seen: list[object] = []
    after = START
    while found := await _read(database, after, 3):
        seen += _marks(found)
        after = found[-1].place
    assert seen == [f"{number}{mail}" for number in range(7) for mail in "ab"]


async def test_an_undone_transaction_leaves_no_event(database: Database) -> None:
    async with database.acquire() as connection:
        undone = connection.transaction()
        await undone.start()
        await append_events(connection, [_event("never")])
        await undone.rollback()
    assert await _read(database) == []


async def test_an_event_that_cannot_be_read_does_not_hide_others(
    database: Database,
) -> None:
    before = _event("before")
    huge = _event("huge")._replace(payload='{"mark": 1e400}')
    async with database.transaction() as tx:
        await append_events(tx, [before, huge, _event("after")])
    assert _marks(await _read(database)) == ["before", None, "after"]


async def test_large_events_come_a_few_at_a_time_and_none_is_left_out(database: Database) -> None:
    # Random text does not shrink on disk.
    texts = [f'{{"mark": {n}, "x": "{token_hex(128_000)}"}}' for n in range(40)]
    rows = [EventRow(SPACE, generate_id(), "test.happened", "test", text) for text in texts]
    async with database.transaction() as tx:
        await append_events(tx, rows)
    seen: list[object] = []
    reads, after = 0, START
    while found := await _read(database, after):
        seen += _marks(found)
        reads, after = reads + 1, found[-1].place
    assert seen == list(range(40))
    assert reads > 1


async def test_lists_are_newest_first_and_of_one_workspace(database: Database) -> None:
    other = generate_id()
    async with database.transaction() as tx:
        await append_events(tx, [_event("1"), _event("theirs", space=other), _event("2")])
    async with database.acquire() as connection:
        found = await LOG.list(connection, SPACE, EventQuery(), 10)
        assert [event.payload["mark"] for event in found] == ["2", "1"]
        older = await LOG.list(connection, SPACE, EventQuery(before=found[0].id), 10)
        assert [event.payload["mark"] for event in older] == ["1"]
        assert not await LOG.list(connection, SPACE, EventQuery(type="test.other"), 10)
        with pytest.raises(NotFound):
            await LOG.one(connection, other, found[0].id)
        assert await LOG.one(connection, SPACE, found[0].id) == found[0]


async def test_an_event_whose_time_is_over_is_no_longer_shown(database: Database) -> None:
    row = _event("old")
    async with database.transaction() as tx:
        await append_events(tx, [row, _event("new")])
        await tx.execute(
            "UPDATE events SET created_at = now() - interval '8 days' WHERE id = $1", row.id
        )
    async with database.acquire() as connection:
        found = await LOG.list(connection, SPACE, EventQuery(), 10)
        assert [event.payload["mark"] for event in found] == ["new"]
        with pytest.raises(NotFound):
            await LOG.one(connection, SPACE, row.id)
