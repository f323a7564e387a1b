"""Checks once whether a broker is reachable, for diagnostics."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mainspring.runs.transport.broker import Broker

_PATIENCE_SECONDS: Final = 10.0


def reach(broker: Broker) -> bool:
    """Whether it accepts a connection. In a thread: a library may block for long."""
    answered = threading.Event()

    def ask() -> None:
        with contextlib.suppress(Exception), broker.sending().connection_for_write() as line:
            line.connect()
            answered.set()

    asking = threading.Thread(target=ask, name="broker", daemon=True)
    asking.start()
    asking.join(_PATIENCE_SECONDS)
    return answered.is_set()
