"""Work that ends itself: a library goes on, on a thread that nobody can stop from outside."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

SECONDS: Final = 10.0
_LOOK_EVERY: Final = 2_000
Answer = TypeVar("Answer")


class TimeLimitExceeded(BaseException):
    """The work has used the time that it was given. Libraries that catch all errors let it by."""


def run_with_time_limit(work: Callable[[], Answer], seconds: float = SECONDS) -> Answer:
    """Does the work on this thread; ``TookTooLong`` once it has used so much of the processor.

    Each call of a function is looked at, as there is no other moment at which a library that
    loops comes back to us.
    """
    ends, calls = time.thread_time() + seconds, 0

    def look(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % _LOOK_EVERY == 0 and time.thread_time() > ends:
            raise TimeLimitExceeded

    before = sys.gettrace()
    if before is not None:
        # Somebody looks already, such as a debugger, and keeps the place.
        return work()
    sys.settrace(look)
    try:
        return work()
    finally:
        sys.settrace(None)


class TimeLimit:
    """What is left of the processor time for work of many small parts on this thread.

    Looking at each call costs as much again as the call. Work that comes back to us between its
    parts looks at the time there, and only a part that may take long itself is done ``in_time``.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._ends = time.thread_time() + seconds

    def run(self, work: Callable[[], Answer], *, may_be_long: bool) -> Answer:
        """Does one part of the work; ``TookTooLong`` once the time of all parts is used."""
        left = self._ends - time.thread_time()
        if left < 0:
            raise TimeLimitExceeded
        return run_with_time_limit(work, left) if may_be_long else work()
