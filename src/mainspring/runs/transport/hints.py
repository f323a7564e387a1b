"""The two ends of a hint as the rest of the house sees them, whatever carries it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.store.wakeups import WakeupSender

RUNS_CHANNEL = "mainspring_runs"
# A queue, and a run in it that is due.
Due = tuple[str, UUID]


class HintSender(Protocol):
    """Where it is said that runs are due."""

    def due(self, runs: Iterable[Due]) -> None:
        """Notes them and returns; call it after the commit."""

    async def aclose(self) -> None:
        """Says what is noted, if that is quickly done, and stops."""


class HintListener(Protocol):
    """Where a worker hears that it should look, for one waiting task."""

    async def wait(self, seconds: float) -> object:
        """Until there is a reason to look, or the time is over."""

    def nudge(self) -> None:
        """Ends a wait from inside the process."""

    def hush(self) -> None:
        """Takes no more hints, which others may want, and ends a wait."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PostgresHintSender:
    """By a notification of Postgres, which every worker hears; the waker belongs to the house."""

    waker: WakeupSender

    def due(self, runs: Iterable[Due]) -> None:
        if any(True for _ in runs):
            self.waker.wake(RUNS_CHANNEL)

    async def aclose(self) -> None:
        """The house closes its waker itself."""
