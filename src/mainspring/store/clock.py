"""The database's time, computed without a query.

Every heartbeat returns the database's time; between heartbeats the local monotonic clock continues
from there. Timestamps in rows thus come from one clock, whatever the clocks of the machines say.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_TICK = timedelta(microseconds=1)


class DatabaseClock:
    """A ``Clock`` that follows the database."""

    def __init__(self) -> None:
        # In this order, so that a pause between the two does not make the clock late.
        self._seen = time.monotonic()
        self._moment = datetime.now(UTC)
        self._last = self._moment

    def sync(self, timestamp: datetime, *, asked: float) -> None:
        """Correct this clock by a time from the database, if that time proves it wrong.

        The database read its time between ``asked``, a reading of ``monotonic`` from before the
        query, and now; under load that may be seconds. A clock within those bounds is not changed.
        Otherwise it is set to the later bound, so that it is never behind; the next quicker answer
        corrects the excess.
        """
        seen = time.monotonic()
        latest = timestamp.astimezone(UTC) + timedelta(seconds=seen - asked)
        here = self._moment + timedelta(seconds=seen - self._seen)
        if timestamp <= here <= latest:
            return
        self._moment, self._seen = latest, seen

    def now(self) -> datetime:
        """Later than every earlier result, so that recorded times keep their order."""
        moment = self._moment + timedelta(seconds=time.monotonic() - self._seen)
        self._last = max(moment, self._last + _TICK)
        return self._last

    def monotonic(self) -> float:
        return time.monotonic()
