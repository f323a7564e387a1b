"""What a library's error means to a person, without a word of the library's own text."""

from __future__ import annotations

import ssl

import h11
import httpcore2

from mainspring.contracts.errors import DeadlineExceeded, Problem, UpstreamError
from mainspring.store.database_errors import log_and_convert_error


def map_exchange_error(error: Exception, host: str) -> Problem:
    """The problem behind an error of the connection to one host."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, TimeoutError | httpcore2.TimeoutException):
        return DeadlineExceeded(f"{host} did not answer in time.", code="timed_out")
    if isinstance(error, httpcore2.ConnectError):
        return _unreachable_error(error, host)
    if isinstance(error, httpcore2.RemoteProtocolError | h11.RemoteProtocolError):
        return UpstreamError(
            f"{host} ended the connection or sent something that is not valid HTTP.",
            code="bad_response",
        )
    if isinstance(error, httpcore2.NetworkError | OSError):
        return UpstreamError(f"The connection to {host} was lost.", code="connection_lost")
    return log_and_convert_error(error)


def _unreachable_error(error: httpcore2.ConnectError, host: str) -> UpstreamError:
    if any(isinstance(inner, ssl.SSLError) for inner in (*error.args, error.__cause__)):
        return UpstreamError(
            f"{host} could not prove that it is {host}: the secure connection failed.",
            code="tls_failed",
            retryable=False,
        )
    return UpstreamError(f"{host} could not be reached.", code="unreachable")
