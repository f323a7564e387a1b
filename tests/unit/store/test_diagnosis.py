"""What a person is shown when the embedded server does not start."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from mainspring.contracts.errors import InternalError, Invalid, LimitExceeded, Problem, StorageFull
from mainspring.store.cluster import describe_folder_error, is_lingering, start_problem
from mainspring.store.postgres_programs import SystemUser

ME = SystemUser(os.geteuid(), os.getegid(), "me", switched=False)
STRANGER = SystemUser(54321, 54321, "stranger", switched=True)

SAID: list[tuple[str, type[Problem], str]] = [
    (
        'FATAL:  could not write lock file "postmaster.pid": No space left on device',
        StorageFull,
        "storage_full",
    ),
    (
        'initdb: error: could not access directory "/x": Permission denied',
        Invalid,
        "data_folder_not_writable",
    ),
    ("leash: Operation not permitted", Invalid, "data_folder_not_writable"),
    (
        "FATAL:  could not map anonymous shared memory: Cannot allocate memory",
        LimitExceeded,
        "no_memory",
    ),
    ("PANIC:  could not read file: secret words", InternalError, "database_start_failed"),
    ("", InternalError, "database_start_failed"),
]


@pytest.mark.parametrize(("text", "kind", "code"), SAID)
def test_the_cause_is_found_in_what_was_said(
    text: str, kind: type[Problem], code: str, tmp_path: Path
) -> None:
    problem = start_problem(text, tmp_path, ME, tmp_path)

    assert (type(problem), problem.code) == (kind, code)
    assert "secret words" not in str(problem.as_dict())


def test_a_closed_folder_on_the_way_is_named(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    tmp_path.chmod(0o700)

    problem = start_problem("Permission denied", closed, STRANGER, closed)

    assert problem.code == "data_folder_unreachable"
    assert "stranger" in problem.detail
    assert "MAINSPRING_HOME" in (problem.suggestion or "")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (errno.ENOSPC, "storage_full"),
        (errno.EDQUOT, "storage_full"),
        (errno.EACCES, "data_folder_not_writable"),
        (errno.EROFS, "data_folder_not_writable"),
        (errno.ENOTDIR, "data_folder_not_writable"),
    ],
)
def test_a_failure_of_our_own_on_the_folder_is_reported(
    number: int, code: str, tmp_path: Path
) -> None:
    problem = describe_folder_error(OSError(number, os.strerror(number)), tmp_path)

    assert problem.code == code
    assert str(tmp_path) in problem.detail
    assert "MAINSPRING_HOME" in (problem.suggestion or "")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use", True),
        ('FATAL:  lock file "postmaster.pid" already exists', True),
        ('FATAL:  lock file "/h/run/.s.PGSQL.5432.lock" already exists', True),
        ("FATAL:  data directory has invalid permissions", False),
    ],
)
def test_transient_failures_are_distinguished(text: str, expected: bool) -> None:
    assert is_lingering(text) is expected
