"""The part of Celery that takes messages, made so that no message can end it.

Celery answers a message of an unknown task or with a body that is no JSON, and throws it away.
Others it does not foresee: a body that is a number, a header of the wrong kind, on Redis a
text that is no message at all. Such an error would end its worker, which puts the message back
and falls over it again at its next start. Here it is thrown away like the rest.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

# Whoever sends nonsense sends much of it.
_SAY_SECONDS: Final = 60.0

log = logging.getLogger(__name__)


class UnreadableMessage(ConnectionError):
    """Nothing was wrong with the connection, but to connect again is what Celery knows to do."""


def taker(connected: Callable[[], None], lost: Callable[[], None]) -> Any:
    """Celery's consumer, for its setting ``worker_consumer``, that tells of its connections."""
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
            # It broke before it was a message: the broker has given it away already.
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
    """The library for Redis counts KeyError as such, too, but most nonsense lacks a key."""
    return isinstance(error, theirs) and not isinstance(error, LookupError)


class _UnreadableMessageLog:
    """Says now and then that there is some."""

    def __init__(self) -> None:
        self._said: float | None = None

    def met(self, error: Exception) -> None:
        now = monotonic()
        if self._said is None or now - self._said >= _SAY_SECONDS:
            self._said = now
            log.warning(
                "A message in the broker cannot be read (%s) and was thrown away. Nothing is "
                "lost, but something else writes to our queues.",
                type(error).__name__,
            )
