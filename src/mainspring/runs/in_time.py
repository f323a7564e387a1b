"""A limit of time that costs nothing where nobody waits.

Most steps come to their end without ever waiting for anything, and a timer for each of them
would be a good part of what the step costs. So the work is begun first, and only work that
waits gets a timer, counted from its beginning. Until it waits nothing could have stopped it.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Coroutine, Generator
from typing import Any, TypeVar

Found = TypeVar("Found")


async def in_time(work: Coroutine[Any, Any, Found], seconds: float | None) -> Found:
    """What the work comes to; ``TimeoutError`` when it is still waiting then."""
    loop = asyncio.get_running_loop()
    ends = None if seconds is None else loop.time() + seconds
    try:
        waits_for = work.send(None)
    except StopIteration as done:
        found: Found = done.value
        return found
    async with asyncio.timeout_at(ends):
        return await _continue_coroutine(work, waits_for)


@types.coroutine
def _continue_coroutine(
    work: Coroutine[Any, Any, Found], waits_for: Any
) -> Generator[Any, Any, Found]:
    """The rest of work that was begun: it waits where it is, for what it has asked for."""
    try:
        while True:
            try:
                heard = yield waits_for
            except GeneratorExit:
                work.close()
                raise
            except BaseException as error:
                waits_for = work.throw(error)
            else:
                waits_for = work.send(heard)
    except StopIteration as done:
        found: Found = done.value
        return found
