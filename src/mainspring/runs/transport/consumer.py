"""A worker of Celery in a thread of our process: it is inspected, listed and stopped as any.

The event loop has the main thread and with it the signals, so a stop means the same with
every transport. Celery asks in one place of the process whether it should stop, and one
process has one worker.
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

# Celery looks once a second whether it should stop.
_CLOSE_SECONDS: Final = 3.0
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
# Who has worked for so long did not end by what is wrong from the start.
_LONG_LIFE: Final = 60.0
# These tell of every attempt to connect, and repeat what strangers have sent.
_TALKATIVE: Final = ("celery", "kombu", "amqp")

log = logging.getLogger(__name__)


class CeleryConsumer:
    """Takes messages from the queues of one worker until it is closed."""

    def __init__(self, broker: Broker, queues: Iterable[str]) -> None:
        self._broker = broker
        self._queues = [QUEUES[name] for name in queues if name in QUEUES]
        self._presence = BrokerPresence(broker)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def open(self, ear: CeleryHintListener) -> None:
        if self._stop.is_set():
            return
        # A daemon: a broker that hangs must not keep a worker from ending.
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
                # Another worker of this process, if there ever is one, begins anew.
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
        """One life of Celery's worker: it connects again by itself, and should not end."""

        def connected() -> None:
            self._presence.met()
            ear.look()

        try:
            app = self._broker.listening(ear.hint, connected, self._lost)
            # Where a message is taken, Celery asks for the application of this thread.
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
            log.exception("The consumer of hints ended by a mistake and begins again.")
            return
        if self._stop.is_set():
            return
        if controller.exitcode != 0:
            log.warning(
                "The broker at %s refuses us, or Celery has ended; it is tried again. Runs are "
                "found meanwhile by looking for them.",
                self._broker.address,
            )
        else:
            # Asked for from afar, as with `celery control shutdown`.
            self.close()
            ear.shut_down()

    def _probe(self, app: Any) -> None:
        """Celery itself would wait for the broker without a word."""
        try:
            with app.connection_for_read() as connection:
                connection.connect()
        except Exception:
            self._presence.missed()

    def _lost(self) -> None:
        if not self._stop.is_set():
            self._presence.missed()


def celery_state() -> Any:
    """Where Celery asks whether this process should stop; 0 and 1 are exit codes, None is no."""
    return importlib.import_module("celery.worker.state")
