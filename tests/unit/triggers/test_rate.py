"""A bucket lets a burst through and a rate for ever, for each caller by itself."""

from __future__ import annotations

import pytest

from mainspring.gate.rate_limit import RateLimiter


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def _allowed(rate: RateLimiter, key: str, many: int) -> int:
    return sum(rate.take(key) == 0 for _ in range(many))


def test_a_burst_passes_and_then_as_many_as_the_rate_says() -> None:
    clock = _Clock()
    rate = RateLimiter(10, 4, clock=clock)
    assert _allowed(rate, "a", 15) == 10
    clock.now += 1.0
    assert _allowed(rate, "a", 15) == 4


def test_a_long_rest_fills_the_bucket_and_no_more() -> None:
    clock = _Clock()
    rate = RateLimiter(10, 4, clock=clock)
    assert _allowed(rate, "a", 20) == 10
    clock.now += 1_000
    assert _allowed(rate, "a", 20) == 10


def test_one_caller_s_burst_is_not_another_s() -> None:
    rate = RateLimiter(3, 1, clock=_Clock())
    assert _allowed(rate, "a", 100) == 3
    assert _allowed(rate, "b", 100) == 3


def test_a_refused_caller_learns_when_to_retry_and_may_then() -> None:
    clock = _Clock()
    rate = RateLimiter(1, 4, clock=clock)
    assert rate.take("a") == 0
    seconds = rate.take("a")
    assert seconds == pytest.approx(0.25)
    clock.now += seconds
    assert rate.take("a") == 0


def test_being_refused_does_not_push_the_next_call_away() -> None:
    clock = _Clock()
    rate = RateLimiter(1, 1, clock=clock)
    assert rate.take("a") == 0
    for _ in range(9):
        clock.now += 0.1
        assert rate.take("a") > 0
    clock.now += 0.1 + 1e-9
    assert rate.take("a") == 0


def test_only_so_many_buckets_are_kept_and_the_ones_in_use_stay() -> None:
    clock = _Clock()
    rate = RateLimiter(2, 1, most=10, clock=clock)
    assert _allowed(rate, "busy", 5) == 2
    for number in range(100):
        rate.take(f"stranger {number}")
        assert rate.take("busy") > 0
    assert len(rate) == 10
