"""UUIDv7: ids that sort by creation time.

The order keeps indexes dense and allows a table to be partitioned by its id.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from uuid import UUID

_VERSION = 0x7 << 76
_VARIANT = 0b10 << 62
_lock = threading.Lock()
_last = 0


def generate_id() -> UUID:
    """A new id, greater than every id created by this process before."""
    global _last
    ordered = (time.time_ns() // 1_000_000) << 12
    with _lock:
        # The twelve bits after the milliseconds count up within one millisecond.
        ordered = max(ordered, _last + 1)
        _last = ordered
    random = int.from_bytes(os.urandom(8), "big") & ((1 << 62) - 1)
    high, low = ordered >> 12, ordered & 0xFFF
    return UUID(int=(high << 80) | _VERSION | (low << 64) | _VARIANT | random)


def get_lowest_id_at(timestamp: datetime) -> UUID:
    """The smallest id of an instant: the bound of a partition."""
    milliseconds = int(timestamp.astimezone(UTC).timestamp() * 1000)
    return UUID(int=(milliseconds << 80) | _VERSION | _VARIANT)


def get_id_time(made: UUID) -> datetime:
    """When an id was created, to the millisecond."""
    return datetime.fromtimestamp((made.int >> 80) / 1000, UTC)
