"""Price snapshots as pages: on demand, and hourly."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Problem
from mainspring.contracts.integration import Item, ItemBatch, Poll, Source, UnreadableItem
from mainspring.contracts.partial_results import read_one
from mainspring.integrations.coinmarketcap.client import MOST_COINS, CoinMarketCap
from mainspring.integrations.coinmarketcap.coins import describe_coin_position, read_coin

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_COUNT: Final = re.compile(r"\b(10|[1-9])\b")
INPUT_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "limit": {
            "description": "So many of the largest coins.",
            "type": "integer",
            "minimum": 1,
            "maximum": MOST_COINS,
            "default": MOST_COINS,
        }
    },
    "examples": [{}, {"limit": 3}],
    "x-mainspring-anti-examples": [
        {"value": {"limit": MOST_COINS + 1}, "reason": "the ten largest at most"},
        {"value": {"coin": "BTC"}, "reason": "the largest, whichever they are"},
    ],
}


def build_source(market: CoinMarketCap) -> Source:
    """Build the on-demand source."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del cursor
        return await _portion(market, ctx, int(given.get("limit", MOST_COINS)))

    return Source("coinmarketcap", INPUT_SCHEMA, read, _from_request, most=MOST_COINS)


def build_hourly_poll(market: CoinMarketCap) -> Poll:
    """Build the hourly poll; the price's timestamp identifies a snapshot."""

    async def read(
        ctx: CallContext, given: Mapping[str, Any], cursor: Mapping[str, Any] | None
    ) -> ItemBatch:
        del given, cursor
        return await _portion(market, ctx, MOST_COINS)

    return Poll("snapshot", "The ten largest coins, with current prices.", read, "0 * * * *")


async def _portion(market: CoinMarketCap, ctx: CallContext, limit: int) -> ItemBatch:
    coins = await market.latest(ctx, limit)
    items = [
        read_one(f"cmc:unreadable:{number}", partial(_item, coin, number))
        for number, coin in enumerate(coins)
    ]
    return ItemBatch(items)


def _item(result: Any, number: int) -> Item | UnreadableItem:
    try:
        coin = read_coin(result)
    except Problem as problem:
        return UnreadableItem(describe_coin_position(result, number), problem)
    kept = ("symbol", "price_usd", "market_cap_usd", "last_updated")
    return Item(
        source_ref=f"cmc:{coin['symbol']}@{coin['last_updated']}",
        type="crypto_coin_snapshot",
        title=f"{coin['name']} ({coin['symbol']}) at {coin['last_updated']}",
        frontmatter={name: str(coin[name]) for name in kept},
    )


def _from_request(request: str, now: datetime) -> dict[str, Any]:
    """A number in the sentence is the count; the default is ten."""
    del now
    found = _COUNT.search(request)
    return {} if found is None else {"limit": int(found[0])}
