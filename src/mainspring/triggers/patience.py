"""How long the caller of a webhook waits for its receipt, and what it is told then."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mainspring.contracts.errors import DeadlineExceeded, Problem
from mainspring.store.database import is_lost_connection

# A call that is not on record by then is told so; it may be there a moment later.
RECEIPT_SECONDS: Final = 30.0

Found = TypeVar("Found")


async def retry_lost_connection(work: Callable[[], Awaitable[Found]]) -> Found:
    """A database that is away is waited for as long as a caller waits."""
    ends, pause = time.monotonic() + RECEIPT_SECONDS, 0.02
    while True:
        try:
            return await work()
        except Problem as problem:
            if not is_lost_connection(problem) or time.monotonic() + pause > ends:
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 2, 0.5)


def receipt_timeout_error() -> DeadlineExceeded:
    return DeadlineExceeded(
        "The call could not be recorded in time; it may still be.",
        code="not_recorded",
        suggestion="Send it again with the same idempotency key.",
        retry_after=5.0,
    )
