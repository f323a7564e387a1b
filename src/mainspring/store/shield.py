"""Database work that a cancelled task still has to finish."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


async def run_to_completion(work: Coroutine[Any, Any, None]) -> None:
    """Finishes the work even if the waiting task is cancelled, and then lets the cancellation on.

    Money that was spent is booked, and what was begun is undone, before the task ends.
    """
    doing = asyncio.ensure_future(work)
    try:
        await asyncio.shield(doing)
    except asyncio.CancelledError:
        await asyncio.wait({doing})
        if not doing.cancelled():
            # The cancellation takes precedence over an error of the work.
            doing.exception()
        raise
