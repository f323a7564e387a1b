"""What a model costs: the operator's word above the list, tiers, and no price at all."""

from __future__ import annotations

import re
import socket
from decimal import Decimal
from pathlib import Path

import pytest

from mainspring.contracts.model import Price
from mainspring.outbound.models.prices import find_listed_price, price_of

EXAMPLES = Path(__file__).parents[4] / "examples"
ONE, TWO = Price(Decimal(1), Decimal(2)), Price(Decimal(7), Decimal(8))
TIERED = Price(
    Decimal(3),
    Decimal(15),
    Decimal("0.3"),
    Decimal("3.75"),
    above=(200_000, Price(Decimal(6), Decimal("22.5"), Decimal("0.6"), Decimal("7.5"))),
)
# Operator's prices, connection, kind, model, and who says what it costs.
WHOSE: list[tuple[dict[str, Price], str, str, str, tuple[Price, str] | None]] = [
    ({}, "house", "compatible", "qwen3", None),
    ({"qwen3": ONE}, "house", "compatible", "qwen3", (ONE, "operator")),
    ({"house/qwen3": TWO, "qwen3": ONE}, "house", "compatible", "qwen3", (TWO, "operator")),
    ({"other/qwen3": TWO, "qwen3": ONE}, "house", "compatible", "qwen3", (ONE, "operator")),
    ({"other/qwen3": TWO}, "house", "compatible", "qwen3", None),
    ({"claude-sonnet-4-5": ONE}, "a", "anthropic", "claude-sonnet-4-5", (ONE, "operator")),
    ({}, "a", "anthropic", "claude-sonnet-4-5", (TIERED, "list")),
    # A server that merely speaks like OpenAI's has prices of its own.
    ({}, "house", "compatible", "gpt-4.1", None),
    ({}, "o", "openai", "gpt-4.1-from-nowhere-at-all", None),
    ({}, "o", "openai", "claude-sonnet-4-5", None),
    # It has a price for reading and none for writing, so it cannot be talked to.
    ({}, "o", "openai", "text-embedding-3-small", None),
    ({}, "o", "openai", "x" * 5_000, None),
    # Free is a price, and none is not.
    (
        {"qwen3": Price(Decimal(0), Decimal(0))},
        "house",
        "compatible",
        "qwen3",
        (Price(Decimal(0), Decimal(0)), "operator"),
    ),
]


@pytest.mark.parametrize(("operator", "connection", "kind", "model", "told"), WHOSE)
def test_the_operators_price_counts_above_the_list(
    operator: dict[str, Price],
    connection: str,
    kind: str,
    model: str,
    told: tuple[Price, str] | None,
) -> None:
    assert price_of(connection, kind, model, operator) == told


def test_each_kind_has_its_own_price_list_in_exact_numbers() -> None:
    found = find_listed_price("groq", "llama-3.3-70b-versatile")
    assert found is not None
    assert (found.input_usd_per_million, found.output_usd_per_million) == (
        Decimal("0.59"),
        Decimal("0.79"),
    )
    embedding = find_listed_price("openai", "text-embedding-3-small", writes=False)
    assert embedding is not None
    assert embedding.cost(1_000_000, 0) == Decimal("0.02")


def test_the_price_list_is_read_without_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise AssertionError("nothing is called")

    monkeypatch.setattr(socket.socket, "connect", refused)
    assert find_listed_price("anthropic", "claude-sonnet-4-6") is not None


@pytest.mark.parametrize(
    ("read", "written", "again", "usd"),
    [
        (200_000, 1_000, 0, "0.615"),
        # One token more, and all of it is dearer.
        (200_001, 1_000, 0, "1.222506"),
        (400_000, 0, 400_000, "0.24"),
    ],
)
def test_what_is_booked_follows_what_was_read(
    read: int, written: int, again: int, usd: str
) -> None:
    assert TIERED.cost(read, written, again) == Decimal(usd)


def test_what_is_set_aside_is_never_less_than_what_can_be_booked() -> None:
    for read in (0, 1, 199_999, 200_000, 200_001, 300_000):
        most = TIERED.most(read, 500)
        for fewer in (0, read // 2, read):
            for again, aside in ((0, 0), (fewer, 0), (0, fewer)):
                assert TIERED.cost(fewer, 500, again, aside) <= most


def test_a_price_with_tiers_is_stored_whole_with_its_usage() -> None:
    assert TIERED.as_dict()["above"] == {
        "input_tokens": 200_000,
        "input_usd_per_million": "6",
        "output_usd_per_million": "22.5",
        "cached_usd_per_million": "0.6",
        "stored_usd_per_million": "7.5",
    }


def test_every_model_that_an_example_names_has_a_price_that_comes_with_the_product() -> None:
    named = re.compile(r'"model": "([a-z]+)/([^"]+)"')
    found = [pair for file in EXAMPLES.glob("*.json") for pair in named.findall(file.read_text())]

    assert found
    assert [pair for pair in found if find_listed_price(*pair) is None] == []
