"""How often one webhook may call while other workspaces call too.

A burst is taken in full by a process that has nobody else to serve. It costs more than a process
can do in that time, though, and whoever calls beside it would wait until it is worked off. While
calls of another workspace come in, a webhook therefore has a lower rate and next to no burst: what
is beyond is refused at once, which is cheap, and the sender comes again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from mainspring.gate.rates import Rate

# How long a workspace that has called is reckoned with.
_SECONDS: Final = 15.0
# The burst that is left, as a part of what may come in a second.
_PART: Final = 25


class Neighbours:
    """Counts the calls of webhooks, and minds who else is there."""

    def __init__(self, per_second: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = Rate(max(per_second // _PART, 1), per_second, clock=clock)
        self._clock = clock
        # The workspace that called last, and the last one that is another, each with its time.
        self._last: tuple[UUID | None, float] = (None, 0.0)
        self._other: tuple[UUID | None, float] = (None, 0.0)

    def charge(self, workspace_id: UUID, webhook_id: UUID) -> float:
        """Zero when the call may go on; else the seconds after which the next one may."""
        now = self._clock()
        if workspace_id != self._last[0]:
            self._other = self._last
        self._last = (workspace_id, now)
        # Calls without company count too: who has just sent a flood has used up its share.
        seconds = self._rate.take(webhook_id)
        return seconds if self._has_company(now) else 0.0

    def closed_for(self, webhook_id: UUID) -> float:
        """Zero when the next call may come at once; else the seconds until then."""
        return self._rate.closed_for(webhook_id) if self._has_company(self._clock()) else 0.0

    def _has_company(self, now: float) -> bool:
        other, at = self._other
        return other is not None and now - at < _SECONDS
