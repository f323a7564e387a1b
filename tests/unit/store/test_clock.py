"""The database's time as a process tells it."""

from __future__ import annotations

from datetime import timedelta

from mainspring.store.clock import DatabaseClock


def test_the_clock_follows_the_database_and_never_goes_back() -> None:
    clock = DatabaseClock()
    before = clock.now()
    clock.sync(before - timedelta(seconds=3))
    held = [clock.now() for _ in range(100)]
    assert held == sorted(set(held))
    assert held[0] > before
    clock.sync(before + timedelta(hours=1))
    assert clock.now() >= before + timedelta(hours=1)
