"""Webhook limits: rate, concurrency and memory, shared fairly between senders."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Awaitable, Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final, TypeVar
from uuid import UUID

from mainspring.contracts.errors import DeadlineExceeded, LimitExceeded, Problem
from mainspring.gate.rate_limit import MOST_BUCKETS
from mainspring.store.database import is_lost_connection

# The rate of one webhook while other workspaces send too.

# How long a workspace counts as active after a request.
_COMPANY_SECONDS: Final = 15.0
# How long a request may be queued.
LINE_SECONDS: Final = 0.4


class FairRateLimiter:
    """A rate limiter for webhooks that is fair between workspaces."""

    def __init__(
        self,
        per_second: int,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._apart = 1 / per_second
        self._most = most
        self._clock = clock
        self._sleep = sleep
        # When the next request of a webhook has its slot; least recently used first.
        self._turns: OrderedDict[UUID, float] = OrderedDict()
        # How many requests are queued, by webhook and by workspace.
        self._lines: Counter[UUID] = Counter()
        self._spaces: Counter[UUID] = Counter()
        # The workspace that called last, and the last different one, each with its time.
        self._last: tuple[UUID | None, float] = (None, 0.0)
        self._other: tuple[UUID | None, float] = (None, 0.0)

    async def acquire(self, workspace_id: UUID, webhook_id: UUID) -> float:
        """Zero when the request may proceed, after waiting for its slot; else the retry delay."""
        now = self._clock()
        if workspace_id != self._last[0]:
            self._other = self._last
        self._last = (workspace_id, now)
        ahead = self._ahead(webhook_id, now)
        waits = ahead > 0 and self._is_paced(webhook_id, now)
        if ahead > LINE_SECONDS:
            return ahead - LINE_SECONDS if waits else 0.0
        if waits and self._is_full(workspace_id):
            return self._apart
        # Requests without contention count too: a recent burst has used up its share.
        self._count(webhook_id, now + ahead + self._apart)
        if waits:
            await self._wait_in_queue(workspace_id, webhook_id, ahead)
        return 0.0

    def get_retry_delay(self, webhook_id: UUID) -> float:
        """Zero when the next request is allowed; else the seconds until the queue has space."""
        now = self._clock()
        if not self._is_paced(webhook_id, now):
            return 0.0
        return max(self._ahead(webhook_id, now) - LINE_SECONDS, 0.0)

    def is_behind(self, webhook_id: UUID) -> bool:
        """Whether a webhook exceeds its rate so much that its queue is half full."""
        now = self._clock()
        return self._is_paced(webhook_id, now) and self._ahead(webhook_id, now) > LINE_SECONDS / 2

    def _ahead(self, webhook_id: UUID, now: float) -> float:
        """Seconds until the slot of the next request."""
        return max(self._turns.get(webhook_id, 0.0) - now, 0.0)

    def _count(self, webhook_id: UUID, next_turn: float) -> None:
        self._turns[webhook_id] = next_turn
        self._turns.move_to_end(webhook_id)
        if len(self._turns) > MOST_BUCKETS:
            self._turns.popitem(last=False)

    def _is_full(self, workspace_id: UUID) -> bool:
        """No workspace uses more than half of the queue, so others always find space."""
        own = self._spaces[workspace_id]
        return own >= self._most // 2 or (own > 0 and self._spaces.total() >= self._most)

    async def _wait_in_queue(self, workspace_id: UUID, webhook_id: UUID, seconds: float) -> None:
        self._lines[webhook_id] += 1
        self._spaces[workspace_id] += 1
        try:
            await self._sleep(seconds)
        finally:
            _take_away(self._lines, webhook_id)
            _take_away(self._spaces, workspace_id)

    def _is_paced(self, webhook_id: UUID, now: float) -> bool:
        """Whether pacing applies: another workspace is active, or requests of this webhook are
        queued.
        """
        other, at = self._other
        return webhook_id in self._lines or (other is not None and now - at < _COMPANY_SECONDS)


def _take_away(counted: Counter[UUID], key: UUID) -> None:
    counted[key] -= 1
    if not counted[key]:
        del counted[key]


# Concurrency per source: one source's burst does not delay another source.


@dataclass(slots=True)
class _SourceQueue:
    under_way: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class SourceConcurrencyLimiter:
    """A number of slots per source, assigned in FIFO order."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._lines: dict[Hashable, _SourceQueue] = {}
        self._waiting = 0

    def __len__(self) -> int:
        """Sources with requests in progress."""
        return len(self._lines)

    @property
    def waiting(self) -> int:
        """Requests that are queued."""
        return self._waiting

    def waiting_of(self, source: Hashable) -> int:
        """Queued requests of this source."""
        line = self._lines.get(source)
        return 0 if line is None else len(line.waiting)

    def begin(self, source: Hashable) -> bool:
        """Whether a slot is free now. If so, ``end`` must follow."""
        line = self._lines.setdefault(source, _SourceQueue())
        if line.under_way >= self._share:
            return False
        line.under_way += 1
        return True

    async def wait_for_slot(self, source: Hashable) -> None:
        """For a request without an immediate slot: returns when it has one."""
        line = self._lines[source]
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        self._waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # A slot was assigned at the same time; pass it on.
                self.end(source)
            raise
        finally:
            self._waiting -= 1

    def end(self, source: Hashable) -> None:
        """Pass the slot to the next queued request of the same source."""
        line = self._lines[source]
        while line.waiting:
            turn = line.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        line.under_way -= 1
        if not line.under_way:
            del self._lines[source]


# The deadline of a webhook response, and the error after it.

# A request that is not recorded by then gets an error; it may be recorded shortly after.
RECEIPT_SECONDS: Final = 30.0

Found = TypeVar("Found")


async def retry_lost_connection(work: Callable[[], Awaitable[Found]]) -> Found:
    """Retry while the database is unavailable, until the sender's deadline."""
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


MOST_BYTES: Final = 33_554_432
SHARE_BYTES: Final = 8_388_608


class BodyMemoryLimiter:
    """Limits the bytes in memory, in total and by source; the largest body fits into either."""

    def __init__(self, largest: int, *, most: int, share: int) -> None:
        self._most = max(most, largest)
        self._share = max(share, largest)
        self._taken = 0
        self._by_source: Counter[Hashable] = Counter()

    @property
    def taken(self) -> int:
        """Bytes that are held now."""
        return self._taken

    def take(self, source: Hashable, size: int) -> None:
        """Reserve these bytes or refuse them; ``give`` must follow a reservation."""
        own = self._by_source[source]
        if self._taken + size > self._most or own + size > self._share:
            raise too_many_requests_error("Too many calls wait to be recorded.", 1.0)
        self._taken += size
        self._by_source[source] += size

    def give(self, source: Hashable, size: int) -> None:
        self._taken -= size
        self._by_source[source] -= size
        if not self._by_source[source]:
            del self._by_source[source]

    @contextmanager
    def held(self, source: Hashable) -> Iterator[Callable[[int], None]]:
        """For a chunked body: reserves each chunk until the end of the block."""
        size = 0

        def count(more: int) -> None:
            nonlocal size
            self.take(source, more)
            size += more

        try:
            yield count
        finally:
            self.give(source, size)


def too_many_requests_error(detail: str, seconds: float) -> LimitExceeded:
    """The response to a request that exceeds the capacity."""
    return LimitExceeded(
        detail,
        code="too_many_calls",
        suggestion="Send it again after Retry-After seconds, and the next ones further apart.",
        retry_after=round(seconds, 3),
    )
