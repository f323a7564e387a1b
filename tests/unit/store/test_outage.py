"""Errors of the driver: which are worth another try, and what a person is shown."""

from __future__ import annotations

import asyncpg
import pytest

from mainspring.contracts.errors import (
    Conflict,
    DeadlineExceeded,
    InternalError,
    Invalid,
    NotFound,
    Problem,
    StorageFull,
    UpstreamError,
)
from mainspring.store.database_errors import (
    convert_driver_error,
    database_unavailable_error,
    is_collision,
    is_lost_connection,
    is_storage_full,
    log_and_convert_error,
)

SECRET = "postgresql://u:hidden@host/x"

LOST = [
    asyncpg.ConnectionDoesNotExistError(SECRET),
    asyncpg.AdminShutdownError(SECRET),
    asyncpg.CrashShutdownError(SECRET),
    asyncpg.CannotConnectNowError(SECRET),
    asyncpg.TooManyConnectionsError(SECRET),
    asyncpg.InterfaceError("connection is closed"),
    asyncpg.InterfaceError("cannot perform operation: connection is closed"),
    asyncpg.InterfaceError("cannot call Transaction.start(): the underlying connection is closed"),
    asyncpg.InternalClientError("cannot switch to state 12; another operation is in progress"),
]
NOT_LOST = [
    asyncpg.InterfaceError("cannot perform operation: another operation is in progress"),
    asyncpg.InterfaceError("pool is closing"),
    asyncpg.UniqueViolationError(SECRET),
    asyncpg.DeadlockDetectedError(SECRET),
    asyncpg.DiskFullError(SECRET),
    asyncpg.DatabaseDroppedError(SECRET),
    # A block may do more than talk to the database; its own breaks are not ours.
    ConnectionResetError(SECRET),
    ValueError(SECRET),
    NotFound("nothing"),
    UpstreamError("another system"),
]
TOLD: list[tuple[BaseException, type[Problem], str, bool]] = [
    (asyncpg.ConnectionDoesNotExistError(SECRET), UpstreamError, "database_unavailable", True),
    (OSError(SECRET), UpstreamError, "database_unavailable", True),
    (asyncpg.DiskFullError(SECRET), StorageFull, "storage_full", True),
    (asyncpg.SerializationError(SECRET), Conflict, "database_collision", True),
    (asyncpg.QueryCanceledError(SECRET), DeadlineExceeded, "database_slow", True),
    (asyncpg.InvalidPasswordError(SECRET), Invalid, "database_sign_in", False),
    (asyncpg.InvalidCatalogNameError(SECRET), Invalid, "database_missing", False),
    (asyncpg.ClientConfigurationError(SECRET), Invalid, "database_address", False),
    (asyncpg.UndefinedTableError(SECRET), InternalError, "database_error", True),
]


@pytest.mark.parametrize("error", LOST, ids=repr)
def test_a_lost_connection_is_recognised(error: Exception) -> None:
    assert is_lost_connection(error)
    assert is_lost_connection(database_unavailable_error())


@pytest.mark.parametrize("error", NOT_LOST, ids=repr)
def test_nothing_else_is_taken_for_a_lost_connection(error: Exception) -> None:
    assert not is_lost_connection(error)


def test_two_transactions_that_met_are_a_collision() -> None:
    assert is_collision(asyncpg.SerializationError())
    assert is_collision(asyncpg.DeadlockDetectedError())
    assert not is_collision(asyncpg.UniqueViolationError())


@pytest.mark.parametrize(("error", "kind", "code", "retryable"), TOLD, ids=lambda v: repr(v)[:30])
def test_an_error_is_reported_by_kind_and_without_its_own_words(
    error: Exception, kind: type[Problem], code: str, retryable: bool
) -> None:
    problem = convert_driver_error(error)

    assert type(problem) is kind
    assert problem.code == code
    assert problem.retryable is retryable
    assert "hidden" not in str(problem.as_dict())


def test_a_problem_stays_what_it_is() -> None:
    problem = NotFound("nothing")

    assert convert_driver_error(problem) is problem


def test_what_nobody_foresaw_is_named_in_the_log_alone_under_an_id_that_is_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    try:
        raise asyncpg.ProgramLimitExceededError(SECRET)
    except asyncpg.PostgresError as error:
        problem = log_and_convert_error(error)
    [output] = caplog.messages

    assert isinstance(problem, InternalError)
    assert "ProgramLimit" not in str(problem.as_dict())
    assert "ProgramLimitExceededError" in output
    assert SECRET not in output + str(problem.as_dict())
    assert any(word in output for word in str(problem.suggestion).split() if "-" in word)


def test_a_problem_stays_itself_and_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    own = InternalError("We know this one.")

    assert log_and_convert_error(own) is own
    assert isinstance(log_and_convert_error(TimeoutError(SECRET)), DeadlineExceeded)
    assert caplog.messages == []


def test_a_conflict_is_reported_as_such_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    problem = log_and_convert_error(asyncpg.DeadlockDetectedError(SECRET))
    assert isinstance(problem, Conflict)
    assert (problem.code, problem.retryable) == ("database_collision", True)
    assert caplog.text == ""


def _of_server(sqlstate: str, message: str, detail: str = "") -> asyncpg.PostgresError:
    """An error as the driver makes it from what the server sends."""
    made: asyncpg.PostgresError = asyncpg.PostgresError.new(
        {"S": "ERROR", "C": sqlstate, "M": message, "D": detail}
    )
    return made


@pytest.mark.parametrize("text", ["No space left on device", "Disk quota exceeded"])
@pytest.mark.parametrize("sqlstate", ["53100", "58030", "58000", "XX000"])
def test_a_full_disk_is_recognised_by_code_and_message(sqlstate: str, text: str) -> None:
    error = _of_server(sqlstate, f'could not write to file "base/5/16384": {text}')
    assert is_storage_full(error)


@pytest.mark.parametrize("text", ["No space left on device", "Disk quota exceeded"])
def test_data_that_an_error_quotes_is_not_taken_for_a_full_disk(text: str) -> None:
    quoted = f"Key (name)=({text}) already exists."
    for error in (
        _of_server("23505", "duplicate key value violates unique constraint", quoted),
        _of_server("XX000", "unexpected data beyond EOF", quoted),
        _of_server("58030", "could not read block 1", quoted),
        _of_server("22P02", f'invalid input syntax for type integer: "{text}"'),
        _of_server("P0001", text),
    ):
        assert not is_storage_full(error), error
