"""The event log is read in an order in which nothing can be passed over."""

from __future__ import annotations

from uuid import UUID

from mainspring.contracts.ids import new_id
from mainspring.store.database import Database
from mainspring.store.events import append_events, read_events

SPACE = new_id()
START = ("0", UUID(int=0))


def _event(mark: str, event_id: UUID | None = None) -> tuple[UUID, UUID, str, str, str]:
    return SPACE, event_id or new_id(), "test.happened", "test", f'{{"mark": "{mark}"}}'


async def _read(database: Database, after: tuple[str, UUID] = START) -> list[dict[str, object]]:
    async with database.acquire() as connection:
        return list(await read_events(connection, after, 100))


async def test_a_late_commit_with_a_smaller_id_is_never_skipped(database: Database) -> None:
    early, late = new_id(), new_id()
    async with database.acquire() as slow:
        held = slow.transaction()
        await held.start()
        await append_events(slow, [_event("slow", early)])
        async with database.transaction() as quick:
            await append_events(quick, [_event("quick", late)])
        # The quick one is committed, but someone before it may still commit.
        assert await _read(database) == []
        await held.commit()
    assert [event["payload"] for event in await _read(database)] == [
        {"mark": "slow"},
        {"mark": "quick"},
    ]


async def test_reading_on_from_a_place_gives_every_event_once(database: Database) -> None:
    for number in range(7):
        async with database.transaction() as tx:
            await append_events(tx, [_event(f"{number}a"), _event(f"{number}b")])
    seen: list[object] = []
    after = START
    while True:
        async with database.acquire() as connection:
            found = await read_events(connection, after, 3)
        if not found:
            break
        seen += [event["payload"]["mark"] for event in found]
        after = (found[-1]["xid"], found[-1]["id"])
    assert seen == [f"{number}{letter}" for number in range(7) for letter in "ab"]


async def test_an_undone_transaction_leaves_no_event(database: Database) -> None:
    async with database.acquire() as connection:
        undone = connection.transaction()
        await undone.start()
        await append_events(connection, [_event("never")])
        await undone.rollback()
    assert await _read(database) == []
