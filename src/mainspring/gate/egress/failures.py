"""What a library's error means to a person, without a word of the library's own text."""

from __future__ import annotations

import ssl

import h11
import httpcore2

from mainspring.contracts.errors import Problem, TimedOut, Upstream
from mainspring.store.outage import logged_problem


def exchange_problem(error: Exception, host: str) -> Problem:
    """The problem behind an error of the connection to one host."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, TimeoutError | httpcore2.TimeoutException):
        return TimedOut(f"{host} did not answer in time.", code="timed_out")
    if isinstance(error, httpcore2.ConnectError):
        return _unreached(error, host)
    if isinstance(error, httpcore2.RemoteProtocolError | h11.RemoteProtocolError):
        return Upstream(
            f"{host} ended the connection or sent something that is not valid HTTP.",
            code="bad_response",
        )
    if isinstance(error, httpcore2.NetworkError | OSError):
        return Upstream(f"The connection to {host} was lost.", code="connection_lost")
    return logged_problem(error)


def _unreached(error: httpcore2.ConnectError, host: str) -> Upstream:
    if any(isinstance(inner, ssl.SSLError) for inner in (*error.args, error.__cause__)):
        return Upstream(
            f"{host} could not prove that it is {host}: the secure connection failed.",
            code="tls_failed",
            retryable=False,
        )
    return Upstream(f"{host} could not be reached.", code="unreachable")
