"""The declarative integration that the documentation prints."""

from __future__ import annotations

from typing import Any

HOST = "pro-api.coinmarketcap.com"
URL = f"https://{HOST}/v1/cryptocurrency/listings/latest?limit=10"
# As the documentation of declarative integrations prints it.
PRINTED: dict[str, Any] = {
    "slug": "coinmarketcap-top10",
    "name": "CoinMarketCap Top 10",
    "description": "Hourly snapshot of the top 10 cryptocurrencies.",
    "publisher": "<your-user-id>",
    "auth": {"type": "api_key", "header": "X-CMC_PRO_API_KEY", "secret_name": "CMC_API_KEY"},
    "trigger": {"kind": "cron", "cron": "0 * * * *"},
    "endpoints": [
        {
            "op": "snapshot",
            "method": "GET",
            "url": URL,
            "headers": {"X-CMC_PRO_API_KEY": "{{publisher.CMC_API_KEY}}"},
        }
    ],
    "mapping": {
        "iterate": "$.data[*]",
        "page_type": "crypto_coin_snapshot",
        "source_ref_prefix": "cmc:",
        "source_ref": "{{symbol}}@{{last_updated}}",
        "title": "{{name}} ({{symbol}}) — ${{quote.USD.price}}",
        "frontmatter": {
            "symbol": "{{symbol}}",
            "price_usd": "{{quote.USD.price}}",
            "market_cap_usd": "{{quote.USD.market_cap}}",
            "last_updated": "{{last_updated}}",
        },
    },
}
