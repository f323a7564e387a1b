"""Wake-ups: they arrive, they are few, and they survive a restart of Postgres."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest_asyncio

from mainspring.settings import Settings
from mainspring.store.database import Database
from mainspring.store.wakeups import EVERYTHING, WakeupListener, WakeupSender
from tests.kit.runaway import RUNAWAY

PATIENCE = 60.0


@pytest_asyncio.fixture
async def wakeup_sender(database: Database) -> AsyncIterator[WakeupSender]:
    made = WakeupSender(database)
    try:
        yield made
    finally:
        await made.aclose()


@pytest_asyncio.fixture
async def listener(database: Database) -> AsyncIterator[WakeupListener]:
    made = WakeupListener(database, "runs")
    try:
        # From this answer on, it listens.
        assert await made.wait(PATIENCE) == {EVERYTHING}
        yield made
    finally:
        await made.aclose()


async def heard(listener: WakeupListener, wanted: set[str]) -> set[str]:
    """Waits until all of these have arrived; answers everything that did."""
    found: set[str] = set()
    async with asyncio.timeout(PATIENCE):
        while not wanted <= found:
            found |= await listener.wait(PATIENCE)
    return found


async def test_a_hint_arrives_with_its_payload(
    wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("runs", "fast")

    assert await listener.wait(PATIENCE) == {"fast"}


async def test_another_channels_hints_are_not_heard(
    wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("elsewhere", "a")
    wakeup_sender.wake("runs", "b")

    assert await heard(listener, {"b"}) == {"b"}


async def test_no_hint_is_an_empty_answer_after_the_given_time(listener: WakeupListener) -> None:
    begun = time.monotonic()

    assert await listener.wait(0.05) == set()
    assert 0.04 < time.monotonic() - begun < RUNAWAY


async def test_a_hint_that_came_before_the_wait_is_not_lost(
    wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("runs", "early")
    other = WakeupListener(wakeup_sender._database, "runs")
    try:
        await other.wait(PATIENCE)
        wakeup_sender.wake("runs", "late")
        await heard(other, {"late"})
        # The other one has it, so this one has it too, although nobody was waiting here.
        assert await listener.wait(0) >= {"early"}
    finally:
        await other.aclose()


async def test_a_burst_of_hints_is_sent_in_few_statements(
    database: Database, wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("runs", "first")
    await heard(listener, {"first"})
    before = await sent_by(database)

    for number in range(5_000):
        wakeup_sender.wake("runs", str(number % 100))
        if number % 100 == 0:
            await asyncio.sleep(0)
    await heard(listener, {str(number) for number in range(100)})

    assert await sent_by(database) - before < 50


async def sent_by(database: Database) -> int:
    """Transactions of this database so far; only the waker makes them in these tests."""
    await database.execute("SELECT pg_stat_clear_snapshot(), pg_stat_force_next_flush()")
    value = await database.fetchval(
        "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
    )
    assert isinstance(value, int)
    return value


async def test_too_many_payloads_become_one_that_represents_all(
    wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    for number in range(3_000):
        wakeup_sender.wake("runs", str(number))

    assert EVERYTHING in await heard(listener, {EVERYTHING})


async def test_a_payload_too_long_to_travel_represents_all(
    wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("runs", "ü" * 4_000)

    assert await listener.wait(PATIENCE) == {EVERYTHING}


async def test_what_is_noted_is_sent_before_the_waker_closes(
    database: Database, listener: WakeupListener
) -> None:
    wakeup_sender = WakeupSender(database)
    wakeup_sender.wake("runs", "last")
    await wakeup_sender.aclose()

    assert await listener.wait(PATIENCE) == {"last"}


async def test_hints_are_not_flushed_to_disk(
    database: Database, wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("runs", "x")
    await heard(listener, {"x"})
    await wakeup_sender._quiet.wait()

    assert await database.fetchval("SHOW synchronous_commit") == "on"
    assert wakeup_sender._connection is not None
    assert await wakeup_sender._connection.fetchval("SHOW synchronous_commit") == "off"


async def test_both_ends_survive_a_kill_of_postgres(used_home: Path) -> None:
    database = await Database.open(Settings(home=used_home))
    wakeup_sender, listener = WakeupSender(database), WakeupListener(database, "runs")
    try:
        await listener.wait(PATIENCE)
        wakeup_sender.wake("runs", "before")
        await heard(listener, {"before"})
        for round_ in range(3):
            assert database.server is not None
            assert database.server.pid is not None
            os.kill(database.server.pid, signal.SIGKILL)

            # What may have been missed is said as "look at everything".
            await heard(listener, {EVERYTHING})
            wakeup_sender.wake("runs", f"after {round_}")
            assert f"after {round_}" in await heard(listener, {f"after {round_}"})
    finally:
        await wakeup_sender.aclose()
        await listener.aclose()
        await database.close()


async def test_a_hint_whose_sending_breaks_is_sent_again(
    database: Database, wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    wakeup_sender.wake("runs", "first")
    await heard(listener, {"first"})
    await wakeup_sender._quiet.wait()
    assert wakeup_sender._connection is not None
    sender = wakeup_sender._connection.get_server_pid()
    # Held still, it takes the statement but does not read it before it is told to end.
    os.kill(sender, signal.SIGSTOP)
    wakeup_sender.wake("runs", "second")
    while wakeup_sender._waiting:
        await asyncio.sleep(0)
    await database.execute("SELECT pg_terminate_backend($1)", sender)
    os.kill(sender, signal.SIGCONT)

    assert await heard(listener, {"second"}) == {"second"}


_LISTENING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"


async def test_several_who_wait_for_the_same_hints_hear_all_of_them_over_one_connection(
    database: Database, wakeup_sender: WakeupSender, listener: WakeupListener
) -> None:
    others = [listener.share_connection(), listener.share_connection()]
    try:
        for one in others:
            # What was said before it came may have been for it.
            assert await one.wait(PATIENCE) == {EVERYTHING}
        wakeup_sender.wake("runs", "a")
        for one in (*others, listener):
            assert await heard(one, {"a"}) == {"a"}
        assert await database.fetchval(_LISTENING) == 1
        # A listener that closes leaves the connection to the others, and may reopen.
        await others[0].aclose()
        await listener.aclose()
        wakeup_sender.wake("runs", "b")
        assert await heard(others[1], {"b"}) == {"b"}
        assert await listener.wait(PATIENCE) == {EVERYTHING}
    finally:
        for one in others:
            await one.aclose()
