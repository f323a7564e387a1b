"""A Celery consumer that no message can crash.

Celery rejects a message of an unknown task or with a body that is not JSON. It does not handle
others: a body that is a number, a header of the wrong type, on Redis a text that is not a message
at all. Such an error would end its worker, which requeues the message and fails again at its next
start. Here such a message is discarded like the rest.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

# Malformed messages tend to come in large numbers.
_SAY_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class UnreadableMessage(ConnectionError):
    """The connection was fine, but reconnecting is how Celery recovers."""


def build_consumer_class(connected: Callable[[], None], lost: Callable[[], None]) -> Any:
    """Celery's consumer class, for ``worker_consumer``, that reports its connections."""
    consumer = importlib.import_module("celery.worker.consumer").Consumer
    loops = importlib.import_module("celery.worker.loops")
    nonsense = _UnreadableMessageLog()

    def create_task_handler(self: Any) -> Callable[[Any], None]:
        take = consumer.create_task_handler(self)
        theirs = (*self.connection_errors, *self.channel_errors)
        return lambda message: _take(message, take, theirs, nonsense)

    def loop(self: Any, *parts: Any) -> None:
        connected()
        try:
            (loops.asynloop if self.hub else loops.synloop)(*parts)
        except Exception as error:
            if _is_broken_line(error, self.connection_errors):
                raise
            # It failed before it was a message: the broker has already delivered it.
            nonsense.met(error)
            raise UnreadableMessage from error

    def on_connection_error_after_connected(self: Any, error: Exception) -> None:
        if not isinstance(error, UnreadableMessage):
            lost()
        consumer.on_connection_error_after_connected(self, error)

    made = (create_task_handler, loop, on_connection_error_after_connected)
    return type("Taker", (consumer,), {one.__name__: one for one in made})


def _take(
    message: Any,
    take: Callable[[Any], None],
    theirs: tuple[type[BaseException], ...],
    nonsense: _UnreadableMessageLog,
) -> None:
    try:
        take(message)
    except Exception as error:
        if _is_broken_line(error, theirs):
            raise
        nonsense.met(error)
        if not message.acknowledged:
            message.reject()


def _is_broken_line(error: Exception, theirs: tuple[type[BaseException], ...]) -> bool:
    """The Redis library counts KeyError as such, too, but most malformed messages lack a key."""
    return isinstance(error, theirs) and not isinstance(error, LookupError)


class _UnreadableMessageLog:
    """Logs malformed messages at a limited rate."""

    def __init__(self) -> None:
        self._said: float | None = None

    def met(self, error: Exception) -> None:
        now = monotonic()
        if self._said is None or now - self._said >= _SAY_SECONDS:
            self._said = now
            log.warning(
                "Discarded an unreadable message from the broker (%s). Nothing is "
                "lost, but another program writes to Mainspring's queues.",
                type(error).__name__,
            )
