"""A database that cannot be opened is named by its place, and never by what opens it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mainspring.contracts.errors import Invalid, NotFound, UpstreamError
from mainspring.settings import Settings
from mainspring.store.database_errors import (
    convert_driver_error,
    database_unavailable_error,
    is_lost_connection,
)
from mainspring.store.database_source import add_database_location, describe_database_location
from mainspring.store.embedded import build_dsn


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("postgresql://u:hidden@127.0.0.1:54398/mainspring", "'mainspring' at 127.0.0.1:54398"),
        ("postgresql://u:hidden@db.example/x?sslmode=require", "'x' at db.example:5432"),
        ("postgresql://u:hidden@[::1]:1/x", "'x' at [::1]:1"),
        ("postgresql://u:hid@den@db.example/x", "'x' at db.example:5432"),
        ("postgresql://u:hidden@/x?host=/run/pg&port=5433", "'x' at /run/pg:5433"),
        ("postgresql://u@/x?host=db.example&password=hidden", "'x' at db.example:5432"),
        ("postgresql://db.example:6", "db.example:6"),
        ("postgresql:///x", "'x'"),
    ],
)
def test_an_address_is_reported_without_user_and_password(url: str, text: str) -> None:
    assert describe_database_location(url) == text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "postgresql://",
        "postgresql://u:hid/den@db.example/x",
        "postgresql://u:12/hidden@db.example/x",
        "postgresql://u:12?hidden@db.example/x",
        "postgresql://u:12#hidden@db.example/x",
        "postgresql://u:hid@12/den@db.example/x",
        "postgresql://u:x@[hidden/x",
        "postgresql://u:x@one:1,two:2/x",
    ],
)
def test_an_address_whose_parts_cannot_be_distinguished_is_not_reported(url: str) -> None:
    assert describe_database_location(url) is None


def test_one_that_cannot_be_reached_is_reported_with_its_place_and_its_setting(
    tmp_path: Path,
) -> None:
    outside = Settings(home=tmp_path, database_url="postgresql://u:hidden@db.example:7/x")
    problem = add_database_location(database_unavailable_error(), outside)

    assert isinstance(problem, UpstreamError)
    assert problem.detail == (
        "The database cannot be reached right now. That is 'x' at db.example:7."
    )
    assert "MAINSPRING_DATABASE_URL" in str(problem.suggestion)
    assert "hidden" not in str(problem.as_dict())
    assert is_lost_connection(problem)
    assert problem.retry_after == database_unavailable_error().retry_after


def test_an_address_that_is_not_reported_still_leads_to_its_setting(tmp_path: Path) -> None:
    strange = Settings(home=tmp_path, database_url="postgresql://u:12/hidden@db.example/x")
    problem = add_database_location(database_unavailable_error(), strange)

    assert problem.detail == database_unavailable_error().detail
    assert "MAINSPRING_DATABASE_URL" in str(problem.suggestion)


def test_other_problems_and_our_own_server_stay_as_they_are(tmp_path: Path) -> None:
    other, away = NotFound("nothing"), database_unavailable_error()
    bad = convert_driver_error(OSError())
    outside = Settings(home=tmp_path, database_url="postgresql://db.example/x")
    assert add_database_location(other, outside) is other
    assert add_database_location(away, Settings(home=tmp_path)) is away

    (tmp_path / "lock").write_text(json.dumps({"pid": 1, "socket": "/run/pg"}))
    own = Settings(home=tmp_path, database_url=build_dsn(Path("/run/pg")))
    assert add_database_location(bad, own) is bad


def test_a_refusal_keeps_its_kind(tmp_path: Path) -> None:
    refused = Invalid("The server refused.", code="database_sign_in", suggestion="Look.")
    problem = add_database_location(
        refused, Settings(home=tmp_path, database_url="postgresql://db.example/x")
    )

    assert isinstance(problem, Invalid)
    assert (problem.code, problem.suggestion) == ("database_sign_in", "Look.")
    assert problem.detail == "The server refused. That is 'x' at db.example:5432."
