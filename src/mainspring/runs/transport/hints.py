"""The interfaces of hint senders and listeners, independent of the transport."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

if TYPE_CHECKING:
    from mainspring.store.wakeups import WakeupSender

RUNS_CHANNEL = "mainspring_runs"
# A queue, and a due run in it.
Due = tuple[str, UUID]


class HintSender(Protocol):
    """Sends hints that runs are due."""

    def due(self, runs: Iterable[Due]) -> None:
        """Enqueue hints and return; call it after the commit."""

    async def aclose(self) -> None:
        """Send pending hints, if that is quick, and stop."""


class HintListener(Protocol):
    """Tells a worker when to look, for one waiting task."""

    async def wait(self, seconds: float) -> object:
        """Wait until there is a reason to look, or the timeout."""

    def nudge(self) -> None:
        """End a wait from inside the process."""

    def stop_waiting(self) -> None:
        """Accept no more hints, so that others get them, and end a wait."""

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class PostgresHintSender:
    """Sends a Postgres NOTIFY, which every worker receives; the application owns the sender."""

    wakeup_sender: WakeupSender

    def due(self, runs: Iterable[Due]) -> None:
        if any(True for _ in runs):
            self.wakeup_sender.wake(RUNS_CHANNEL)

    async def aclose(self) -> None:
        """The application closes the wake-up sender itself."""
