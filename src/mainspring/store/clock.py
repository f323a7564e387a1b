"""The database's time, read without asking the database.

Every heartbeat brings the database's own time; between two of them the machine's steady
clock counts on from there. So moments that end up in rows come from one clock, whatever
the clocks of the machines around it say.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_TICK = timedelta(microseconds=1)


class DatabaseClock:
    """A contracts Clock that follows the database."""

    def __init__(self) -> None:
        # In this order, so that a pause between the two does not put it behind.
        self._seen = time.monotonic()
        self._moment = datetime.now(UTC)
        self._last = self._moment

    def sync(self, timestamp: datetime, *, asked: float) -> None:
        """Corrects this clock by an answer of the database, if the answer proves it wrong.

        The database read its time somewhere between ``asked``, a reading of ``monotonic`` from
        before the question, and now; under load that may be seconds. A clock between those two
        bounds is left alone. Another one is set to the later bound, so that it is never behind;
        what it is ahead then, the next quicker answer corrects.
        """
        seen = time.monotonic()
        latest = timestamp.astimezone(UTC) + timedelta(seconds=seen - asked)
        here = self._moment + timedelta(seconds=seen - self._seen)
        if timestamp <= here <= latest:
            return
        self._moment, self._seen = latest, seen

    def now(self) -> datetime:
        """Later than every answer before it: what is recorded keeps its order."""
        moment = self._moment + timedelta(seconds=time.monotonic() - self._seen)
        self._last = max(moment, self._last + _TICK)
        return self._last

    def monotonic(self) -> float:
        return time.monotonic()
