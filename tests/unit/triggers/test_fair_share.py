"""Turns are shared out fairly, and none is lost."""

from __future__ import annotations

import asyncio

from mainspring.triggers.webhook_auth import SourceConcurrencyLimiter


async def _settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_a_source_has_its_share_and_the_rest_is_queued_in_order() -> None:
    turns, order = SourceConcurrencyLimiter(2), list[int]()

    async def wait(number: int) -> None:
        await turns.wait_for_slot("a")
        order.append(number)

    assert [turns.begin("a"), turns.begin("a"), turns.begin("a")] == [True, True, False]
    waiting = [asyncio.create_task(wait(number)) for number in range(3)]
    await _settle()
    assert (turns.waiting, order) == (3, [])
    turns.end("a")
    await _settle()
    assert (turns.waiting, order) == (2, [0])
    turns.end("a")
    turns.end("a")
    await asyncio.gather(*waiting)
    assert (turns.waiting, order) == (0, [0, 1, 2])


async def test_another_source_does_not_wait_in_that_queue() -> None:
    turns = SourceConcurrencyLimiter(1)
    assert turns.begin("a")
    assert not turns.begin("a")
    assert turns.begin("b")


async def test_a_waiter_that_gives_up_leaves_its_slot_to_the_next() -> None:
    turns = SourceConcurrencyLimiter(1)
    assert turns.begin("a")
    first = asyncio.create_task(turns.wait_for_slot("a"))
    second = asyncio.create_task(turns.wait_for_slot("a"))
    await _settle()
    first.cancel()
    await _settle()
    turns.end("a")
    await asyncio.wait_for(second, 5)
    assert turns.waiting == 0


async def test_a_turn_that_came_together_with_giving_up_is_handed_on() -> None:
    turns = SourceConcurrencyLimiter(1)
    assert turns.begin("a")
    first = asyncio.create_task(turns.wait_for_slot("a"))
    second = asyncio.create_task(turns.wait_for_slot("a"))
    await _settle()
    turns.end("a")
    first.cancel()
    await asyncio.wait_for(second, 5)
    assert first.cancelled()


async def test_nothing_is_kept_of_a_source_that_has_ended() -> None:
    turns = SourceConcurrencyLimiter(1)
    for source in range(100):
        assert turns.begin(source)
        turns.end(source)
    assert len(turns) == 0
