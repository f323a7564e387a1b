"""Turns: one caller's flood is not another caller's wait.

Each source may have only so many calls under way at a time; the rest of its calls stand in
its own line. Whoever calls seldom goes past the lines of the others.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field


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
