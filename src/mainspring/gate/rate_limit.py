"""How often somebody may come: a bucket that fills again, for each of them.

These buckets live in one process and only so many are kept. One that was left alone until
it is full again says nothing, so it can be dropped without anybody gaining by it. What may
be sent without a person asking is counted over all processes, in the database.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING
from uuid import UUID

from mainspring.contracts.errors import LimitExceeded
from mainspring.store.rate_limit import LeakyBucket, fill_bucket

if TYPE_CHECKING:
    from mainspring.contracts.context import Transaction

MOST_BUCKETS = 10_000


class RateLimiter:
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

    def get_retry_delay(self, key: Hashable) -> float:
        """Zero when the next call may come at once; else the seconds until then."""
        left, seen = self._buckets.get(key, (self._burst, 0.0))
        return max((1.0 - left) / self._per_second - (self._clock() - seen), 0.0)


async def count_egress(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, size: int, a_day: int
) -> None:
    """Refuses a request by an automation that has sent as much as it may in a day."""
    key = f"egress/{workspace_id}/{automation_id}"
    wait = await fill_bucket(tx, key, LeakyBucket(a_day, a_day / 86_400), size)
    if wait is not None:
        raise LimitExceeded(
            f"This automation has sent about {a_day:,} bytes outside within a day, which is its "
            "limit.",
            code="egress_cap",
            retryable=False,
            suggestion=(
                "Send less, or ask the operator to raise MAINSPRING_LIMIT_EGRESS_DAY_BYTES."
            ),
            retry_after=wait,
        )


async def count_send(
    tx: Transaction, workspace_id: UUID, automation_id: UUID, capability: str, a_minute: int
) -> None:
    """Refuses what an automation sends without a person more often than it may."""
    key = f"send/{workspace_id}/{automation_id}/{capability}"
    wait = await fill_bucket(tx, key, LeakyBucket(a_minute, a_minute / 60))
    if wait is not None:
        raise LimitExceeded(
            f"This automation has called {capability} {a_minute} times in a minute without a "
            "person, which is its limit.",
            code="send_rate",
            suggestion="Make the plan send less often, or require approval: always_draft.",
            retry_after=wait,
        )
