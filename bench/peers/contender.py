"""Who is measured, and what a measurement says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

QUEUE: Final = "queue"
WEBHOOK: Final = "webhook"
WAYS: Final = (QUEUE, WEBHOOK)
STEPS: Final = (1, 5)
# Of everybody whose runs come in by HTTP: connections at a time, and calls before the first counts.
CONNECTIONS: Final = 32
WARM_CALLS: Final = 200
FLOOR: Final = "floor"
OURS: Final = "Mainspring"


@dataclass(frozen=True, slots=True)
class Figure:
    """Runs that ended, how long that took, and the processor time of everything at work."""

    runs: int
    seconds: float
    cpu: float


# Takes the number of steps and the number of runs.
Measure = Callable[[int, int], Figure]


@dataclass(frozen=True, slots=True)
class Contender:
    """One product in one setting, and the way its runs come in."""

    name: str
    way: str
    durable: str
    kept: str
    # How many runs are taken, by the number of steps.
    runs: Mapping[int, int]
    opened: Callable[[], AbstractContextManager[Measure]]
    version: str = ""
