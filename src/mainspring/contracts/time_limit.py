"""CPU time limits for library code on a thread that cannot be stopped from outside."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

SECONDS: Final = 10.0
_LOOK_EVERY: Final = 2_000
Answer = TypeVar("Answer")


class TimeLimitExceeded(BaseException):
    """The CPU time limit is used up. A BaseException, so that libraries do not swallow it."""


def run_with_time_limit(work: Callable[[], Answer], seconds: float = SECONDS) -> Answer:
    """Run the work on this thread; ``TimeLimitExceeded`` once it has used this much CPU time.

    A profiling hook checks the time on each function call, because a looping library gives no other
    opportunity.
    """
    ends, calls = time.thread_time() + seconds, 0

    def look(*_: Any) -> None:
        nonlocal calls
        calls += 1
        if calls % _LOOK_EVERY == 0 and time.thread_time() > ends:
            raise TimeLimitExceeded

    before = sys.gettrace()
    if before is not None:
        # Another hook, such as a debugger's, is installed and stays in place.
        return work()
    sys.settrace(look)
    try:
        return work()
    finally:
        sys.settrace(None)


class TimeLimit:
    """A CPU time limit shared by many small parts of work on this thread.

    The hook doubles the cost of each call. Work that returns here between its parts checks the time
    there, and only a part that may itself take long is run under the hook.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._ends = time.thread_time() + seconds

    def run(self, work: Callable[[], Answer], *, may_be_long: bool) -> Answer:
        """Run one part of the work; ``TimeLimitExceeded`` once the time of all parts is used."""
        left = self._ends - time.thread_time()
        if left < 0:
            raise TimeLimitExceeded
        return run_with_time_limit(work, left) if may_be_long else work()
