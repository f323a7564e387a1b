"""Sends hints as Celery messages, from a thread of its own.

Dispatch only enqueues them; connecting, sending and failing happen outside the event loop and block
nothing. Runs in close succession share a message, so thousands of runs a second do not become
thousands of messages. A hint that cannot be sent is dropped: by the time the broker is back, the
workers have polled.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from mainspring.runs.transport.broker import EXPIRES_SECONDS, MOST_IN_LINE, QUEUES, TASK
from mainspring.runs.transport.presence import BrokerPresence

if TYPE_CHECKING:
    from mainspring.runs.transport.broker import Broker
    from mainspring.store.wakeups import Due

# How many runs share a message: a burst wakes a few workers.
PORTION: Final = 16
# No queue holds more pending runs than this: the messages for these wake every worker.
_MOST_NOTED: Final = 1_600
_GATHER_SECONDS: Final = 0.003
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 5.0
_LAST_WORDS_SECONDS: Final = 2.0
# How often the length of the broker's queue is measured.
_MEASURE_SECONDS: Final = 1.0


class CeleryHintSender:
    """The sender of one process. Its thread starts with the first due run."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._presence = BrokerPresence(broker)
        self._lock = threading.Lock()
        self._noted: dict[str, list[str]] = defaultdict(list)
        self._news = threading.Event()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def due(self, runs: Iterable[Due]) -> None:
        with self._lock:
            for queue, run_id in runs:
                if len(self._noted[queue]) < _MOST_NOTED:
                    self._noted[queue].append(str(run_id))
            if not any(self._noted.values()) or self._stop.is_set():
                return
            if self._thread is None:
                # A daemon: a hanging broker must not keep a process from ending.
                self._thread = threading.Thread(target=self._send, name="hints", daemon=True)
                self._thread.start()
        self._news.set()

    async def aclose(self) -> None:
        self._stop.set()
        self._news.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _LAST_WORDS_SECONDS)

    # --- in the thread

    def _send(self) -> None:
        line = _BrokerConnection(self._broker)
        pause = _FIRST_PAUSE
        while True:
            self._news.wait()
            self._news.clear()
            noted = self._take_pending()
            if noted and self._send_with_retry(line, noted):
                pause = _FIRST_PAUSE
                self._stop.wait(_GATHER_SECONDS)
            elif noted:
                self._stop.wait(pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            if self._stop.is_set() and not self._news.is_set():
                line.hang_up()
                return

    def _take_pending(self) -> dict[str, list[str]]:
        with self._lock:
            noted, self._noted = self._noted, defaultdict(list)
        return {queue: runs for queue, runs in noted.items() if runs}

    def _send_with_retry(self, line: _BrokerConnection, noted: dict[str, list[str]]) -> bool:
        """Retry once, because a connection that was idle for long may have died."""
        for _ in range(2):
            try:
                line.tell(noted)
            except Exception:
                # Any exception of the broker and three libraries: it is only a hint.
                line.hang_up()
            else:
                self._presence.met()
                return True
            if self._stop.is_set():
                break
        self._presence.missed()
        return False


class _BrokerConnection:
    """A connection to the broker, opened when there is something to send."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._app: Any = None
        self._connection: Any = None
        self._producer: Any = None
        # When the length of each queue was last measured, and whether it was too long.
        self._measured: dict[str, tuple[float, bool]] = {}

    def tell(self, noted: dict[str, list[str]]) -> None:
        if self._producer is None:
            self._connect()
        for queue, runs in noted.items():
            name = QUEUES.get(queue)
            if name is None or self._is_full(name):
                continue
            for portion in _portions(runs):
                self._app.send_task(
                    TASK,
                    args=(portion,),
                    queue=name,
                    producer=self._producer,
                    retry=False,
                    expires=EXPIRES_SECONDS,
                    ignore_result=True,
                    delivery_mode=1,
                )

    def hang_up(self) -> None:
        connection, self._connection, self._producer = self._connection, None, None
        if connection is not None:
            with contextlib.suppress(Exception):
                connection.release()

    def _connect(self) -> None:
        if self._app is None:
            self._app = self._broker.sending()
        self._connection = self._app.connection_for_write()
        # Only one attempt: later hints will retry.
        self._connection.connect()
        self._producer = self._app.amqp.Producer(self._connection, auto_declare=False)
        for name in QUEUES.values():
            self._app.amqp.queues[name](self._connection.default_channel).declare()

    def _is_full(self, name: str) -> bool:
        """Whether nothing consumes hints: the queued ones are enough.

        For RabbitMQ the maximum length is a property of the queue.
        """
        if self._broker.kind != "redis":
            return False
        at, full = self._measured.get(name, (0.0, False))
        if monotonic() - at >= _MEASURE_SECONDS:
            found = self._connection.default_channel.queue_declare(queue=name)
            full = found.message_count >= MOST_IN_LINE
            self._measured[name] = (monotonic(), full)
        return full


def _portions(runs: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(runs), PORTION):
        yield runs[start : start + PORTION]
