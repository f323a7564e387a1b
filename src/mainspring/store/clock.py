"""The database's time, read without asking the database.

Every heartbeat brings the database's own time; between two of them the machine's steady
clock counts on from there. So moments that end up in rows come from one clock, whatever
the clocks of the machines around it say.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

# Smaller differences are left alone, so that moments in one process keep their order.
_JOURNEY_SECONDS = 0.05
_TICK = timedelta(microseconds=1)


class DatabaseClock:
    """A contracts Clock that follows the database."""

    def __init__(self) -> None:
        self._moment = datetime.now(UTC)
        self._seen = time.monotonic()
        self._last = self._moment

    def sync(self, moment: datetime) -> None:
        """Takes over the database's time; a hair's breadth of difference is the journey."""
        here = self._moment + timedelta(seconds=time.monotonic() - self._seen)
        if abs((moment - here).total_seconds()) < _JOURNEY_SECONDS:
            return
        self._moment = moment.astimezone(UTC)
        self._seen = time.monotonic()

    def now(self) -> datetime:
        """Later than every answer before it: what is recorded keeps its order."""
        moment = self._moment + timedelta(seconds=time.monotonic() - self._seen)
        self._last = max(moment, self._last + _TICK)
        return self._last

    def monotonic(self) -> float:
        return time.monotonic()
