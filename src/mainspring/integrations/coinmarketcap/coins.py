"""A coin of the listing, keyed by its symbol."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from mainspring.contracts.errors import UpstreamError

_LONGEST: Final = 200


def read_coin(coin: Any) -> dict[str, Any]:
    """Parse a coin, or return its problem."""
    if not isinstance(coin, Mapping):
        raise _broken("is no object")
    quotes = coin.get("quote")
    listed = quotes if isinstance(quotes, list) else []
    in_usd = (one for one in listed if isinstance(one, Mapping) and one.get("symbol") == "USD")
    usd = next(in_usd, None)
    if usd is None:
        raise _broken("has no price in USD")
    symbol, at = _text(coin.get("symbol")), _text(usd.get("last_updated"))
    if not symbol or not at:
        raise _broken("has no sign or no time")
    return {
        "symbol": symbol,
        "name": _text(coin.get("name")) or symbol,
        "price_usd": _number(usd.get("price"), "price"),
        "market_cap_usd": _number(usd.get("market_cap"), "market cap"),
        "last_updated": at,
        "rank": coin.get("cmc_rank") if isinstance(coin.get("cmc_rank"), int) else None,
    }


def describe_coin_position(coin: Any, number: int) -> str:
    """Name an unreadable coin in reports."""
    symbol = _text(coin.get("symbol")) if isinstance(coin, Mapping) else ""
    return f"cmc:{symbol or f'place {number + 1}'}@unread"


def _text(value: Any) -> str:
    return value.strip()[:_LONGEST] if isinstance(value, str) else ""


def _number(value: Any, what: str) -> float | int:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise _broken(f"has no {what}")
    return value


def _broken(what: str) -> UpstreamError:
    return UpstreamError(f"A coin of the report {what}.", code="unreadable_item", retryable=False)
