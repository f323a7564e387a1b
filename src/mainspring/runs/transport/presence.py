"""Tracks whether the broker is reachable, and logs each change once."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mainspring.runs.transport.broker import Broker

log = logging.getLogger(__name__)


class BrokerPresence:
    """The state of the broker as one process knows it; assumed reachable until it fails."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._there = True
        self._lock = threading.Lock()

    def missed(self) -> None:
        if self._changes(there=False):
            log.warning("%s", self._broker.gone)

    def met(self) -> None:
        if self._changes(there=True):
            log.warning("%s", self._broker.back)

    def _changes(self, *, there: bool) -> bool:
        with self._lock:
            before, self._there = self._there, there
        return before is not there
