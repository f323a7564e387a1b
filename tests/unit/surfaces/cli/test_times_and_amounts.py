"""Times and amounts are said the way people say them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mainspring.surfaces.cli.formatting import count, duration, usd


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-0.001, "0 ms"),
        (0.0124, "12 ms"),
        (1.25, "1.2 s"),
        (59.9, "59.9 s"),
        (61, "1 min 1 s"),
        (3_600, "1 h 0 min"),
        (90_000, "25 h 0 min"),
        (200_000, "2 days 7 h"),
    ],
)
def test_a_duration_has_the_digits_anyone_wants_to_know(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_an_amount_has_no_needless_digits() -> None:
    assert [usd(Decimal(text)) for text in ("0", "0.000000", "1.50", "100")] == [
        "$0",
        "$0",
        "$1.5",
        "$100",
    ]


def test_a_number_goes_with_the_right_noun() -> None:
    assert [count(1, "draft"), count(2, "draft"), count(0, "is", "are")] == [
        "1 draft",
        "2 drafts",
        "0 are",
    ]
