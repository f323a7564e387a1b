"""Room for bodies: so many bytes in memory at a time, and only a part of them for one source."""

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

# How often one webhook may call while other workspaces call too.

# How long a workspace that has called is reckoned with.
_COMPANY_SECONDS: Final = 15.0
# How long a call may stand in line.
LINE_SECONDS: Final = 0.4


class FairRateLimiter:
    """Lets in the calls of webhooks, and minds who else is there."""

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
        # When the next call of a webhook has its turn; the one used longest ago stands first.
        self._turns: OrderedDict[UUID, float] = OrderedDict()
        # How many stand in line, by webhook and by workspace.
        self._lines: Counter[UUID] = Counter()
        self._spaces: Counter[UUID] = Counter()
        # The workspace that called last, and the last one that is another, each with its time.
        self._last: tuple[UUID | None, float] = (None, 0.0)
        self._other: tuple[UUID | None, float] = (None, 0.0)

    async def let_in(self, workspace_id: UUID, webhook_id: UUID) -> float:
        """Zero when the call may go on, once it was its turn; else when to come again."""
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
        # Calls without company count too: who has just sent a flood has used up its share.
        self._count(webhook_id, now + ahead + self._apart)
        if waits:
            await self._wait_in_queue(workspace_id, webhook_id, ahead)
        return 0.0

    def closed_for(self, webhook_id: UUID) -> float:
        """Zero when the next call may come; else the seconds until there is room in the line."""
        now = self._clock()
        if not self._is_paced(webhook_id, now):
            return 0.0
        return max(self._ahead(webhook_id, now) - LINE_SECONDS, 0.0)

    def is_behind(self, webhook_id: UUID) -> bool:
        """Whether a webhook is called so much faster than its pace that its line is half full."""
        now = self._clock()
        return self._is_paced(webhook_id, now) and self._ahead(webhook_id, now) > LINE_SECONDS / 2

    def _ahead(self, webhook_id: UUID, now: float) -> float:
        """Seconds until the turn of the next call."""
        return max(self._turns.get(webhook_id, 0.0) - now, 0.0)

    def _count(self, webhook_id: UUID, next_turn: float) -> None:
        self._turns[webhook_id] = next_turn
        self._turns.move_to_end(webhook_id)
        if len(self._turns) > MOST_BUCKETS:
            self._turns.popitem(last=False)

    def _is_full(self, workspace_id: UUID) -> bool:
        """Nobody has more than half of the room, and whoever has none yet finds some."""
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
        """Somebody else is there, or others of the same webhook are in line: nobody overtakes."""
        other, at = self._other
        return webhook_id in self._lines or (other is not None and now - at < _COMPANY_SECONDS)


def _take_away(counted: Counter[UUID], key: UUID) -> None:
    counted[key] -= 1
    if not counted[key]:
        del counted[key]


# Turns: one caller's flood is not another caller's wait.


@dataclass(slots=True)
class _SourceQueue:
    under_way: int = 0
    waiting: deque[asyncio.Future[None]] = field(default_factory=deque)


class SourceConcurrencyLimiter:
    """So many turns for each source, handed on in the order of asking."""

    def __init__(self, share: int) -> None:
        self._share = share
        self._lines: dict[Hashable, _SourceQueue] = {}
        self._waiting = 0

    def __len__(self) -> int:
        """Sources that have calls under way."""
        return len(self._lines)

    @property
    def waiting(self) -> int:
        """Calls that stand in a line."""
        return self._waiting

    def waiting_of(self, source: Hashable) -> int:
        """Calls that stand in the line of this source."""
        line = self._lines.get(source)
        return 0 if line is None else len(line.waiting)

    def begin(self, source: Hashable) -> bool:
        """Whether a call's turn begins at once. If so, ``end`` must follow."""
        line = self._lines.setdefault(source, _SourceQueue())
        if line.under_way >= self._share:
            return False
        line.under_way += 1
        return True

    async def wait_for_slot(self, source: Hashable) -> None:
        """For a call whose turn did not begin at once: returns when it has."""
        line = self._lines[source]
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.waiting.append(turn)
        self._waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                # It was given a turn in the same moment; somebody else can have it.
                self.end(source)
            raise
        finally:
            self._waiting -= 1

    def end(self, source: Hashable) -> None:
        """Hands the turn to the next of the same line who still waits."""
        line = self._lines[source]
        while line.waiting:
            turn = line.waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        line.under_way -= 1
        if not line.under_way:
            del self._lines[source]


# How long the caller of a webhook waits for its receipt, and what it is told then.

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


MOST_BYTES: Final = 33_554_432
SHARE_BYTES: Final = 8_388_608


class BodyMemoryLimiter:
    """Counts bytes, all together and by source; the largest body fits into either."""

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
        """Counts these bytes, or refuses them; ``give`` must follow what was counted."""
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
        """For a body that comes in pieces: what counts one, until the end of the block."""
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
    """The answer to a call for which there is no room now."""
    return LimitExceeded(
        detail,
        code="too_many_calls",
        suggestion="Send it again after Retry-After seconds, and the next ones further apart.",
        retry_after=round(seconds, 3),
    )
