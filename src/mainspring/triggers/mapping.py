"""Maps webhook bodies to inputs within limits on steps and CPU time.

All paths of a mapping share one step limit and a fraction of a second of CPU time. Small bodies are
mapped at once; larger ones on a dedicated thread pool with a bounded queue.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from mainspring.contracts.errors import Invalid
from mainspring.contracts.limits import Limits
from mainspring.definition.inputs import map_payload
from mainspring.definition.jsonpath import MOST_STEPS, PathCostExceeded, PathMeter, parse_path
from mainspring.triggers.webhook_auth import too_many_requests_error

SMALL_BYTES: Final = 16_384
FEW_PATHS: Final = 16
MAPPING_SECONDS: Final = 0.2
THREADS: Final = 2
MOST_WAITING: Final = 64
# How many steps are taken between two clock checks.
_STEPS_BETWEEN: Final = 500


class WebhookInputMapper:
    """Maps the bodies of one process."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="webhook-mapping")
        self._under_way = 0

    async def map_inputs(self, mapping: Mapping[str, str], value: Any, size: int) -> dict[str, Any]:
        """The inputs; ``Invalid`` if mapping fails, ``LimitExceeded`` if the queue is full."""
        if self._is_small(mapping, size):
            return map_payload(mapping, value, self._limits)
        if self._under_way >= MOST_WAITING:
            raise too_many_requests_error(
                ("Too many webhook requests are waiting to be mapped to inputs."), 1.0
            )
        self._under_way += 1
        loop = asyncio.get_running_loop()
        work = loop.run_in_executor(self._threads, _map_within, mapping, value, self._limits)
        work.add_done_callback(self._end)
        return await work

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _end(self, work: asyncio.Future[dict[str, Any]]) -> None:
        self._under_way -= 1
        if not work.cancelled():
            work.exception()

    def _is_small(self, mapping: Mapping[str, str], size: int) -> bool:
        if size > SMALL_BYTES or len(mapping) > FEW_PATHS:
            return False
        return all(parse_path(text, self._limits).singular for text in mapping.values())


class _TimedMeter(PathMeter):
    """A meter that also limits the CPU time of its own thread."""

    __slots__ = ("_ends", "_next")

    def __init__(self, steps: int, seconds: float) -> None:
        super().__init__(steps)
        self._ends = time.thread_time() + seconds
        self._next = steps - _STEPS_BETWEEN

    def spend(self, steps: int) -> None:
        super().spend(steps)
        if self.left < self._next:
            self._next = self.left - _STEPS_BETWEEN
            if time.thread_time() > self._ends:
                raise PathCostExceeded


def _map_within(mapping: Mapping[str, str], value: Any, limits: Limits) -> dict[str, Any]:
    found = map_payload(mapping, value, limits, _TimedMeter(MOST_STEPS, MAPPING_SECONDS))
    if _is_larger(found, limits.payload_bytes):
        detail = f"The inputs must not be larger than {limits.payload_bytes} bytes."
        raise Invalid(detail, code="payload_too_large")
    return found


def _is_larger(value: Any, most: int) -> bool:
    """Whether it is certainly longer as JSON; many paths may select the same large value."""
    size, waiting = 0, [value]
    while waiting:
        one = waiting.pop()
        size += 1
        if isinstance(one, str):
            size += len(one)
        elif isinstance(one, dict):
            size += sum(map(len, one))
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        if size > most:
            return True
    return False
