"""What a model costs: the operator's word, then the price list that comes with the product.

The list is read from the disk and never from the network. A model that neither knows has no
price, and is not asked. Where a provider takes more for a long conversation, the price says
from how many tokens on: what is set aside counts the dearest that can come, and what is booked
follows what was read. Rates for work that may wait are not used, because nothing here waits.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final, Literal, NamedTuple

from mainspring.contracts.model import Price

Source = Literal["operator", "list"]

# The kinds of connections whose price list is known. A server that merely speaks the language
# of one of them has prices of its own.
_LISTED: Final = frozenset({"anthropic", "openai", "groq"})
# The names of the list: read, written, read again, put aside for being read again.
_READ, _WRITTEN, _AGAIN, _ASIDE = (
    "input_mtok",
    "output_mtok",
    "cache_read_mtok",
    "cache_write_mtok",
)
_LONGEST_NAME: Final = 200


class SourcedPrice(NamedTuple):
    """A price and who says so."""

    price: Price
    source: Source


def price_of(
    connection: str, kind: str, model: str, operator: Mapping[str, Price]
) -> SourcedPrice | None:
    """What a model costs at a connection; None when nobody knows."""
    own = operator.get(f"{connection}/{model}", operator.get(model))
    if own is not None:
        return SourcedPrice(own, "operator")
    listed = find_listed_price(kind, model)
    return None if listed is None else SourcedPrice(listed, "list")


def find_listed_price(kind: str, model: str, *, writes: bool = True) -> Price | None:
    """What the price list says today; of a model that writes nothing it need only say less."""
    if kind not in _LISTED or len(model) > _LONGEST_NAME:
        return None
    from genai_prices.data_snapshot import find_provider_by_id, get_snapshot

    known = find_provider_by_id(get_snapshot().providers, kind)
    found = None if known is None else known.find_model(model)
    if found is None:
        return None
    rates = found.get_prices(datetime.now(UTC))
    starts = sorted({tier.start for name in _NAMES for tier in _tiers(getattr(rates, name))})
    return _from(rates, [0, *starts], writes=writes)


def _from(rates: Any, starts: list[int], *, writes: bool) -> Price | None:
    """The price from the first of these numbers of tokens on."""
    here = _at(rates, starts[0], writes=writes)
    if here is None or len(starts) == 1:
        return None if here is None else Price(*here)
    dearer = _from(rates, starts[1:], writes=writes)
    return None if dearer is None else Price(*here, above=(starts[1], dearer))


_NAMES: Final = (_READ, _WRITTEN, _AGAIN, _ASIDE)
_Four = tuple[Decimal, Decimal, Decimal | None, Decimal | None]


def _at(rates: Any, start: int, *, writes: bool) -> _Four | None:
    """The four rates above so many tokens; None where one that is needed is not known."""
    read, written, again, aside = (_rate(getattr(rates, name), start) for name in _NAMES)
    if written is None and not writes:
        written = Decimal(0)
    return None if read is None or written is None else (read, written, again, aside)


def _rate(rate: Any, start: int) -> Decimal | None:
    if rate is None or isinstance(rate, Decimal):
        return rate
    dearest: Decimal = rate.base
    for tier in _tiers(rate):
        if tier.start <= start and start:
            dearest = tier.price
    return dearest


def _tiers(rate: Any) -> list[Any]:
    return [] if rate is None or isinstance(rate, Decimal) else list(rate.tiers)
