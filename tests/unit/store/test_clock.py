"""The database's time as a process tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from mainspring.store.database import DatabaseClock

_HOUR = timedelta(hours=1)


def test_the_clock_follows_the_database_and_never_goes_back() -> None:
    clock = DatabaseClock()
    before = clock.now()
    clock.sync(before - timedelta(seconds=3), asked=clock.monotonic())
    held = [clock.now() for _ in range(100)]
    assert held == sorted(set(held))
    assert held[0] > before
    clock.sync(before + _HOUR, asked=clock.monotonic())
    assert clock.now() >= before + _HOUR


def test_a_slow_answer_does_not_set_the_clock_back() -> None:
    """The database read its time at the start of a transaction that took eight seconds."""
    clock = DatabaseClock()
    clock.sync(datetime.now(UTC) - timedelta(seconds=7.9), asked=clock.monotonic() - 8)
    seen = datetime.now(UTC)
    assert timedelta() <= clock.now() - seen < timedelta(seconds=1)


def test_a_clock_that_was_wrong_is_never_behind_after_a_slow_answer() -> None:
    """The database may have read its time at any moment since it was asked."""
    clock = DatabaseClock()
    ahead = datetime.now(UTC) + _HOUR
    clock.sync(ahead - timedelta(seconds=8), asked=clock.monotonic() - 8)
    assert timedelta() <= clock.now() - ahead < timedelta(seconds=1)


def test_a_quick_answer_corrects_what_a_slow_one_left_open() -> None:
    clock = DatabaseClock()
    asked, ahead = clock.monotonic(), datetime.now(UTC) + _HOUR
    clock.sync(ahead, asked=asked - 8)
    clock.sync(ahead, asked=asked)
    assert timedelta() <= clock.now() - ahead < timedelta(seconds=1)
