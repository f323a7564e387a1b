"""Room for bodies: so many bytes in memory at a time, and only a part of them for one source."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Final

from mainspring.contracts.errors import LimitExceeded

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
