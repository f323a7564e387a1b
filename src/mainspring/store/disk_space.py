"""Detects whether the database can still write: recent failures, and a probe.

Reads continue when a disk is full, and so do writes that fit into already allocated space. The
probe therefore makes Postgres allocate new space: a sort with little memory writes its rows to a
temporary file. It leaves nothing behind, needs no privilege and no table, and adds nothing to the
write-ahead log.
"""

from __future__ import annotations

import asyncio
import logging
import math
import shutil
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Final, Protocol

from mainspring.contracts.errors import StorageFull

log = logging.getLogger(__name__)

# The probe costs some milliseconds of CPU, so its interval is limited; it is shorter while the disk
# is full, so that recovery is noticed soon.
_PROBE_SECONDS, _FULL_SECONDS = 10.0, 1.0
# How long a failed write is remembered: it may need more space than the probe.
_REMEMBERED_SECONDS: Final = 5.0
# Less free space than this on the disk of the data folder counts as full.
_LEAST_BYTES: Final = 1_048_576
# The probe writes half a megabyte.
_LITTLE_MEMORY: Final = "SET LOCAL work_mem = '64kB'"
_PROBE: Final = "SELECT md5(n::text) FROM generate_series(1, 10000) AS n ORDER BY 1 OFFSET 10000"


class _Connections(Protocol):
    def acquire(self) -> AbstractAsyncContextManager[Any]: ...


def is_disk_full(home: Path) -> bool:
    """Whether the disk of the data folder is full; False for a missing folder."""
    try:
        return shutil.disk_usage(home).free < _LEAST_BYTES
    except OSError:
        return False


class DiskSpaceMonitor:
    """The state of the database's disk space as one process knows it."""

    def __init__(self) -> None:
        self._failed_at = -math.inf
        self._probe_at = -math.inf
        self._probe_failed = False
        self._full = False
        self._probing = asyncio.Lock()

    def note_failure(self) -> None:
        """Record that a write failed for lack of space."""
        self._failed_at = time.monotonic()
        self._know(full=True)

    async def is_full(self, database: _Connections) -> bool:
        """Whether writes fail; asks the database, if it was not asked lately."""
        if time.monotonic() >= self._probe_at:
            await self._probe(database)
        remembered = time.monotonic() < self._failed_at + _REMEMBERED_SECONDS
        self._know(full=self._probe_failed or remembered)
        return self._full

    async def _probe(self, database: _Connections) -> None:
        """Callers at the same time share one probe; if it is cancelled, the next one asks."""
        async with self._probing:
            if time.monotonic() < self._probe_at:
                return
            failed = await _is_probe_failing(database)
            self._probe_failed = failed
            self._probe_at = time.monotonic() + (_FULL_SECONDS if failed else _PROBE_SECONDS)

    def _know(self, *, full: bool) -> None:
        """Log one line when space runs out, and one when it is available again."""
        if full and not self._full:
            log.error("The database has no disk space left; writes fail until space is freed.")
        elif self._full and not full:
            log.info("The database has disk space again.")
        self._full = full


async def _is_probe_failing(database: _Connections) -> bool:
    try:
        async with database.acquire() as connection, connection.transaction():
            await connection.execute(_LITTLE_MEMORY)
            await connection.execute(_PROBE)
    except StorageFull:
        return True
    return False
