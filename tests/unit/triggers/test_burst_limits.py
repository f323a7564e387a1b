"""Bursts are for a tenant that is alone; with others active the calls of a webhook are paced."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from uuid import UUID

import pytest

from mainspring.triggers.webhook_auth import LINE_SECONDS, FairRateLimiter

ONE, OTHER, THIRD = UUID(int=1), UUID(int=2), UUID(int=3)
BUSY, SELDOM = UUID(int=11), UUID(int=12)
PACE = 50
# So many calls come in without being refused: the first one, and those that fit into the line.
LINE = 1 + int(PACE * LINE_SECONDS)


@dataclass
class Time:
    """A clock that is fixed unless it is advanced, and the tasks that wait for it."""

    now: float = 100.0
    waiting: list[tuple[float, asyncio.Future[None]]] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        until = asyncio.get_running_loop().create_future()
        self.waiting.append((self.now + seconds, until))
        await until

    async def pass_by(self, seconds: float) -> None:
        """Tasks whose time has come continue."""
        self.now += seconds
        for at, until in self.waiting:
            if at <= self.now and not until.done():
                until.set_result(None)
        self.waiting = [(at, until) for at, until in self.waiting if at > self.now]
        await _settle()


async def _settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


@dataclass
class Gate:
    """Calls one after another, without waiting for what becomes of them."""

    limiter: FairRateLimiter
    calls: list[asyncio.Task[float]] = field(default_factory=list)

    async def call(self, workspace: UUID, webhook: UUID, times: int = 1) -> None:
        for _ in range(times):
            self.calls.append(asyncio.create_task(self.limiter.acquire(workspace, webhook)))
        await _settle()

    def let_in(self) -> int:
        return sum(call.done() and not call.result() for call in self.calls)

    def refused(self) -> list[float]:
        return [call.result() for call in self.calls if call.done() and call.result()]


@pytest.fixture
def time() -> Time:
    return Time()


def _gate(time: Time, most: int = 1_000) -> Gate:
    return Gate(FairRateLimiter(PACE, most, clock=time, sleep=time.sleep))


async def test_who_is_alone_does_not_wait_and_is_not_refused(time: Time) -> None:
    gate = _gate(time)
    await gate.call(ONE, BUSY, 1_000)
    # A second webhook of the same workspace is not another tenant.
    await gate.call(ONE, SELDOM)
    await gate.call(ONE, BUSY)
    assert gate.let_in() == 1_002


async def test_with_another_workspace_active_a_burst_is_paced_and_complete(time: Time) -> None:
    gate = _gate(time)
    await gate.call(OTHER, SELDOM)
    await gate.call(ONE, BUSY, LINE - 1)
    # The first one comes in; the others wait in the queue.
    assert gate.let_in() == 2
    assert gate.limiter.is_behind(BUSY)
    assert gate.limiter.get_retry_delay(BUSY) == 0.0
    # Whoever calls seldom is let in at once, whatever the other does.
    time.now += 1 / PACE
    await gate.call(OTHER, SELDOM)
    assert gate.let_in() == 3
    await time.pass_by(LINE_SECONDS / 2)
    assert 0 < gate.let_in() - 3 < LINE - 2
    assert not gate.limiter.is_behind(BUSY)
    await time.pass_by(LINE_SECONDS / 2)
    assert gate.let_in() == 1 + LINE
    assert gate.refused() == []


async def test_calls_beyond_the_queue_are_refused_with_a_retry_time(time: Time) -> None:
    gate = _gate(time)
    await gate.call(OTHER, SELDOM)
    await gate.call(ONE, BUSY, 500)
    assert len(gate.refused()) == pytest.approx(500 - LINE, abs=1)
    told = gate.refused()[0]
    assert 0 < told <= 1 / PACE + 1e-9
    assert gate.limiter.get_retry_delay(BUSY) == pytest.approx(told)
    for _ in range(2_000):
        await time.pass_by(0.001)
        await gate.call(ONE, BUSY)
    # For two seconds at its pace, whatever is sent.
    assert gate.let_in() == pytest.approx(1 + 2 * PACE, abs=3)
    await time.pass_by(told)
    assert gate.limiter.get_retry_delay(BUSY) == 0.0


async def test_an_idle_source_is_soon_not_counted_any_more(time: Time) -> None:
    gate = _gate(time)
    await gate.call(OTHER, SELDOM)
    await gate.call(ONE, BUSY, 200)
    assert gate.refused()
    await time.pass_by(16.0)
    before = gate.let_in()
    await gate.call(ONE, BUSY, 1_000)
    assert gate.let_in() == before + 1_000


async def test_nobody_overtakes_those_in_line_when_the_other_has_gone(time: Time) -> None:
    gate = _gate(time)
    await gate.call(OTHER, SELDOM)
    await time.pass_by(14.9)
    await gate.call(ONE, BUSY, LINE)
    await time.pass_by(0.11)
    last = asyncio.create_task(gate.limiter.acquire(ONE, BUSY))
    await _settle()
    assert not last.done()
    await time.pass_by(LINE_SECONDS)
    assert last.done()


async def test_the_queues_of_one_workspace_leave_capacity_for_others(time: Time) -> None:
    gate = _gate(time, most=10)
    await gate.call(OTHER, SELDOM)
    time.now += 1
    await gate.call(ONE, BUSY, LINE)
    await gate.call(ONE, UUID(int=13), LINE)
    # Two are accepted at once, and half of the capacity is theirs.
    assert len(gate.refused()) == 2 * LINE - 2 - 5
    before = len(gate.refused())
    await gate.call(OTHER, SELDOM, 4)
    assert len(gate.refused()) == before
    await time.pass_by(LINE_SECONDS)
    assert all(call.done() for call in gate.calls)


async def test_when_memory_is_full_a_source_without_any_still_gets_some(time: Time) -> None:
    gate = _gate(time, most=4)
    await gate.call(OTHER, SELDOM)
    time.now += 1
    for space, hook in ((ONE, BUSY), (OTHER, SELDOM)):
        await gate.call(space, hook, 5)
    before = len(gate.refused())
    await gate.call(THIRD, UUID(int=14), 3)
    assert [call.done() for call in gate.calls[-3:]] == [True, False, True]
    assert len(gate.refused()) == before + 1


async def test_who_leaves_the_line_leaves_it_as_it_was(time: Time) -> None:
    gate = _gate(time, most=10)
    await gate.call(OTHER, SELDOM)
    await gate.call(ONE, BUSY, 12)
    for call in gate.calls:
        call.cancel()
    await _settle()
    time.now += 16.0
    await gate.call(ONE, BUSY, 500)
    assert all(call.done() for call in gate.calls)
