"""Board adapter: the listing is the resource, and the largest coins are rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from mainspring.contracts.errors import Problem
from mainspring.contracts.integration import Adapter, Operation
from mainspring.integrations.coinmarketcap.client import MOST_COINS, CoinMarketCap
from mainspring.integrations.coinmarketcap.coins import read_coin
from mainspring.integrations.coinmarketcap.sources import INPUT_SCHEMA

if TYPE_CHECKING:
    from mainspring.contracts.context import CallContext

_REF: Final[dict[str, Any]] = {
    "description": "There is one listing, so there is nothing to say.",
    "type": "object",
    "additionalProperties": False,
    "properties": {},
    "examples": [{}],
    "x-mainspring-anti-examples": [{"value": {"coin": "BTC"}, "reason": "the whole listing"}],
}
_COLUMNS: Final[Mapping[str, str]] = {
    "symbol": "text",
    "name": "text",
    "price_usd": "number",
    "market_cap_usd": "number",
    "last_updated": "datetime",
    "rank": "number",
}


def build_adapter(market: CoinMarketCap) -> Adapter:
    """Build the adapter, which uses a connection's API key."""

    async def top(
        ctx: CallContext, ref: Mapping[str, Any], params: Mapping[str, Any]
    ) -> Sequence[Mapping[str, Any]]:
        del ref
        coins = await market.latest(ctx, int(params.get("limit", MOST_COINS)))
        return [_row(coin) for coin in coins]

    return Adapter(
        kind="coinmarketcap",
        label="CoinMarketCap",
        description="The largest cryptocurrencies.",
        ref_schema=_REF,
        operations=(
            Operation(
                id="coinmarketcap.top",
                description="The largest coins, by what they are worth together.",
                params_schema=INPUT_SCHEMA,
                rows=top,
                columns=_COLUMNS,
                key="symbol",
                label="The largest currencies",
            ),
        ),
    )


def _row(result: Any) -> Mapping[str, Any]:
    """Map a coin to a row; an unreadable one is reported, and the others continue."""
    try:
        return read_coin(result)
    except Problem:
        return {"symbol": None}
