"""How often one caller may come: a bucket that fills again, for each of them.

The buckets live in one process and only so many are kept. One that was left alone until it
is full again says nothing, so it can be dropped without anybody gaining by it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

MOST_BUCKETS = 10_000


class Rate:
    """Lets ``burst`` calls come at once and ``per_second`` for ever."""

    def __init__(
        self,
        burst: int,
        per_second: float,
        *,
        most: int = MOST_BUCKETS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._burst = float(burst)
        self._per_second = float(per_second)
        self._most = most
        self._clock = clock
        # What was left, and when; the one that was used longest ago stands first.
        self._buckets: OrderedDict[Hashable, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Hashable) -> float:
        """Zero when the call may go on; else the seconds after which the next one may."""
        now = self._clock()
        left, seen = self._buckets.pop(key, (self._burst, now))
        left = min(self._burst, left + (now - seen) * self._per_second)
        may = left >= 1.0
        self._buckets[key] = (left - 1.0 if may else left, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return 0.0 if may else (1.0 - left) / self._per_second
