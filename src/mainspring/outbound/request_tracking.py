"""Whether a request has left: decides if a model request that broke off may cost money.

The code that pays for a model request enters a ``Departure`` around it, and the connection that
carries the request marks it right before the first byte is written. Everything before that (loading
libraries, DNS, connecting, waiting for a free connection) costs nothing. A model client that does
not report when it sends counts as sent from the beginning.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import Final, Self

_CURRENT: Final[ContextVar[RequestSendTracker | None]] = ContextVar("departure", default=None)


class RequestSendTracker:
    """What is known of one request; while it is entered, the task's requests report to it."""

    __slots__ = ("_before", "_sent", "_told")

    def __init__(self) -> None:
        self._told = self._sent = False
        self._before: Token[RequestSendTracker | None] | None = None

    def __enter__(self) -> Self:
        self._before = _CURRENT.set(self)
        return self

    def __exit__(self, *error: object) -> None:
        assert self._before is not None
        _CURRENT.reset(self._before)

    @property
    def is_held(self) -> bool:
        """Whether nothing has left for certain."""
        return self._told and not self._sent

    def hold(self) -> None:
        self._told = True

    def leave(self) -> None:
        self._sent = True


def mark_unsent() -> None:
    """For senders over our own connections: nothing has left until they report it."""
    found = _CURRENT.get()
    if found is not None:
        found.hold()


def mark_sent() -> None:
    """The first byte of a request is about to be written."""
    found = _CURRENT.get()
    if found is not None:
        found.leave()
