"""A limit of time: work that waits is stopped, work that does not is never given a timer."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mainspring.runs.step import in_time


async def _answers(value: Any) -> Any:
    return value


async def _waits(*turns: float) -> str:
    for seconds in turns:
        await asyncio.sleep(seconds)
    return "waited"


async def test_work_comes_to_the_same_with_and_without_waiting() -> None:
    assert await in_time(_answers({"a": 1}), 0.0) == {"a": 1}
    assert await in_time(_answers(None), None) is None
    assert await in_time(_waits(0, 0, 0.001, 0), 60) == "waited"
    assert await in_time(_waits(0.001), None) == "waited"


async def test_what_goes_wrong_is_raised_as_it_is() -> None:
    async def breaks(after: int) -> None:
        await _waits(*[0] * after)
        raise LookupError("here")

    for after in (0, 1, 3):
        with pytest.raises(LookupError, match="here"):
            await in_time(breaks(after), 60)


async def test_work_that_still_waits_is_stopped_and_may_clean_up() -> None:
    seen: list[str] = []

    async def cleans_up() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            seen.append("clean")

    with pytest.raises(TimeoutError):
        await in_time(cleans_up(), 0.01)
    assert seen == ["clean"]


async def test_a_cancelled_task_is_cancelled_inside_the_work() -> None:
    inside = asyncio.Event()

    async def lasts() -> None:
        inside.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(in_time(lasts(), 60))
    await inside.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_takes_a_cancellation_upon_itself_goes_on() -> None:
    began = asyncio.Event()

    async def stubborn() -> str:
        try:
            began.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "still here"

    task = asyncio.create_task(in_time(stubborn(), 60))
    await began.wait()
    task.cancel()
    assert await task == "still here"
