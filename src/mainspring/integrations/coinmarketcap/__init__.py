"""CoinMarketCap: the largest cryptocurrencies, as hourly pages and as board rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import resources

from mainspring.contracts.integration import Integration
from mainspring.integrations.coinmarketcap.adapters import build_adapter
from mainspring.integrations.coinmarketcap.client import CoinMarketCap
from mainspring.integrations.coinmarketcap.sources import build_hourly_poll, build_source


def integration(addresses: Mapping[str, str]) -> Integration:
    """Build the integration."""
    manifest = resources.files(__name__).joinpath("manifest.json").read_text(encoding="utf-8")
    market = CoinMarketCap(addresses)
    return Integration(
        manifest={**json.loads(manifest), "hosts": sorted(market.hosts)},
        sources=(build_source(market),),
        polls=(build_hourly_poll(market),),
        adapters=(build_adapter(market),),
        account=market.account,
    )
