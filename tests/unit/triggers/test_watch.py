"""The watch: duties stop together, and none dies alone."""

from __future__ import annotations

import asyncio

import pytest

from mainspring.triggers.watch import Duty, run_loops


async def test_a_stop_reaches_every_duty() -> None:
    seen: list[str] = []
    stop = asyncio.Event()

    def duty(name: str) -> Duty:
        async def run(stop: asyncio.Event) -> None:
            await stop.wait()
            seen.append(name)

        return run

    watch = asyncio.create_task(run_loops({"a": duty("a"), "b": duty("b")}, stop))
    await asyncio.sleep(0)
    stop.set()
    await watch
    assert sorted(seen) == ["a", "b"]


async def test_a_duty_that_breaks_ends_the_watch_with_its_reason() -> None:
    stop = asyncio.Event()
    ended = asyncio.Event()

    async def good(stop: asyncio.Event) -> None:
        try:
            await stop.wait()
        finally:
            ended.set()

    async def bad(stop: asyncio.Event) -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        await run_loops({"good": good, "bad": bad}, stop)
    assert stop.is_set()
    assert ended.is_set()


async def test_a_cancelled_watch_leaves_no_duty_behind() -> None:
    ended = asyncio.Event()

    async def duty(stop: asyncio.Event) -> None:
        try:
            await stop.wait()
        finally:
            ended.set()

    watch = asyncio.create_task(run_loops({"a": duty}, asyncio.Event()))
    await asyncio.sleep(0)
    watch.cancel()
    await asyncio.gather(watch, return_exceptions=True)
    assert ended.is_set()
