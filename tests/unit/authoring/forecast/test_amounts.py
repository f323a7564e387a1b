"""Money as a range, as data and as a person says it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from mainspring.authoring.forecast.amounts import CostRange, at_least, at_most, format_usd, plain


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ("0", "$0"),
        ("22", "$22"),
        ("0.6", "$0.60"),
        ("0.0204", "$0.02"),
        ("0.0142", "$0.014"),
        ("0.00419", "$0.0042"),
        ("1.234", "$1.23"),
        ("1234.5", "$1,235"),
        ("3.999", "$4"),
        ("0.0999", "$0.1"),
        ("0.00000001", "less than $0.000001"),
    ],
)
def test_an_amount_is_said_in_as_many_digits_as_help(amount: str, message: str) -> None:
    assert format_usd(Decimal(amount)) == message


@pytest.mark.parametrize(
    ("amount", "least", "most"),
    [
        ("0", "$0", "$0"),
        ("0.1234", "$0.12", "$0.13"),
        ("1234.4", "$1,234", "$1,235"),
        ("0.0427", "$0.042", "$0.043"),
        ("0.0000001", "$0", "$0.000001"),
        ("5", "$5", "$5"),
    ],
)
def test_a_bound_that_is_said_in_few_digits_is_still_one(
    amount: str, least: str, most: str
) -> None:
    assert (at_least(Decimal(amount)), at_most(Decimal(amount))) == (least, most)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0", "0"),
        ("1.50", "1.5"),
        ("0.0123456789", "0.012346"),
        ("1E+2", "100"),
        ("0.0000000001", "0.000001"),
    ],
)
def test_an_amount_as_data_is_plain_decimal_text(amount: str, text: str) -> None:
    assert plain(Decimal(amount)) == text


def test_a_cap_holds_for_every_end_of_a_range() -> None:
    assert CostRange(Decimal(1), Decimal(2), Decimal(3)).capped(Decimal("1.5")) == CostRange(
        Decimal(1), Decimal("1.5"), Decimal("1.5")
    )
    assert (
        CostRange(Decimal(1), Decimal(2), Decimal(3)).capped(Decimal(9), Decimal(0)) == CostRange()
    )
