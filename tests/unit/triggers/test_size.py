"""What is made of what Postgres knows about its tables."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mainspring.triggers.storage_size import (
    DiskSpace,
    StorageReport,
    TableAges,
    TableSize,
    group_tables,
)

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def _ages(*, since: timedelta | None, oldest: timedelta | None = None) -> TableAges:
    known = {} if oldest is None else {"runs": NOW - oldest}
    return TableAges(NOW, None if since is None else NOW - since, known, {})


def test_tables_are_reported_by_what_they_hold_and_the_largest_first() -> None:
    tables = [
        TableSize("runs", 100, 10, 10, 0),
        TableSize("board_rows", 500, 5, 5, 0),
        TableSize("boards", 50, 1, 1, 0),
        TableSize("something_new", 1, 1, 1, 0),
    ]

    groups = group_tables(tables, _ages(since=2 * DAY), {"runs": 90})

    assert [(one.name, one.bytes, one.rows) for one in groups] == [
        ("boards", 550, 6),
        ("runs", 100, 10),
        ("rest", 1, 1),
    ]


def test_growth_is_what_came_and_stayed_at_what_a_row_takes() -> None:
    (runs,) = group_tables(
        [TableSize("runs", 1_000, 10, 30, 20)], _ages(since=2 * DAY), {"runs": 90}
    )
    assert runs.bytes_per_day == 500

    # What went with its partition was counted there: only the time that is left is reported.
    (runs,) = group_tables(
        [TableSize("runs", 1_000, 10, 10, 0)], _ages(since=100 * DAY, oldest=DAY), {}
    )
    assert runs.bytes_per_day == 1_000
    (runs,) = group_tables([TableSize("runs", 1_000, 10, 0, 5)], _ages(since=DAY), {})
    assert runs.bytes_per_day == -500


def test_who_has_not_measured_for_long_does_not_guess() -> None:
    for since in (None, timedelta(minutes=30)):
        (runs,) = group_tables([TableSize("runs", 1_000, 10, 10, 0)], _ages(since=since), {})
        assert runs.bytes_per_day is None


def test_the_oldest_goes_when_its_days_are_over_and_never_in_the_past() -> None:
    for age, goes in ((10 * DAY, NOW + 80 * DAY), (100 * DAY, NOW)):
        ages = _ages(since=DAY, oldest=age)
        (runs,) = group_tables([TableSize("runs", 1, 1, 1, 0)], ages, {"runs": 90})
        assert (runs.kept_days, runs.removal_at) == (90, goes)


def test_a_disk_lasts_as_long_as_it_lasts() -> None:
    groups = group_tables([TableSize("runs", 1_000, 10, 20, 10)], _ages(since=DAY), {})

    assert StorageReport(1, None, groups, DiskSpace(9_999, 5_500)).days_until_full == 5
    assert StorageReport(1, None, groups, None).days_until_full is None
    shrinking = group_tables([TableSize("runs", 1_000, 10, 0, 10)], _ages(since=DAY), {})
    assert StorageReport(1, None, shrinking, DiskSpace(9_999, 5_500)).days_until_full is None
