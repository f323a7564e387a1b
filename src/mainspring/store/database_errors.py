"""Classifies driver errors and converts them to problems.

A lost connection can be retried; everything else cannot. No message repeats the driver's text,
which quotes statements, values and addresses. An unexpected error is only named in the log, under
an id that the caller receives.
"""

from __future__ import annotations

import logging

import asyncpg

from mainspring.contracts.errors import (
    NO_SPACE,
    Conflict,
    DeadlineExceeded,
    InternalError,
    Invalid,
    Problem,
    StorageFull,
    UpstreamError,
    as_problem,
    storage_full_error,
)
from mainspring.contracts.ids import generate_id

log = logging.getLogger(__name__)

UNAVAILABLE = "database_unavailable"

_LOST = (
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.IdleSessionTimeoutError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.TooManyConnectionsError,
)
# The driver has one class for all misuse; only its message identifies a closed connection.
_CLOSED_WORDS = ("connection is closed", "connection was closed", "connection has been closed")
# A connection that breaks between two messages leaves the driver in an unexpected state, which it
# reports with these errors; the connection is unusable in any case.
_CONFUSED = (asyncpg.InternalClientError, asyncpg.ProtocolError)
# Two transactions conflicted; one of them may be retried.
_COLLIDED = (asyncpg.SerializationError, asyncpg.DeadlockDetectedError)
# Postgres has a code for a full disk and none for a quota; the system's message identifies that.
# It is looked for only in the primary message of an I/O or internal error: other messages, and
# the details of any, may quote data.
_NO_SPACE_WORDS = ("No space left on device", "Disk quota exceeded")
_INTERNAL_ERROR = "XX000"
_SYSTEM_ERRORS = "58"
_REFUSED = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidPasswordError)


def is_lost_connection(error: BaseException) -> bool:
    """Whether the connection was lost, so that a retry may succeed."""
    if isinstance(error, Problem):
        return error.code == UNAVAILABLE
    if isinstance(error, asyncpg.InterfaceError):
        return any(words in str(error) for words in _CLOSED_WORDS)
    return isinstance(error, _LOST) or type(error) in _CONFUSED


def is_collision(error: BaseException) -> bool:
    """Whether the database aborted this transaction in favour of another one."""
    return isinstance(error, _COLLIDED)


def is_storage_full(error: BaseException) -> bool:
    """Whether a write failed because there is no space left, locally or at the database."""
    if isinstance(error, asyncpg.PostgresError):
        return isinstance(error, asyncpg.DiskFullError) or _is_out_of_space(error)
    if isinstance(error, OSError):
        return error.errno in NO_SPACE
    return isinstance(error, StorageFull)


def _is_out_of_space(error: asyncpg.PostgresError) -> bool:
    state = error.sqlstate or ""
    if state != _INTERNAL_ERROR and not state.startswith(_SYSTEM_ERRORS):
        return False
    # ``str(error)`` would add the detail and the hint.
    message = str(error.args[0]) if error.args else ""
    return any(words in message for words in _NO_SPACE_WORDS)


def database_unavailable_error() -> UpstreamError:
    return UpstreamError(
        "The database cannot be reached right now.",
        code=UNAVAILABLE,
        suggestion="Try again in a few seconds.",
        retry_after=1.0,
    )


def convert_driver_error(error: BaseException) -> Problem:
    """Convert a driver error to a problem."""
    if isinstance(error, Problem):
        return error
    if is_storage_full(error):
        return storage_full_error()
    if is_lost_connection(error) or isinstance(error, OSError):
        return database_unavailable_error()
    if is_collision(error):
        return Conflict(
            "This change conflicted with a concurrent one in the database.",
            code="database_collision",
            retryable=True,
        )
    if isinstance(error, asyncpg.QueryCanceledError):
        return DeadlineExceeded("The database took too long.", code="database_slow")
    if isinstance(error, (*_REFUSED, asyncpg.InvalidCatalogNameError)):
        return _connection_rejected_error(error)
    if isinstance(error, asyncpg.ClientConfigurationError):
        return _invalid_dsn_error()
    return InternalError("The database rejected a statement.", code="database_error")


def log_and_convert_error(error: BaseException) -> Problem:
    """Convert any error to a problem; an unexpected one is logged under an id."""
    if is_collision(error) or is_storage_full(error):
        return convert_driver_error(error)
    problem = as_problem(error)
    if problem is error or not isinstance(problem, InternalError):
        return problem
    mark = generate_id()
    log.error("Error %s is a %s%s.", mark, type(error).__name__, _format_raise_location(error))
    problem.suggestion = f"Search for {mark} in the server log."
    return problem


def _format_raise_location(error: BaseException) -> str:
    """Where it was raised, without its text, which may contain a secret."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    module = trace.tb_frame.f_globals.get("__name__", "?")
    return f" of {module}, line {trace.tb_lineno}"


def _connection_rejected_error(error: BaseException) -> Invalid:
    missing = isinstance(error, asyncpg.InvalidCatalogNameError)
    return Invalid(
        "The database server has no database with that name."
        if missing
        else "The database server rejected the user or the password.",
        code="database_missing" if missing else "database_sign_in",
        suggestion="Check MAINSPRING_DATABASE_URL.",
    )


def _invalid_dsn_error() -> Invalid:
    return Invalid(
        "The database URL is invalid.",
        code="database_address",
        suggestion="MAINSPRING_DATABASE_URL looks like postgresql://user:password@host/database.",
    )
