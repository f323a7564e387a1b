"""Who gets a hint: a worker that waits for work, and not one that is busy."""

from __future__ import annotations

import asyncio

from mainspring.runs.transport.celery_listener import CeleryHintListener

PATIENCE = 60.0


class _Postgres:
    """The ear that the broker's is put before."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.nudges = 0

    async def wait(self, seconds: float) -> object:
        async with asyncio.timeout(seconds):
            await self.news.wait()
        self.news.clear()
        return None

    def nudge(self) -> None:
        self.nudges += 1
        self.news.set()

    def stop_waiting(self) -> None:
        self.nudge()

    async def aclose(self) -> None: ...


class _Inlet:
    def __init__(self) -> None:
        self.sent: list[str] = []

    def open(self, ear: CeleryHintListener) -> None:
        self.sent.append("open")

    def close(self) -> None:
        self.sent.append("close")

    async def closed(self) -> None:
        self.sent.append("closed")


async def test_a_hint_ends_the_wait_of_a_worker_and_its_words_are_not_read() -> None:
    inlet = _Inlet()
    ear = CeleryHintListener(_Postgres(), inlet)
    waiting = asyncio.create_task(ear.wait(PATIENCE))
    await asyncio.sleep(0)
    await asyncio.to_thread(ear.hint, object(), surprise=b"\xff")
    await waiting

    assert inlet.sent == ["open"]


async def test_a_busy_worker_is_nudged_late_so_that_others_come_first() -> None:
    postgres = _Postgres()
    ear = CeleryHintListener(postgres, _Inlet())
    waiting = asyncio.create_task(ear.wait(PATIENCE))
    await asyncio.sleep(0)
    ear.nudge()
    await waiting
    sitting = asyncio.create_task(asyncio.to_thread(ear.hint))
    done, _ = await asyncio.wait([sitting], timeout=0.05)

    # It was not given on, and no message is lost over it either: the worker looks again.
    assert not done
    await sitting
    await asyncio.sleep(0)
    assert postgres.nudges == 2


async def test_a_worker_that_stops_takes_no_more_hints_and_one_from_afar_stops_it() -> None:
    postgres, inlet, stops = _Postgres(), _Inlet(), list[str]()
    ear = CeleryHintListener(postgres, inlet)
    ear.on_shutdown = lambda: stops.append("stop")
    waiting = asyncio.create_task(ear.wait(PATIENCE))
    await asyncio.sleep(0)
    await asyncio.to_thread(ear.shut_down)
    ear.stop_waiting()
    await waiting
    await ear.aclose()

    assert stops == ["stop"]
    assert inlet.sent == ["open", "close", "close", "closed"]


async def test_a_hint_after_the_end_finds_nobody_and_says_nothing() -> None:
    ear = CeleryHintListener(_Postgres(), _Inlet())
    ear.look()
    ear.shut_down()
