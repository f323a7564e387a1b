"""Which migrations are still to do, decided from names and checksums alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from mainspring.contracts.errors import Conflict, InternalError
from mainspring.store.migrate import (
    OLDEST,
    PACKAGED,
    AppliedMigration,
    Migration,
    list_pending,
    read_migrations,
    refuse_old,
)

FILES = [Migration(n, f"part_{n}", f"SELECT {n}") for n in (1, 2, 3)]


def applied(count: int) -> list[AppliedMigration]:
    return [AppliedMigration(file.version, file.name, file.checksum) for file in FILES[:count]]


@pytest.mark.parametrize("count", range(4))
def test_what_is_not_applied_is_to_do(count: int) -> None:
    assert list_pending(FILES, applied(count)) == FILES[count:]


def test_a_server_that_is_too_old_is_refused_before_anything_is_made() -> None:
    refuse_old(OLDEST)
    with pytest.raises(Conflict, match=r"Postgres 15, and Mainspring needs 16") as caught:
        refuse_old(15)
    assert caught.value.code == "postgres_too_old"


def test_an_unknown_later_migration_is_refused() -> None:
    with pytest.raises(Conflict, match="0003_part_3") as caught:
        list_pending(FILES[:2], applied(3))
    assert caught.value.code == "database_newer"


def test_another_text_under_the_same_number_is_refused() -> None:
    past = [*applied(1), AppliedMigration(2, "part_2", b"other")]

    with pytest.raises(Conflict, match="0002_part_2") as caught:
        list_pending(FILES, past)
    assert caught.value.code == "migration_changed"


@pytest.mark.parametrize(
    "names",
    [
        ["0002_b.sql"],
        ["0001_a.sql", "0003_c.sql"],
        ["0001_a.sql", "0001_b.sql"],
        ["0000_a.sql"],
        ["1_a.sql"],
        ["0001_A b.sql"],
    ],
)
def test_a_folder_with_doubtful_names_or_numbers_is_refused(
    tmp_path: Path, names: list[str]
) -> None:
    for name in names:
        (tmp_path / name).write_text("SELECT 1")

    with pytest.raises(InternalError):
        read_migrations(tmp_path)


def test_the_packaged_migrations_are_in_order() -> None:
    found = read_migrations(PACKAGED)

    assert [migration.version for migration in found] == list(range(1, len(found) + 1))
