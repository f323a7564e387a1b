"""How often one webhook may call while other workspaces call too.

A burst is taken at once by a process that has nobody else to serve. It costs more than a process
can do in that time, though, and whoever calls beside it would wait until it is worked off. While
calls of another workspace come in, the calls of a webhook therefore come in one by one, at a pace:
the next ones stand in line for a moment, which costs next to nothing, and only what is more than
that is refused.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from mainspring.gate.rates import MOST_BUCKETS

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
