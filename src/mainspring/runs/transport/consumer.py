"""A Celery worker in a thread of our process: it can be inspected, listed and stopped as usual.

The event loop has the main thread and with it the signals, so a stop means the same with every
transport. Celery keeps its stop flag per process, and one process has one worker.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import platform
import threading
from collections.abc import Iterable
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mainspring.runs.transport.broker import QUEUES
from mainspring.runs.transport.presence import BrokerPresence

if TYPE_CHECKING:
    from mainspring.runs.transport.broker import Broker
    from mainspring.runs.transport.celery_listener import CeleryHintListener

# Celery checks once a second whether it should stop.
_CLOSE_SECONDS: Final = 3.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# A worker that ran this long did not end because of a configuration error.
_LONG_LIFE: Final = 60.0
# These log every connection attempt, and repeat untrusted message content.
_TALKATIVE: Final = ("celery", "kombu", "amqp")

log = logging.getLogger(__name__)


class CeleryConsumer:
    """Consumes messages from the queues of one worker until it is closed."""

    def __init__(self, broker: Broker, queues: Iterable[str]) -> None:
        self._broker = broker
        self._queues = [QUEUES[name] for name in queues if name in QUEUES]
        self._presence = BrokerPresence(broker)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self, ear: CeleryHintListener) -> None:
        if self._stop.is_set():
            return
        # A daemon: a hanging broker must not keep a worker from ending.
        self._thread = threading.Thread(target=self._take, args=(ear,), name="celery", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            celery_state().should_stop = 0

    async def closed(self) -> None:
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _CLOSE_SECONDS)
            if not self._thread.is_alive():
                # Reset for another worker in this process, if there is one.
                celery_state().should_stop = None

    # --- in the thread

    def _take(self, ear: CeleryHintListener) -> None:
        for name in _TALKATIVE:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            began = monotonic()
            self._work(ear)
            if self._stop.is_set():
                return
            pause = _FIRST_PAUSE if monotonic() - began > _LONG_LIFE else pause * 2
            self._stop.wait(min(pause, _LONGEST_PAUSE))

    def _work(self, ear: CeleryHintListener) -> None:
        """Run Celery's worker once: it reconnects by itself, and should not end."""

        def connected() -> None:
            self._presence.met()
            ear.look()

        try:
            app = self._broker.listening(ear.hint, connected, self._lost)
            # Celery uses the current application of this thread.
            app.set_current()
            self._probe(app)
            controller = app.WorkController(
                hostname=f"mainspring-{os.getpid()}@{platform.node()}",
                queues=self._queues,
                pool="solo",
                without_gossip=True,
                without_mingle=True,
            )
            controller.start()
        except Exception:
            log.exception("The hint consumer failed unexpectedly and restarts.")
            return
        if self._stop.is_set():
            return
        if controller.exitcode != 0:
            log.warning(
                "The broker at %s refuses the connection, or Celery has stopped; "
                "retrying. Workers poll for runs meanwhile.",
                self._broker.address,
            )
        else:
            # Requested remotely, as with `celery control shutdown`.
            self.close()
            ear.shut_down()

    def _probe(self, app: Any) -> None:
        """Celery itself would wait for the broker silently."""
        try:
            with app.connection_for_read() as connection:
                connection.connect()
        except Exception:
            self._presence.missed()

    def _lost(self) -> None:
        if not self._stop.is_set():
            self._presence.missed()


def celery_state() -> Any:
    """Celery's stop flag of this process; 0 and 1 are exit codes, None means no."""
    return importlib.import_module("celery.worker.state")
